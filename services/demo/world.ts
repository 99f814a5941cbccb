/**
 * World: the outside, as a process of its own. Talent pool, mailboxes, rooms, a bank and calendars behind one
 * door, `POST /<tool>` with the effect's key, and an account of every request.
 *
 * It also pulls the trigger: only here is it known exactly how far an effect has come. It kills nothing but
 * processes that the demo marked as its own, and only the one whose request it has in hand.
 *
 * O1 What is answered stands in the account before the answer is sent.
 * O2 Idempotent doors remember their keys. The bank and the room desk do not: asked twice, they do it twice.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "sagamesh";
import { z } from "zod";
import { digestOf } from "../../protocol/digest.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import { type Entry, writeEntry } from "./account.ts";
import type { PlannedKill, Window } from "./kill-plan.ts";
import { endWithDemo, tellDemo, type ToWorld } from "./letters.ts";
import { pidHeader } from "./world-client.ts";

const Request = z.object({ key: z.string(), input: z.record(z.string(), z.json()), answerTo: z.string() });
type Request = z.infer<typeof Request>;

/** A service of the outside: whether it changes anything, whether it knows a key again, what it answers. */
interface Service {
  readonly kind: "read" | "remembers" | "forgets";
  /** How long it takes until it has done it, in milliseconds. */
  readonly takesMs: readonly [number, number];
  answer(request: Request): Json;
}

const account: Entry[] = [];
const performed = (tool: string): Entry[] =>
  account.filter((entry) => entry.tool === tool && entry.did === "performed");
/** A number in [0, 1) that is the same for the same text. */
const chanceOf = (text: string): number => Number.parseInt(digestOf(text).slice(0, 8), 16) / 2 ** 32;

const names = ["ada", "ben", "chloe", "dan", "eva", "finn", "gita", "hugo", "ines", "jan"];
const moreNames = ["kira", "leo", "mina", "noah", "olga", "paul", "rosa", "sven", "tara", "udo"];
const candidates = [...names, ...moreNames];
const skills = ["Go", "TypeScript", "Kafka", "PostgreSQL", "Kubernetes", "Rust"];
const skillOf = (name: string): string => skills[Math.floor(chanceOf(`skill ${name}`) * skills.length)] ?? "";

const services: Readonly<Record<string, Service>> = {
  search_candidates: {
    kind: "read",
    takesMs: [100, 200],
    answer: ({ input }) => ({
      candidates: candidates
        .slice(0, Number(input["limit"] ?? 20))
        .map((candidateId) => ({ candidateId, summary: `${skillOf(candidateId)}, backend` })),
    }),
  },
  enrich_candidate: {
    kind: "read",
    takesMs: [50, 400],
    answer: ({ input }) => {
      const name = z.string().parse(input["candidateId"]);
      const score = Math.round(chanceOf(`score ${name}`) * 1_000) / 10;
      return {
        profile: `${name} has written ${skillOf(name)} for ${3 + Math.floor(score / 10)} years.`,
        score,
      };
    },
  },
  request_interview: { kind: "remembers", takesMs: [30, 100], answer: () => ({}) },
  withdraw_request: { kind: "remembers", takesMs: [30, 100], answer: () => ({}) },
  reserve_room: {
    kind: "forgets",
    takesMs: [100, 200],
    answer: () => ({ room: `R${12 + performed("reserve_room").length}` }),
  },
  release_room: { kind: "remembers", takesMs: [30, 100], answer: () => ({}) },
  charge_deposit: {
    kind: "forgets",
    takesMs: [100, 200],
    answer: () => ({ chargeId: `ch_${performed("charge_deposit").length + 1}` }),
  },
  find_deposit: {
    kind: "read",
    takesMs: [30, 100],
    answer: ({ input }) => {
      const charge = performed("charge_deposit").find(
        (entry) => (entry.input as { room?: Json }).room === input["room"],
      );
      return charge === undefined ? {} : charge.output;
    },
  },
  create_invite: {
    kind: "remembers",
    takesMs: [50, 150],
    answer: () => ({ inviteId: `inv_${performed("create_invite").length + 1}` }),
  },
};

