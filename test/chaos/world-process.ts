/**
 * The outside world of a chaos run, as a process of its own: a door for the tools' bodies, the people who vote, those
 * who answer deferred calls in their own time, and an account of everything.
 *
 * W1 What is answered stands in the account, on the disk, before the answer is sent.
 * W2 It is the simulator's outside world and people (test/simulation), on real time and a real connection.
 */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { decodeTurn } from "../../services/ledger/reader.ts";
import { openMesh } from "../../services/runtime/mesh.ts";
import { createOutside } from "../simulation/outside.ts";
import { type Asked, createWorld, type World } from "../simulation/world.ts";
import { appendLines } from "./lines.ts";
import type { Request } from "./door.ts";
import { openHistory } from "./linear/history.ts";
import { recordedPorts } from "./linear/record.ts";
import { speakingMesh } from "./speaking.ts";
import type { FromRun, FromWorld, WorldLine } from "./world.ts";

const [folder = "", seed = "0", patient] = process.argv.slice(2);
process.once("disconnect", () => process.exit(0));

/**
 * What is begun when a doubt arises arrives within this, or never: the longest standstill and a tool's time, or the
 * tool's time alone once nothing stands still any more.
 */
const nothingAfterMs = { storm: 18_000, calm: 5_000 };
let weather: keyof typeof nothingAfterMs = "storm";

const account = appendLines<WorldLine>(join(folder, "account.jsonl"));
const mesh = await openMesh({ servers: process.env["NATS_URL"], name: "outside", report: console.error });
const history = openHistory(join(folder, "history-outside.jsonl"), "outside");
const world = withAccount(createWorld(Date.now));
/** How often they have begun to read; of the second time on, what they say is another message. */
let readings = 0;
const spoken = recordedPorts(mesh.ports, history);
const publish: typeof spoken.inbox.publish = (message) => {
  const { msgId } = message;
  return spoken.inbox.publish(
    readings < 2 || msgId === undefined ? message : { ...message, msgId: `${msgId}-again-${readings}` },
  );
};
const outside = createOutside({
  mesh: speakingMesh(
    { inbox: { ...spoken.inbox, publish } },
    appendLines(join(folder, "acked-outside.jsonl")),
  ),
  seed: Number(seed),
  world,
  settledAt: (doubtAt) => doubtAt + nothingAfterMs[weather],
});

/** W1. */
function withAccount(inner: World): World {
  return {
    ...inner,
    act: (asked: Asked) => {
      const before = inner.acts.length;
      const output = inner.act(asked);
      account.write({ asked, acts: inner.acts.slice(before) });
      return output;
    },
  };
}

async function serve(incoming: IncomingMessage): Promise<object> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const request = JSON.parse(Buffer.concat(chunks).toString()) as Request; // Only door.ts knocks here.
  if (request.type === "act") return { output: world.act(request.asked) };
  if (request.type === "found") return { output: world.found(request.key) };
  outside.take(request.asked, request.callbackUrl);
  return {};
}

const server = createServer((incoming, response) => {
  serve(incoming).then(
    (answer) => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer)),
    () => response.destroy(), // Who asked has died.
  );
});

let reading = new AbortController();

async function readLedgers({ signal }: AbortController): Promise<void> {
  readings += 1;
  for await (const message of mesh.ports.ledger.follow({ signal })) {
    // What an attacker publishes there may be no turn; a copy of one opens no task anew, for votes have ids.
    const turn = await decodeTurn(mesh.ports.blobs, message).catch(() => undefined);
    if (turn !== undefined) outside.read(turn.saga, turn);
  }
}
const read = () =>
  void readLedgers(reading).catch((error: unknown) => {
    console.error("the people no longer read", error);
    if (patient === undefined) process.exit(1);
  });
read();

const tell = (letter: FromWorld) => process.send?.(letter);
process.on("message", (letter: FromRun) => {
  if (letter.type === "calm") weather = "calm";
  else if (letter.type === "read again") {
    reading.abort();
    reading = new AbortController();
    read();
  } else tell({ type: "quiet", quiet: outside.isQuiet() });
});
server.listen(0, "127.0.0.1", () =>
  tell({ type: "ready", url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
);
