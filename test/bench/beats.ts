/**
 * Beats: how a host's event loop beats with one saga of many open intents beside small ones.
 *
 * Method: a host in a process of its own with the product's flags; 200 sagas that each call a tool of half a second,
 * one call after the other; once they run, one saga with so many calls of 100 ms open at once. From its start to its end:
 * `delay` is Node's own histogram of a timer of 5 ms; `work` is the processor time of the thread from one of its beats to
 * the next, which other processes of the machine do not add to. Both count beats, so one long stretch is one beat of many:
 * the share of time in beats of more than 50 ms of work is shown beside them.
 *
 * It does not measure: agents with long conversations, large payloads, more than one crowd.
 */
import { fork } from "node:child_process";
import { mintSagaId } from "../../protocol/ids.ts";
import { openServer, startSaga, until } from "./bench-mesh.ts";
import type { Beats } from "./beats-host.ts";
import { type CrowdKind, crowdName } from "./crowd-saga.ts";
import { type Report, rounded } from "./figures.ts";
import { noopName } from "./noop-saga.ts";

export interface BeatsOptions {
  /** Calls that the crowd has open at once; 0: the small ones are alone, for five seconds. */
  readonly calls: readonly number[];
  readonly kinds: readonly CrowdKind[];
  readonly small: number;
}

const toolMs = 100;
const smallToolMs = 500;
const aloneMs = 5_000;
const givenUpAfterMs = 300_000;

type Told = { serves?: string; ended?: string; beats?: Beats };

export async function measureBeats({ calls, kinds, small }: BeatsOptions): Promise<Report> {
  const rows = [];
  for (const kind of kinds)
    for (const count of calls) {
      const { beats, tookMs } = await measureOne(kind, count, small);
      rows.push({
        crowd: count === 0 ? "none" : `${kind}, ${count} calls`,
        "end after, s": rounded(tookMs / 1_000),
        "delay p50, ms": rounded(beats.delay.p50),
        p99: rounded(beats.delay.p99),
        most: rounded(beats.delay.max),
        "work p99, ms": rounded(beats.work.p99),
        "most work": rounded(beats.work.max),
        "over 50 ms": beats.held,
        "of the time, %": rounded((100 * beats.heldMs) / beats.wholeMs),
        "small turns a second": rounded((1_000 * beats.small) / beats.wholeMs),
      });
    }
  return {
    title: `Event-loop delay of a host with one saga of many open calls beside ${small} small ones`,
    rows,
    notes: ["Goal: p99 under 50 ms."],
  };
}

async function measureOne(kind: CrowdKind, calls: number, small: number) {
  const bench = await openServer("default");
  const script = new URL("beats-host.ts", import.meta.url);
  const child = fork(script, [bench.server.url, kind, String(calls), String(toolMs), String(smallToolMs)], {
    execArgv: ["--conditions=sagamesh-source", "--max-semi-space-size=16"],
    env: { ...process.env, MALLOC_ARENA_MAX: "2" },
  });
  const told: Told[] = [];
  child.on("message", (message) => told.push(message as Told));
  const beatsSince = async (): Promise<Beats> => {
    const before = told.filter((one) => one.beats !== undefined).length;
    child.send("beats");
    await until("beats", () => told.filter((one) => one.beats !== undefined).length > before, 120_000);
    return told.findLast((one) => one.beats !== undefined)!.beats!;
  };
  try {
    await until("the host serves", () => told.some((one) => one.serves !== undefined));
    for (let k = 0; k < small; k++)
      await startSaga(bench.ports, mintSagaId("noop", Date.now(), Math.random()), noopName("host"), {
        steps: 1_000_000,
      });
    await until("small ones run", async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return (await beatsSince()).small > small;
    });
    const beganAt = performance.now();
    if (calls === 0) await new Promise((resolve) => setTimeout(resolve, aloneMs));
    else {
      await startSaga(bench.ports, mintSagaId("crowd", Date.now(), Math.random()), crowdName(kind), {});
      const ended = () => told.some((one) => one.ended !== undefined);
      await until("the crowd ends", ended, givenUpAfterMs).catch(() => undefined);
    }
    const tookMs = performance.now() - beganAt;
    return { beats: await beatsSince(), tookMs };
  } finally {
    if (child.connected) child.disconnect();
    await bench.close();
  }
}