const file = process.argv[2];
const url = process.env["NATS_URL"];
if (file === undefined || url === undefined)
  throw new MeshError("USAGE", "this process is started by the demo: world.ts ACCOUNT, with NATS_URL");
endWithDemo();
const mesh = await connect({ servers: url, from: "outside" });

let armed: PlannedKill[] = [];
const marked = new Set<number>();
const arrived = new Map<string, number>();
process.on("message", (letter: ToWorld) => {
  if (letter.type === "arm") armed = [...letter.kills];
  else marked.add(letter.pid);
});

/** The kill that this request is to trigger, if any. */
function takeKill(tool: string, pid: number): PlannedKill | undefined {
  if (!marked.has(pid)) return undefined;
  const nth = (arrived.get(tool) ?? 0) + 1;
  arrived.set(tool, nth);
  const kill = armed.find((one) => one.tool === tool && nth >= one.nth);
  if (kill === undefined) return undefined;
  marked.delete(pid); // What the dead process had sent before is served like anything else.
  armed = armed.filter((one) => one !== kill);
  return kill;
}

async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(incoming.url ?? "/", "http://outside");
  const [first = "", second] = pathname.slice(1).split("/");
  if (first === "probe") return reply(response, 200, probed(second ?? "", searchParams.get("key") ?? ""));
  const service = services[first];
  const parsed = Request.safeParse(JSON.parse(await textOf(incoming)));
  if (service === undefined || !parsed.success)
    return reply(response, 400, { error: `there is no such door: ${first}` });
  const request = parsed.data;
  const [least, most] = service.takesMs;
  const pid = Number(incoming.headers[pidHeader]);
  const kill = takeKill(first, pid);
  const strike = (window: Window): boolean => {
    if (kill?.window !== window) return false;
    const at = Date.now();
    process.kill(pid, "SIGKILL"); // First: whoever has the reply already is about to pass it on.
    tellDemo({ type: "struck", kill, pid, key: request.key, at });
    return true;
  };
  await delay(least + (most - least) * chanceOf(`${first} ${request.key}`));
  if (strike("before-record")) return void response.destroy();
  const output = book(first, service, request);
  if (strike("after-record")) return void response.destroy();
  response.once("finish", () => void strike("after-reply"));
  reply(response, 200, output);
}

/** O1, O2. Does what is asked for, or knows it again, and writes it down. */
function book(tool: string, service: Service, request: Request): Json {
  const { key, input } = request;
  const earlier =
    service.kind === "remembers"
      ? account.find((entry) => entry.tool === tool && entry.key === key)
      : undefined;
  const did = earlier !== undefined ? "remembered" : service.kind === "read" ? "read" : "performed";
  const entry: Entry = {
    at: Date.now(),
    tool,
    key,
    did,
    input,
    output: earlier?.output ?? service.answer(request),
  };
  account.push(entry);
  writeEntry(file ?? "", entry);
  if (tool === "request_interview" && did === "performed") answerLater(request);
  return entry.output;
}

/** The candidate thinks it over and answers, whatever has become of whoever asked. */
function answerLater({ key, answerTo }: Request): void {
  const day = 3 + Math.floor(chanceOf(`day ${key}`) * 5);
  const hour = 9 + Math.floor(chanceOf(`hour ${key}`) * 8);
  const slot = new Date(Date.UTC(2031, 2, day, hour)).toISOString();
  delay(500 + 700 * chanceOf(`answer ${key}`))
    .then(() => mesh.settle(answerTo, { succeeded: { slot } }))
    .catch((error: unknown) => console.error("a candidate's answer was not delivered", error));
}

function probed(tool: string, key: string): Json {
  const entry = account.find((one) => one.tool === tool && one.key === key);
  return entry === undefined ? {} : { output: entry.output };
}

const reply = (response: ServerResponse, status: number, body: Json): void =>
  void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const server = createServer((incoming, response) => {
  serve(incoming, response).catch((error: unknown) => {
    console.error("a request was not served", error);
    response.destroy();
  });
});
server.listen(0, "127.0.0.1", () =>
  tellDemo({ type: "ready", url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
);
