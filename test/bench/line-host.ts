/**
 * A host in a process of its own, for line.ts: `node line-host.ts URL`. It tells its parent of the end of a line's saga, and
 * when asked what it has spent.
 */
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { hostOn } from "./bench-mesh.ts";
import { lineApp, lineName } from "./line-saga.ts";

/** What a host has spent since it was started. */
export interface Spent {
  /** Processor time, its thread's and all others', milliseconds. */
  readonly cpuMs: number;
  /** The most that was resident at a look, one each 20 ms; megabytes. */
  readonly residentMax: number;
  /** Processor time of its thread from one beat of 5 ms to the next: what held the loop; milliseconds. */
  readonly beat: { readonly p99: number; readonly max: number };
  /** Turns of the saga whose children stand in line; 0: it was another host's. */
  readonly parentTurns: number;
}

const works: number[] = [];
let residentMax = 0;
let parentTurns = 0;
let last = process.threadCpuUsage();
setInterval(() => {
  const { user, system } = process.threadCpuUsage(last);
  works.push((user + system) / 1_000);
  last = process.threadCpuUsage();
}, 5);
setInterval(() => (residentMax = Math.max(residentMax, process.memoryUsage.rss())), 20);

const nc = await connectNats({ servers: process.argv[2] ?? "", name: "line-host" });
await hostOn(await openNatsPorts(nc), lineApp, {
  turn: ({ state }) => {
    if (!state.saga.startsWith(lineName)) return;
    parentTurns += 1;
    if (state.phase.kind === "ended") process.send?.({ ended: state.phase.ending.status });
  },
});
process.on("message", () => {
  works.sort((a, b) => a - b);
  const { user, system } = process.cpuUsage();
  const spent: Spent = {
    cpuMs: (user + system) / 1_000,
    residentMax: residentMax / 1e6,
    beat: { p99: works[Math.floor(works.length * 0.99)] ?? 0, max: works.at(-1) ?? 0 },
    parentTurns,
  };
  works.length = 0;
  process.send?.({ spent });
});
process.send?.({ serves: lineName });
process.on("disconnect", () => process.exit());
