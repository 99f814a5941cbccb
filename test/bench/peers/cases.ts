/**
 * The cases: what is done on each peer, and what is read of it.
 *
 * A case finds itself warmed up: the same peer has run some sagas in the same processes before, or for seconds where it is
 * about steps of processes that run.
 */
import { systemClock } from "../../../services/runtime/system.ts";
import { median } from "../figures.ts";
import type { CaseName } from "./peer.ts";
import { untilTrue } from "./processes.ts";
import type { Session } from "./session.ts";

/** By the row's name, empty where there is one: by the column's name a figure. */
export type Figures = Readonly<Record<string, Readonly<Record<string, number>>>>;

export interface Case {
  readonly title: string;
  /** The figure that peers are compared by: smaller is better. */
  readonly by: string;
  /** Only with every write on the disk: steps alone show what that costs, and a run of all takes an hour and a half as it is. */
  readonly isOnlySynced?: true;
  /** Rounds of it where fewer than of the others will do, for it takes minutes. */
  readonly roundsMax?: number;
  /** It is about processes that have run for a while, not about ones that were just started. */
  readonly isSteady?: true;
  run(session: Session, sizes: Sizes): Promise<Figures>;
}

export interface Sizes {
  readonly one: number;
  readonly many: number;
  readonly crowd: number;
  readonly each: number;
  readonly fan: number;
  readonly signals: number;
  readonly running: number;
  readonly decisions: number;
  readonly long: number;
}

export const wholeSizes: Sizes = {
  one: 1_000,
  many: 64,
  crowd: 512,
  each: 100,
  fan: 1_000,
  signals: 60,
  running: 200,
  decisions: 500,
  long: 10_000,
};
/** For a look whether all of it runs. */
export const quickSizes: Sizes = {
  one: 100,
  many: 16,
  crowd: 64,
  each: 20,
  fan: 100,
  signals: 10,
  running: 20,
  decisions: 50,
  long: 500,
};

/** 200,000 tokens at four characters, over 500 decisions of two messages. */
const charsOfMessage = 800;
/** Long enough that every peer keeps up with 200 sagas. */
const runningStepMs = 1_000;

export const cases: Readonly<Record<CaseName, Case>> = {
  one: { title: "(a) one saga of no-op steps", by: "ms/step", isSteady: true, run: runOne },
  many: {
    title: "(b) many sagas of no-op steps at once",
    by: "ms/step",
    isSteady: true,
    run: (session, { many, each }) => runMany(session, many, each),
  },
  crowd: {
    title: "(b) a crowd of them",
    by: "ms/step",
    isOnlySynced: true,
    roundsMax: 3,
    isSteady: true,
    run: (session, { crowd, each }) => runMany(session, crowd, each),
  },
  fan: {
    title: "(c) one saga that does many things at once and joins them",
    by: "ms",
    isOnlySynced: true,
    run: fanOut,
  },
  signal: {
    title: "(d) from a signal to a waiting saga to its next effect",
    by: "p50 ms",
    isOnlySynced: true,
    run: sendSignals,
  },
  kill: {
    title: "(e) running sagas, SIGKILL of their process, another started at once: until all go on",
    by: "ms",
    isOnlySynced: true,
    run: killAll,
  },
  talk: {
    title: "(f) a conversation of decisions, each a reply and a tool's answer",
    by: "bytes a byte said",
    isOnlySynced: true,
    run: converse,
  },
  resume: {
    title: "(g) a long saga whose process was ended: from the start of another to its next effect",
    by: "ms, long",
    isOnlySynced: true,
    run: resumeLong,
  },
};

async function runOne(session: Session, { one }: Sizes): Promise<Figures> {
  const { ms, work } = await timed(session, () => session.client().ask("run", { sagas: 1, steps: one }), one);
  const betweens = await session.app().ask<number[]>("betweens");
  const { p50, p99 } = percentiles(betweens);
  return { "": { "ms/step": ms / one, "step p50 ms": p50, "step p99 ms": p99, ...work } };
}

/** Runs it: how long it takes, and the processor time of each process by step, which other work of the machine adds little to. */
async function timed(session: Session, run: () => Promise<unknown>, steps: number) {
  const before = await session.work();
  const began = performance.now();
  await run();
  const ms = performance.now() - began;
  const after = await session.work();
  const by = (one: keyof typeof after) => (after[one] - before[one]) / steps;
  const work = { "servers µs/step": by("servers"), "app µs/step": by("app"), "client µs/step": by("client") };
  return { ms, work };
}

async function runMany(session: Session, sagas: number, each: number): Promise<Figures> {
  const steps = sagas * each;
  const { ms, work } = await timed(session, () => session.client().ask("run", { sagas, steps: each }), steps);
  const { p50, p99 } = percentiles(await session.app().ask<number[]>("betweens"));
  const { servers, app, appPeak } = await session.memory();
  const figures = {
    "ms/step": ms / steps,
    "steps/s": (steps * 1_000) / ms,
    "step p50 ms": p50,
    "step p99 ms": p99,
    ...work,
    "servers MB": servers / 1e6,
    "app MB": app / 1e6,
    "app's peak MB": appPeak / 1e6,
  };
  return { [`${sagas} sagas`]: figures };
}

