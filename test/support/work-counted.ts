/**
 * Work counted: what a saga's host does for 200 steps early in its ledger and for four times 200 late in it, as counts that no other
 * process changes: blocks of code that ran, by function; requests to the server, by method; bytes written to it. As JSON, for
 * test/services/host/long-saga.walk.test.ts.
 *
 * A process of its own, for the engine counts blocks of the sources as they are written. The server is the one in memory;
 * what it does itself is not counted. What is native (a copy of a record, a hash) shows as the bytes of what it works on:
 * the snapshot holds the state, and a turn is hashed as it is written.
 *
 *     node --conditions=sagamesh-source test/support/work-counted.ts machine|agent TURNS
 */
import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { setup } from "xstate";
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { windowedContext } from "../../actors/contract/context-policy.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { toActors } from "../../actors/machine/callable.ts";
import { defineSaga } from "../../actors/saga/define.ts";
import { encodeJson } from "../../protocol/codec.ts";
import { parseSagaId } from "../../protocol/ids.ts";
import { subjects } from "../../protocol/subjects.ts";
import { defineApp } from "../../services/app/app.ts";
import { startHost } from "../../services/host/host.ts";
import { createMemoryMesh } from "../../services/memory/mesh.ts";
import { scriptedModel } from "../../services/models/scripted.ts";
import { silentLog } from "../../services/process/log.ts";
import type { Ports } from "../../services/wire/ports.ts";

/** What was counted over some turns. */
export interface Counted {
  /** Blocks of code that ran, by `<file> <function>`. */
  readonly blocks: Readonly<Record<string, number>>;
  /** By `<port>.<method>`. */
  readonly requests: Readonly<Record<string, number>>;
  /** Bytes of turns and of snapshots. */
  readonly bytes: { readonly ledger: number; readonly snapshots: number };
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const [kind = "machine", count = "10000"] = process.argv.slice(2);
/** Two snapshots fall into each. */
const window = 200;
/** A machine's turn takes a result and asks for the next; an agent's model has one of its own. */
const last = Number(count) / (kind === "agent" ? 2 : 1);
const lateWindows = 4;
const windows = [
  200,
  ...Array.from({ length: lateWindows }, (_, k) => last - 50 - (lateWindows - k) * window),
].map((from) => ({ from, to: from + window }));

const session = new Session();
session.connect();
await session.post("Profiler.enable");
// From the beginning: a function that was compiled before is counted as a whole, and not by its blocks.
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
const found: Counted[] = [];
let requests: Record<string, number> = {};
let bytes = { ledger: 0, snapshots: 0 };
let performed = 0;

/** Once for each step that the saga makes. */
async function stepped(): Promise<void> {
  performed += 1;
  const ends = windows.some(({ to }) => to === performed);
  if (!ends && !windows.some(({ from }) => from === performed)) return;
  const { result } = await session.post("Profiler.takePreciseCoverage"); // And from here on it counts anew.
  if (ends) found.push({ blocks: blocksOf(result), requests, bytes });
  [requests, bytes] = [{}, { ledger: 0, snapshots: 0 }];
}

function blocksOf(result: unknown): Record<string, number> {
  const blocks: Record<string, number> = {};
  const scripts = result as readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
    }[];
  }[];
  for (const { url, functions } of scripts) {
    if (!url.startsWith("file:")) continue;
    const file = fileURLToPath(url).replace(root, "");
    const isOurs = !file.includes("node_modules") || file.includes("/xstate/");
    if (!isOurs || file.startsWith("services/memory/") || file.startsWith("test/")) continue;
    for (const { functionName, ranges } of functions)
      for (const { count: times } of ranges) {
        const name = `${file} ${functionName}`;
        if (times > 0) blocks[name] = (blocks[name] ?? 0) + times;
      }
  }
  return blocks;
}
const release = defineTool({
  name: "release",
  description: "Lets go.",
  effect: "idempotent",
  input: z.object({ holds: z.string() }),
  output: z.object({}),
  placement: "host",
  perform: async () => ({}),
});
const hold = defineTool({
  name: "hold",
  description: "Holds something, which stands.",
  effect: "idempotent",
  placement: "host",
  input: z.object({}),
  output: z.object({ n: z.string() }),
  compensation: { tool: release, input: ({ key }) => ({ holds: key }) },
  perform: async () => {
    await stepped();
    return { n: "held" };
  },
});

const machine = defineSaga({
  name: "long",
  version: 1,
  input: z.object({}),
  output: z.json(),
  signals: {},
  machine: setup({ types: { context: {}, input: {} }, actors: toActors({ hold }) }).createMachine({
    id: "long",
    context: {},
    initial: "holding",
    states: {
      holding: { invoke: { id: "hold", src: "hold", input: {}, onDone: "again" } },
      again: { always: "holding" },
    },
  }),
});
const agent = defineAgent({
  name: "long",
  version: 1,
  description: "Holds on and on.",
  model: "scripted",
  instructions: "Hold.",
  input: z.object({}),
  output: z.object({}),
  signals: {},
  context: windowedContext({ messages: 20 }),
  tools: [hold],
});
const model = scriptedModel("scripted", () => ({ calls: [{ tool: "hold", input: {} }] }));

const saga = parseSagaId("long-1");
const app = defineApp({ sagas: [kind === "agent" ? agent : machine], models: { scripted: model } });
const mesh = createMemoryMesh({ seed: 1, partitions: 1 });
const life = mesh.spawn("host");
const options = {
  ...life,
  ports: watched(life.ports),
  log: silentLog,
  incarnation: "host",
  callbackBase: "sagamesh:",
};
await mesh.clock.until(startHost(options, app));
const outside = mesh.spawn("outside");
const start = { name: "long", input: {} };
await mesh.clock.until(
  outside.ports.inbox.publish({
    subject: subjects.start(saga),
    data: encodeJson(start),
    headers: {},
    msgId: "s",
  }),
);
while (found.length < windows.length) await mesh.clock.advance(50);
process.stdout.write(JSON.stringify(found), () => process.exit(0));

/** The ports, each request counted. What happens by the clock alone, a heartbeat, is none of a turn's. */
function watched(ports: Ports): Ports {
  const { ledger, snapshots, inbox, work, claims, blobs } = ports;
  const counted = <T extends object>(name: string, port: T): T =>
    Object.fromEntries(
      Object.entries(port).map(([method, value]: [string, unknown]) => [
        method,
        typeof value !== "function"
          ? value
          : (...args: unknown[]) => {
              const key = `${name}.${method}`;
              requests[key] = (requests[key] ?? 0) + 1;
              const [, given] = args;
              if (key === "ledger.append") bytes.ledger += (given as { data: Uint8Array }).data.length;
              if (key === "snapshots.put") bytes.snapshots += (given as Uint8Array).length;
              return (value as (...all: unknown[]) => unknown).apply(port, args);
            },
      ]),
    ) as T;
  return {
    ...ports,
    ledger: counted("ledger", ledger),
    snapshots: counted("snapshots", snapshots),
    work: counted("work", work),
    claims: counted("claims", claims),
    blobs: counted("blobs", blobs),
    inbox,
  };
}
