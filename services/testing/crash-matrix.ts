/**
 * Crash matrix: a scenario run again and again, each time with one process dying at another of its writes.
 *
 * CZ1 The first run is undisturbed, and what the others are compared with: which effects were performed, what the
 *     scenario came to.
 * CZ2 Every write of host and worker is a place to die at, once right before it is sent and once right after it
 *     has happened, before the process learns of it.
 * CZ3 One seed decides each run, so a row of the report can be run again alone.
 */
import { isDeepStrictEqual } from "node:util";
import { describeError } from "../../protocol/errors.ts";
import { canonicalJson, toJson } from "../../protocol/json.ts";
import { parseSagaId } from "../../protocol/ids.ts";
import type { ModelPort } from "../../protocol/model.ts";
import { TaskNotice } from "../../protocol/notice.ts";
import type { App } from "../app/app.ts";
import type { MemoryMesh } from "../memory/mesh.ts";
import type { PerformedCall } from "./performed.ts";
import { openTestMesh, type TestMesh } from "./test-mesh.ts";

/** Which crashes are tried, and with which models. */
export interface CrashMatrixOptions {
  readonly models?: Readonly<Record<string, ModelPort>>;
  /** 1 unless given. */
  readonly seed?: number;
  /** Only this crash point, as its row names it. */
  readonly only?: string;
  /** Only the writes of this saga's ledger: for a scenario of many sagas, where all of them would take minutes. */
  readonly ledger?: string;
}

/** One crash, and what became of the scenario. */
export interface CrashRow {
  /** `host ledger.append 3 after`: who dies, at which of its writes, and on which side of it. */
  readonly crash: string;
  /** Effects performed more often than without the crash: `<tool> <input>` and why. */
  readonly doubled: readonly string[];
  /** Effects that the undisturbed run performed and this one did not, or not for certain. */
  readonly lost: readonly string[];
  /** Effects of `once` tools that cannot be known to have happened, `<tool> <key>`: the price of never doing them twice, no fault. */
  readonly inDoubt: readonly string[];
  /** The scenario threw, or came to something else than without the crash. */
  readonly otherwise?: string;
}

/** What became of a scenario under every crash. */
export interface CrashReport {
  readonly seed: number;
  /** Every crash that was tried. */
  readonly rows: readonly CrashRow[];
  /** The rows in which an effect was doubled or lost, or the scenario ended otherwise though nothing is in doubt. */
  readonly faults: readonly CrashRow[];
  /** A line for the seed and one for each fault. */
  readonly text: string;
}

/**
 * Runs the scenario once as it is and once for each crash point. The scenario is given a mesh of its own each
 * time, starts what it needs and waits for it; what it returns should be its outside world's own account, made
 * anew in each run, and must come out the same.
 *
 * @example
 * const report = await crashMatrix(app, async (t) => {
 *   bank.reset();
 *   await (await t.start(order, { sku: "B1" }, { id: "order-1" })).result();
 *   return bank.charges;
 * });
 * assert.deepEqual(report.faults, [], report.text);
 */
export async function crashMatrix(
  app: App,
  scenario: (t: TestMesh) => Promise<unknown>,
  options: CrashMatrixOptions = {},
): Promise<CrashReport> {
  const { seed = 1, only, ledger } = options;
  const points: string[] = [];
  let turns = 0;
  const undisturbed = await runScenario(app, scenario, options, (point, mesh) => {
    if (ledger === undefined) points.push(point);
    else {
      const known = turns;
      turns = mesh?.server.ledger.after(parseSagaId(ledger), 0).length ?? 0;
      // Whose write it is, is known once it has been made.
      if (turns > known) points.push(point.replace(/after$/, "before"), point);
    }
    return false;
  });
  if (undisturbed.threw !== undefined) throw undisturbed.threw as Error; // Thrown on as it came.
  const rows: CrashRow[] = [];
  for (const crash of points) {
    if (only !== undefined && crash !== only) continue;
    const run = await runScenario(app, scenario, options, (point) => point === crash);
    rows.push(compare(crash, undisturbed, run));
  }
  const faults = rows.filter(isFault);
  return { seed, rows, faults, text: tell(seed, rows, faults) };
}

interface ScenarioRun {
  readonly calls: readonly PerformedCall[];
  readonly inDoubt: readonly string[];
  readonly value: unknown;
  readonly threw?: unknown;
}

const writes: ReadonlySet<string> = new Set([
  "ledger.append",
  "inbox.publish",
  "work.publish",
  "claims.create",
]);

async function runScenario(
  app: App,
  scenario: (t: TestMesh) => Promise<unknown>,
  { models, seed = 1 }: CrashMatrixOptions,
  crashesAt: (point: string, mesh: MemoryMesh | undefined) => boolean,
): Promise<ScenarioRun> {
  const counts = new Map<string, number>();
  let isDone = false;
  let mesh: MemoryMesh | undefined;
  const t = openTestMesh(
    app,
    { seed, ...(models === undefined ? {} : { models }) },
    {
      opened: (opened) => {
        mesh = opened;
      },
      crashesAt: (role, port, method, when) => {
        const write = `${port}.${method}`;
        if (!writes.has(write) || isDone) return false;
        const name = `${role} ${write}`;
        if (when === "before") counts.set(name, (counts.get(name) ?? 0) + 1);
        isDone = crashesAt(`${name} ${counts.get(name) ?? 0} ${when}`, mesh);
        return isDone;
      },
    },
  );
  let ended: Pick<ScenarioRun, "value" | "threw">;
  try {
    ended = { value: comparable(await scenario(t)) };
    await t.settled();
  } catch (threw) {
    ended = { value: undefined, threw };
  }
  const inDoubt: string[] = [];
  for (const { saga } of mesh?.server.ledger.list() ?? []) inDoubt.push(...(await doubtsOf(t, saga)));
  const calls = [...t.effects()];
  await t[Symbol.asyncDispose]();
  return { calls, inDoubt, ...ended };
}

