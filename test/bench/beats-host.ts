/**
 * A host in a process of its own, for beats.ts: `node beats-host.ts URL KIND CALLS TOOL_MS SMALL_TOOL_MS`. It tells its parent of each end
 * of a crowd, and when asked how its event loop has beaten since it was asked last.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { defineApp } from "../../services/app/app.ts";
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { hostOn } from "./bench-mesh.ts";
import { type CrowdKind, crowdName, crowdOf } from "./crowd-saga.ts";
import { noopSaga } from "./noop-saga.ts";

/** How an event loop has beaten, milliseconds. */
export interface Beats {
  /** Node's own histogram of a timer's delay. */
  readonly delay: { readonly p50: number; readonly p99: number; readonly max: number };
  /** Processor time of the thread from one beat to the next: what held the loop, whoever else is on the machine. */
  readonly work: { readonly p99: number; readonly max: number };
  /** In beats of more than 50 ms of work. */
  readonly heldMs: number;
  readonly held: number;
  readonly wholeMs: number;
  /** Turns of small sagas. */
  readonly small: number;
}

const resolutionMs = 5;
const heldOverMs = 50;

const [url = "", kind = "", calls = "0", toolMs = "0", smallToolMs = "0"] = process.argv.slice(2);
const crowd = crowdOf(kind as CrowdKind, Number(calls), Number(toolMs));
const app = defineApp({
  sagas: [crowd.saga, noopSaga("host", { effect: "read", toolMs: Number(smallToolMs) })],
  models: crowd.models,
});
const delay = monitorEventLoopDelay({ resolution: resolutionMs });
delay.enable();
const works: number[] = [];
let small = 0;
let beganAt = performance.now();
let last = process.threadCpuUsage();
setInterval(() => {
  const { user, system } = process.threadCpuUsage(last);
  works.push((user + system) / 1_000);
  last = process.threadCpuUsage();
}, resolutionMs);

const nc = await connectNats({ servers: url, name: "beats-host" });
await hostOn(await openNatsPorts(nc), app, {
  turn: ({ state }) => {
    if (!state.saga.startsWith("crowd")) small += 1;
    else if (state.phase.kind === "ended") process.send?.({ ended: state.saga });
  },
});
process.on("message", () => {
  works.sort((a, b) => a - b);
  const held = works.filter((ms) => ms > heldOverMs);
  const beats: Beats = {
    delay: { p50: delay.percentile(50) / 1e6, p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 },
    work: { p99: works[Math.floor(works.length * 0.99)] ?? 0, max: works.at(-1) ?? 0 },
    ...{ heldMs: held.reduce((sum, ms) => sum + ms, 0), held: held.length },
    ...{ wholeMs: performance.now() - beganAt, small },
  };
  process.send?.({ beats });
  delay.reset();
  works.length = 0;
  small = 0;
  beganAt = performance.now();
});
process.send?.({ serves: crowdName(kind as CrowdKind) });
process.on("disconnect", () => process.exit());
