/**
 * One run of the lab: a mesh under load, the fault, what is said, what an operator does, rest, and the verdict.
 *
 * LF1 What is started ends, whatever happens; what a run leaves is kept where its verdict does not hold.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { readLedgers } from "../chaos/evidence.ts";
import { readLines } from "../chaos/lines.ts";
import { concerns } from "../chaos/oracle.ts";
import type { Acked } from "../chaos/speaking.ts";
import { readAccount } from "../chaos/world.ts";
import { doctor } from "../support/doctor.ts";
import type { Fault } from "./fault.ts";
import { watchListed } from "./listed.ts";
import { listen, type Listening, type Word } from "./said.ts";
import { raise, type Raised } from "./stage.ts";
import { hasEnded, judgeRemains, type Remains, type Verdict } from "./verdict.ts";

/** How long each part of a run takes, milliseconds. */
export interface Pace {
  /** Under load, before anything. */
  readonly warmMs: number;
  /** From what is prepared to the blow. */
  readonly prepareMs: number;
  /** From the blow to what an operator does. */
  readonly lookMs: number;
  /** Of load, from then on. */
  readonly afterMs: number;
  /** What sagas have to end then; what has not ended stands. */
  readonly restMs: number;
}

/** What a run has come to, for who waits for more than its pace. */
export interface SoFar {
  /** Ledgers that hold a turn. */
  readonly sagas: number;
  readonly words: readonly Word[];
}

/** A part of a run goes on until this holds, a minute at most; what a test is to see does not hang on a machine's speed. */
export type Awaits = Partial<Record<"warm" | "look" | "after", (soFar: SoFar) => boolean>>;

/**
 * Long enough for effects of every kind to be under way, and for a person who looks. A doubt is looked into within 20 s, a
 * deferred call waits 20 s, and either may come twice in a saga.
 */
const pace: Pace = { warmMs: 7_000, prepareMs: 4_000, lookMs: 8_000, afterMs: 6_000, restMs: 110_000 };
const lookAgainMs = 2_000;
const servingMs = 60_000;
const awaitedMs = 60_000;

export interface Outcome {
  readonly fault: string;
  readonly servers: 1 | 3;
  readonly verdict: Verdict;
  /** Where the run's logs and stores are; undefined where they were not kept. */
  readonly folder: string | undefined;
}

export interface RunOptions {
  readonly seed: number;
  readonly keeps: boolean;
  readonly pace?: Pace;
  readonly awaits?: Awaits;
  readonly tell: (line: string) => void;
}

export async function runFault(fault: Fault, size: 1 | 3, options: RunOptions): Promise<Outcome> {
  const { seed, keeps, tell } = options;
  const folder = await mkdtemp(join(tmpdir(), "sagamesh-lab-"));
  tell(`${fault.name}, ${size === 1 ? "one server" : "three servers"}: ${fault.does} (${folder})`);
  await using ends = new AsyncDisposableStack();
  const raised = await raise(fault, size, { folder, seed, ends, tell });
  const { servers, crew } = raised.stage;
  const logs = new Map(crew.members.map(({ name }) => [name, join(folder, `${name}.log`)]));
  const listening = listen(servers.cluster.url, logs);
  ends.defer(listening.stop);
  const listed = watchListed(servers.ports, async () => (await readLedgers(servers)).ledgers);
  ends.defer(listed.stop);
  const { struckAt, before } = await play(fault, raised, listening, options);
  const standing = await rest(raised, options.pace ?? pace, tell);
  await listening.stop();
  await listed.stop();
  const { looks, byRows } = listed.counts();
  tell(`looked ${looks} times for sagas and tasks, ${byRows} times by the rows of the listing alone`);
  const found = await doctor(servers.cluster.url);
  const { ledgers } = await readLedgers(servers);
  const dead = await servers.ports.dead.list();
  const remains: Remains = {
    ...{ ledgers, before, dead, struckAt, standing, words: listening.words, takes: fault.takes ?? [] },
    misListed: [...listed.wrong],
    ...readAccount(folder),
    inputs: readLines<Acked>(join(folder, "acked-clients.jsonl")).map((one) => ({
      ...one,
      data: Buffer.from(one.body),
    })),
    stoodStill: (act) => crew.standstills.some((one) => concerns(one, act)),
    doctor: { text: JSON.stringify(found), ok: found.ok },
  };
  const verdict = judgeRemains(remains);
  const isKept = keeps || !verdict.holds; // LF1
  if (isKept)
    await writeFile(
      join(folder, "outcome.json"),
      JSON.stringify({ verdict, findings: found.findings }, undefined, 1),
    );
  await ends.disposeAsync();
  if (!isKept) await rm(folder, { recursive: true, force: true });
  return { fault: fault.name, servers: size, verdict, folder: isKept ? folder : undefined };
}

async function play(
  fault: Fault,
  { stage, driver, world }: Raised,
  listening: Listening,
  { pace: { warmMs, prepareMs, lookMs, afterMs } = pace, awaits = {} }: RunOptions,
) {
  const over = new AbortController();
  const driving = driver.run(over.signal);
  const until = async (holds: (soFar: SoFar) => boolean = () => true) => {
    const last = performance.now() + awaitedMs;
    for (;;) {
      const turns = await turnsNow(stage.servers).catch(() => new Map<string, number>()); // No ledger, or no answer.
      const sagas = [...turns.values()].filter((count) => count > 0).length;
      if (holds({ sagas, words: listening.words }) || performance.now() >= last) return;
      await delay(lookAgainMs / 4);
    }
  };
  try {
    await delay(warmMs);
    await until(awaits.warm);
    if (fault.prepare !== undefined) {
      await fault.prepare(stage);
      await delay(prepareMs);
    }
    const before = await turnsNow(stage.servers);
    stage.tell("the fault strikes");
    const struckAt = Date.now();
    listening.struck();
    await fault.strike(stage);
    await delay(lookMs);
    await until(awaits.look);
    await fault.remedy?.(stage);
    await Promise.race([stage.crew.serving(), delay(servingMs)]); // What does not serve by then stands.
    world.readAgain();
    await delay(afterMs);
    await until(awaits.after);
    return { struckAt, before };
  } finally {
    over.abort();
    await driving;
    world.calm();
  }
}

async function turnsNow(servers: Raised["stage"]["servers"]): Promise<Remains["before"]> {
  const { ledgers } = await readLedgers(servers);
  return new Map([...ledgers].map(([saga, turns]) => [saga, turns.length]));
}

/** Nothing answers, or there is no ledger: sagas that were there are lost, or they are seen at the next look. */
const none: Remains["ledgers"] = new Map();

/** Waits until every saga has ended, or the time is over; gives those that have not. */
async function rest(
  { stage, driver, world }: Raised,
  { restMs }: Pace,
  tell: (line: string) => void,
): Promise<Remains["standing"]> {
  const until = performance.now() + restMs;
  for (;;) {
    const { ledgers } = await readLedgers(stage.servers).catch(() => ({ ledgers: none }));
    const open = [...ledgers].flatMap(([saga, turns]) =>
      turns.length > 0 && !hasEnded(turns) ? [saga] : [],
    );
    const isQuiet = driver.isQuiet() && (await world.isQuiet());
    if ((ledgers.size > 0 && open.length === 0 && isQuiet) || performance.now() > until) return open;
    tell(
      `${open.length} of ${ledgers.size} sagas have not ended${isQuiet ? "" : ", and somebody outside is busy"}`,
    );
    await delay(lookAgainMs);
  }
}