const comparable = (value: unknown): unknown => (value === undefined ? undefined : toJson(value));

async function doubtsOf(t: TestMesh, saga: string): Promise<string[]> {
  const steps = (await t.anySaga(saga).ledger()).flatMap((turn) => turn.steps);
  const keys = new Map(
    steps.flatMap(({ intents }) =>
      intents.flatMap((one) => (one.kind === "tool" ? [[one.id, `${one.name} ${one.key}`] as const] : [])),
    ),
  );
  return steps.flatMap(({ event }) =>
    event.type === "result" && event.result.outcome === "in_doubt" ? [keys.get(event.intent) ?? ""] : [],
  );
}

function compare(crash: string, expected: ScenarioRun, got: ScenarioRun): CrashRow {
  const before = effectsOf(expected.calls);
  const after = effectsOf(got.calls);
  const doubtful = new Set(got.inDoubt);
  const otherwise = differenceOf(expected, got);
  return {
    crash,
    doubled: [...after].flatMap(([effect, keys]) => doublingsOf(effect, keys, before.get(effect)?.size ?? 0)),
    lost: [...before].flatMap(([effect, keys]) => {
      const missing = keys.size - (after.get(effect)?.size ?? 0);
      return missing > 0 && ![...doubtful].some((one) => one.startsWith(`${toolOf(effect)} `))
        ? [effect]
        : [];
    }),
    inDoubt: [...doubtful],
    ...(otherwise === undefined ? {} : { otherwise }),
  };
}

/**
 * Calls that did not throw, by what was asked for and then by key. The notices of a task and sagas that began
 * before keys were made of decisions have keys that hold a turn's number, and a crash costs a turn: so what is asked for is
 * told by tool and input alone, keys in it left out.
 */
function effectsOf(calls: readonly PerformedCall[]): Map<string, Map<string, PerformedCall[]>> {
  const effects = new Map<string, Map<string, PerformedCall[]>>();
  for (const call of calls) {
    if (call.effect === "read" || call.ended === "threw") continue;
    const effect = `${call.tool} ${canonicalJson(askedFor(call.input)).replaceAll(effectKeys, "<key>")}`;
    const keys = effects.get(effect) ?? new Map<string, PerformedCall[]>();
    effects.set(effect, keys.set(call.key, [...(keys.get(call.key) ?? []), call]));
  }
  return effects;
}

/** The notice of a task names the task's turn and deadline, which a crash moves. */
function askedFor(input: unknown): unknown {
  if (typeof input !== "object" || input === null || !("task" in input)) return input;
  const notice = TaskNotice.safeParse(input.task);
  if (!notice.success) return input;
  const { task: _task, intent: _intent, dueAt: _dueAt, ...rest } = notice.data;
  return { ...input, task: rest };
}

const effectKeys = /[a-z0-9_-]{1,64}\.(?:\d+-\d+|[0-9a-f]{16})\.[0-9a-f]{8,64}/g;
const toolOf = (effect: string): string => effect.slice(0, effect.indexOf(" "));

function doublingsOf(
  effect: string,
  keys: ReadonlyMap<string, readonly PerformedCall[]>,
  timesBefore: number,
): string[] {
  const again = [...keys].flatMap(([key, calls]) =>
    isDoneAgain(calls) ? [`${effect}: done ${calls.length} times under the key ${key}`] : [],
  );
  return keys.size > Math.max(1, timesBefore)
    ? [...again, `${effect}: done under ${keys.size} keys, undisturbed under ${timesBefore}`]
    : again;
}

/** An `idempotent` body may be called again with its key, and then says the same again, or it ignores the key. */
function isDoneAgain(calls: readonly PerformedCall[]): boolean {
  const answers = calls.filter(({ ended }) => ended === "returned").map(({ value }) => value);
  switch (calls[0]?.effect) {
    case "once":
      return calls.length > 1;
    case "idempotent":
      return answers.some((answer) => !isDeepStrictEqual(answer, answers[0]));
    default:
      return answers.length > 1;
  }
}

function differenceOf(expected: ScenarioRun, got: ScenarioRun): string | undefined {
  if (got.threw !== undefined) return `the scenario threw: ${describeError(got.threw)}`;
  if (isDeepStrictEqual(expected.value, got.value)) return undefined;
  return `the scenario returned ${JSON.stringify(got.value)}, undisturbed ${JSON.stringify(expected.value)}`;
}

const isFault = ({ doubled, lost, inDoubt, otherwise }: CrashRow): boolean =>
  doubled.length > 0 || lost.length > 0 || (otherwise !== undefined && inDoubt.length === 0);

function tell(seed: number, rows: readonly CrashRow[], faults: readonly CrashRow[]): string {
  const lines = faults.map(({ crash, doubled, lost, otherwise }) =>
    [
      `  ${crash}:`,
      ...doubled.map((what) => `doubled ${what}`),
      ...lost.map((what) => `lost ${what}`),
      ...(otherwise === undefined ? [] : [otherwise]),
    ].join("\n    "),
  );
  return [`seed ${seed}: ${rows.length} crashes, ${faults.length} with a fault`, ...lines].join("\n");
}
