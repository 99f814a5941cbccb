/**
 * A host in a process of its own, for parked.ts: `node parked-host.ts URL DELAY_MS WHAT`. On `go` its sleeper waits so long, and
 * the definition's hash knows nothing of it; with WHAT `other` it serves another saga. It tells its parent what it has spent.
 */
import { createMachine } from "xstate";
import { z } from "zod";
import { defineSaga } from "../../actors/saga/define.ts";
import { defineApp } from "../../services/app/app.ts";
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { hostOn } from "./bench-mesh.ts";

/** Since it began. */
export interface Spent {
  /** Of processor time, of all threads. */
  readonly cpuMs: number;
  /** Messages that it sent the server and was sent. */
  readonly sent: number;
  readonly got: number;
  /** How often a saga was tried in vain. */
  readonly tried: number;
  readonly turns: number;
}

const [url = "", delayMs = "0", what = ""] = process.argv.slice(2);
const sleeper = defineSaga({
  ...{ name: what === "other" ? "other" : "sleeper", version: 1, input: z.null(), output: z.any() },
  signals: { go: z.object({}), note: z.object({}) },
  machine: createMachine(
    {
      ...{ id: "sleeper", initial: "idle" },
      on: { note: {} },
      states: { idle: { on: { go: "asleep" } }, asleep: { after: { nap: "done" } }, done: { type: "final" } },
    },
    { delays: { nap: () => Number(delayMs) } },
  ),
});

let tried = 0;
let turns = 0;
const nc = await connectNats({ servers: url, name: "parked-host" });
const ports = await openNatsPorts(nc);
const host = await hostOn(ports, defineApp({ sagas: [sleeper] }), {
  turn: () => void (turns += 1),
  parked: () => void (tried += 1),
});
setInterval(() => {
  const { user, system } = process.cpuUsage();
  const { inMsgs: got, outMsgs: sent } = nc.stats();
  process.send?.({ cpuMs: (user + system) / 1_000, sent, got, tried, turns } satisfies Spent);
}, 200);
process.on("message", () => {
  void host.stop(1_000).then(async () => {
    await ports.close();
    await nc.drain().catch(() => undefined);
    process.exit();
  });
});
process.on("disconnect", () => process.exit());