async function fanOut(session: Session, { fan }: Sizes): Promise<Figures> {
  const began = performance.now();
  await session.client().ask("fan", { width: fan });
  return { "": { ms: performance.now() - began } };
}

async function sendSignals(session: Session, { signals }: Sizes): Promise<Figures> {
  const sagas = Array.from({ length: 8 }, (_, n) => `waits-${n}`);
  for (const saga of sagas) await rest(session, saga, 3);
  const found: number[] = [];
  for (let n = 0; n < signals; n++) {
    const saga = sagas[n % sagas.length]!;
    await systemClock.sleep(100); // At rest.
    found.push(await wake(session, saga));
  }
  const { p50, p95 } = percentiles(found);
  return { "": { "p50 ms": p50, "p95 ms": p95, "most ms": Math.max(...found) } };
}

async function killAll(session: Session, { running }: Sizes): Promise<Figures> {
  await session.client().ask("launch", { sagas: running, steps: 1_000_000, ms: runningStepMs });
  const warmUps = 1 + warmUp.sagas;
  await allBegun(session, running, warmUps);
  await systemClock.sleep(2_000);
  const killedAt = monotonicMs();
  await session.restart("SIGKILL");
  if (session.peer.asksForItself) await session.client().ask("again", { sagas: running, ms: runningStepMs });
  const { at } = await allBegun(session, running, 0);
  return { "": { ms: at - killedAt } };
}

async function allBegun(session: Session, sagas: number, others: number): Promise<{ at: number }> {
  let begun = { sagas: 0, at: 0 };
  await untilTrue(`${sagas} sagas have an effect`, async () => {
    begun = await session.app().ask<typeof begun>("begun");
    return begun.sagas >= sagas + others;
  });
  return begun;
}

async function converse(session: Session, { decisions }: Sizes): Promise<Figures> {
  const before = await session.servers.stored();
  await session.client().ask("talk", { saga: "talk-1", decisions, chars: charsOfMessage });
  const betweens = await session.app().ask<number[]>("betweens");
  const after = await session.servers.stored();
  const around = (step: number) => median(betweens.slice(Math.max(0, step - 9), step));
  const early = around(15);
  const late = around(decisions - 1);
  return {
    "": {
      "KB stored": (after - before) / 1e3,
      "bytes a byte said": (after - before) / (2 * decisions * charsOfMessage),
      "early decision ms": early,
      "late decision ms": late,
      "late / early": late / early,
    },
  };
}

async function resumeLong(session: Session, { long }: Sizes): Promise<Figures> {
  await rest(session, "short", 10);
  await rest(session, "long", long);
  const after = async (saga: string) => {
    await session.end("SIGTERM");
    const began = monotonicMs();
    await session.begin();
    const [at] = await Promise.all([
      session.app().ask<number>("effectAfter", { saga, after: began }),
      session.client().ask("signal", { saga }),
    ]);
    return at - began;
  };
  const short = await after("short");
  const ms = await after("long");
  return { "": { "ms, 10 steps": short, "ms, long": ms, "long / 10 steps": ms / short } };
}

/** As in the measured processes. */
const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Some sagas, unmeasured, so that what is loaded late and connects has done so. */
export const warmUp = { sagas: 32, steps: 50 };
/**
 * A process of Node, which every peer's app is, goes on compiling for its first 20,000 steps and has half its speed meanwhile: a
 * measurement of one second would be one of that. Those of thousands a second are through it after this time, the others nearly.
 */
const steadyAfterMs = 5_000;

export async function warm(
  session: Session,
  { each }: Sizes,
  { isSteady }: Pick<Case, "isSteady">,
): Promise<void> {
  const steps = Math.min(each, warmUp.steps);
  const until = performance.now() + (isSteady === true ? steadyAfterMs : 0);
  await session.client().ask("run", { sagas: 1, steps });
  do await session.client().ask("run", { sagas: warmUp.sagas, steps });
  while (performance.now() < until);
  await session.app().ask("betweens");
}

/** Starts a saga that takes so many steps and then waits for signals; resolves when it waits. */
async function rest(session: Session, saga: string, steps: number): Promise<void> {
  await session.client().ask("rest", { saga, steps });
  const hasDone = async () => (await session.app().ask<number>("count", { saga })) >= steps;
  await untilTrue(`${saga} has done its steps`, hasDone);
  await systemClock.sleep(500); // The last step is recorded after it began.
}

/** Milliseconds from before the signal is sent to the next effect. */
async function wake(session: Session, saga: string): Promise<number> {
  const sentAt = await session.client().ask<number>("signal", { saga });
  return (await session.app().ask<number>("effectAfter", { saga, after: sentAt })) - sentAt;
}

function percentiles(values: readonly number[]): { p50: number; p95: number; p99: number } {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
