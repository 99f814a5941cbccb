/**
 * Walked: which lines of the product run on the way of one signal: from the inbox to an effect that the saga's host
 * performs, and with its result to the next turn. As JSON: lines by file, for test/path.test.ts.
 *
 * A process of its own, because Node runs the sources as they are written: what its engine says was executed are
 * places in the very files. The saga is in memory and at rest when counting begins, as it is at a usual turn.
 */
import { readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { setup } from "xstate";
import { z } from "zod";
import { defineTool } from "../../actors/contract/tool.ts";
import { toActors } from "../../actors/machine/callable.ts";
import { defineSaga } from "../../actors/saga/define.ts";
import { encodeJson } from "../../protocol/codec.ts";
import { parseSagaId } from "../../protocol/ids.ts";
import { subjects } from "../../protocol/subjects.ts";
import { defineApp } from "../../services/app/app.ts";
import { startHost } from "../../services/host/host.ts";
import { createMemoryMesh } from "../../services/memory/mesh.ts";
import { silentLog } from "../../services/process/log.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
let performed = 0;

const ring = defineTool({
  name: "ring",
  description: "rings once",
  effect: "once",
  compensation: "point_of_no_return",
  placement: "host",
  input: z.object({}),
  output: z.object({}),
  perform: async () => {
    performed += 1;
    return {};
  },
});

const bell = defineSaga({
  name: "bell",
  version: 1,
  input: z.object({}),
  output: z.object({}),
  signals: { pull: z.object({}) },
  whenEarly: "keep",
  machine: setup({
    types: { context: {}, input: {} },
    actors: toActors({ ring }),
  }).createMachine({
    id: "bell",
    context: {},
    initial: "still",
    states: {
      still: { on: { pull: "ringing" } },
      ringing: { invoke: { src: "ring", input: {}, onDone: "still" } },
    },
  }),
});

const saga = parseSagaId("bell-1");
const app = defineApp({ sagas: [bell] });
const mesh = createMemoryMesh({ seed: 1, partitions: 1 });
const life = mesh.spawn("host");
const options = { ...life, log: silentLog, incarnation: "host", callbackBase: "sagamesh:" };
await mesh.clock.until(startHost(options, app));
const outside = mesh.spawn("outside");
const publish = async (subject: string, body: unknown, msgId: string) => {
  const message = { subject, data: encodeJson(body), headers: {}, msgId: `${saga}:${msgId}` };
  await mesh.clock.until(outside.ports.inbox.publish(message));
  await mesh.clock.advance(500);
};
await publish(subjects.start(saga), { name: "bell", input: {} }, "start");
await publish(subjects.signal(saga, "pull"), {}, "first"); // For what is done the first time alone.

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
await publish(subjects.signal(saga, "pull"), {}, "second");
const { result } = await session.post("Profiler.takePreciseCoverage");
if (performed !== 2) throw new Error(`the bell has rung ${performed} times`);

const walked: Record<string, number> = {};
for (const { url, functions } of result) {
  if (!url.startsWith("file:") || url.includes("node_modules")) continue;
  const file = fileURLToPath(url);
  const text = readFileSync(file, "utf8");
  const ran = new Uint8Array(text.length);
  for (const { ranges } of functions)
    for (const { startOffset, endOffset, count } of ranges)
      ran.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  const lines = linesOf(text).filter(
    ({ from, code }) => code !== "" && ran.subarray(from, from + code.length).includes(1),
  );
  if (lines.length > 0) walked[file.slice(root.length)] = lines.length;
}
process.stdout.write(JSON.stringify(walked), () => process.exit(0));

/** Lines with where their code begins; a comment is no code. */
function linesOf(text: string): { from: number; code: string }[] {
  let at = 0;
  return text.split("\n").map((line) => {
    const code = line.trim();
    const from = at + line.indexOf(code);
    at += line.length + 1;
    return { from, code: /^(\/\/|\/\*|\*)/.test(code) ? "" : code };
  });
}
