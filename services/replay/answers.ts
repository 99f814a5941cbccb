/**
 * Answers: what becomes of a call that a free run makes, though nothing is performed.
 *
 * AW1 A call is answered from the record: by its effect key, else as an equal call was (recorded-results.ts), with the
 *     recorded result after the recorded time. A compensation is answered as the recorded compensation of the effect
 *     that answered what it undoes, else like any call, its own run's keys read as the recorded ones.
 * AW2 What the record does not hold is a miss: `stop` ends the run there; `stand-in` takes what the person gave for
 *     it, and stops where they gave nothing; `sample` takes a value that the callee's output schema accepts, and stops
 *     where none can be made. A sample of an approval is a yes, of a question a fitting answer.
 * AW3 What tells people of a task changes nothing and is never a miss, and what a model recalls is computed.
 */
import { recallFrom, recallTool } from "../../actors/request/recall.ts";
import { type OpenIntent, isOpen } from "../../actors/contract/state.ts";
import { answerSchema } from "../../actors/kernel/task.ts";
import { describeError } from "../../protocol/errors.ts";
import type { Vote } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import type { Result } from "../../protocol/result.ts";
import { readWith } from "../../actors/values/schema.ts";
import { type AskedCall, type MadeCall, type RecordedCall, recordings } from "../ledger/recorded-results.ts";
import { sampleOf } from "../app/sample.ts";
import type { Normalize } from "./normalize.ts";
import type { Run } from "./run.ts";

export type OnMiss = "stop" | "sample" | "stand-in";

/** What a person gives for calls that the record does not hold, by the callee's name: an output, or a pure function of the input. */
export type StandIns = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly from: "recorded" | "sample" | "stand-in" | "computed";
  readonly durationMs: number;
  /** Undefined of a task, of which its votes say what becomes, and of a call that got no answer in the record either. */
  readonly result?: Result;
  readonly votes?: readonly { readonly vote: Vote; readonly afterMs: number }[];
  readonly call?: Known;
}

/** A call of the record, answered or not. */
type Known = MadeCall & Partial<RecordedCall>;

export interface Miss {
  readonly miss: string;
}

export interface Answers {
  /** What answers an open call of the run; the same for every attempt of it. */
  answer(run: Run, id: IntentId, open: OpenIntent): Answer | Miss;
  /** Before the run leaves the record: everything decided there is answered by itself. */
  leave(turn: number): void;
  readonly given: ReadonlyMap<IntentId, Answer>;
}

export function createAnswers(
  calls: readonly Known[],
  { definition }: Pick<Run, "definition">,
  { onMiss, standIns = {}, normalize }: { onMiss: OnMiss; standIns?: StandIns; normalize: Normalize },
): Answers {
  const calleeOf = (name: string) => definition.tools.get(name) ?? definition.sagas.get(name);
  const recorded = recordings(calls, calleeOf, normalize);
  const byIntent = new Map(calls.map((call) => [call.intent.id, call]));
  const undoings = new Map<IntentId, Known>();
  for (const call of calls) {
    const undone = undoneIn(call.intent);
    if (undone !== undefined && !undoings.has(undone)) undoings.set(undone, call);
  }
  const taken = new Set<IntentId>();
  const given = new Map<IntentId, Answer>();
  /** Effect keys of the run, by which the record knows other ones. */
  const keys = new Map<string, string>();
  let leftAt = 0;
  const usual = usualDurations(calls);

  const fromRecord = (run: Run, id: IntentId, open: OpenIntent): Known | undefined => {
    const own = byIntent.get(id);
    if (own !== undefined && own.turn < leftAt) return own;
    const undone = undoneBy(open);
    const effect = undone === undefined ? undefined : given.get(undone)?.call;
    const undoing = effect && undoings.get(effect.intent.id);
    if (undoing !== undefined && !taken.has(undoing.intent.id)) return undoing;
    return recorded.find(askedCall(run, open, keys), taken);
  };

  const answerTo = (run: Run, id: IntentId, open: OpenIntent): Answer | Miss => {
    const { intent } = open;
    if (intent.kind === "tool" && intent.name === recallTool.name)
      return { from: "computed", durationMs: 0, result: recallFrom(run.messages, open.input) };
    const call = fromRecord(run, id, open);
    if (call !== undefined) {
      taken.add(call.intent.id);
      return intent.kind === "task" ? { ...known(call), votes: call.votes ?? [] } : known(call);
    }
    if (intent.kind === "tool" && intent.for !== undefined)
      return { from: "computed", durationMs: 0, result: untold };
    const durationMs = usual(nameOf(run, open));
    if (onMiss === "stop") return { miss: `${describeCall(run, open)} is not in the record` };
    return made(run, open, { durationMs, onMiss, standIns });
  };

  return {
    given,
    leave: (turn) => {
      leftAt = turn;
      for (const { intent, turn: decided } of calls) if (decided < turn) taken.add(intent.id);
      for (const call of calls) if (call.turn < turn) given.set(call.intent.id, known(call));
    },
    answer: (run, id, open) => {
      const known = given.get(id);
      if (known !== undefined && (known.votes !== undefined || open.intent.kind !== "task")) return known;
      const answer = answerTo(run, id, open);
      if ("miss" in answer) return answer;
      given.set(id, answer);
      const key = answer.call?.key;
      if (open.intent.kind === "tool" && key !== undefined) keys.set(open.intent.key, key);
      return answer;
    },
  };
}

const known = (call: Known): Answer => ({
  from: "recorded",
  durationMs: call.durationMs ?? 0,
  ...(call.result === undefined ? {} : { result: call.result }),
  call,
});

const untold: Result = {
  outcome: "failed",
  code: "NOT_PERFORMED",
  reason: "a replay tells no people",
  retry: false,
};

const undoneIn = (intent: object): IntentId | undefined =>
  "undoes" in intent ? (intent.undoes as IntentId | undefined) : undefined;
const undoneBy = ({ intent }: OpenIntent): IntentId | undefined => undoneIn(intent);

/** The call as the record would name it. */
function askedCall(run: Run, open: OpenIntent, keys: ReadonlyMap<string, string>): AskedCall {
  const { intent } = open;
  const name = nameOf(run, open);
  if (intent.kind === "task") return { kind: "task", name, input: inputOfTask(run, open, intent) };
  const kind = intent.kind === "saga" ? "saga" : "tool";
  const input = undoneBy(open) === undefined ? open.input : withRecordedKeys(open.input, keys);
  return { kind, name, input, ...(intent.kind === "tool" ? { key: intent.key } : {}) };
}

/** AW1. A compensation's input holds the key of the effect it undoes. */
function withRecordedKeys(input: Json, keys: ReadonlyMap<string, string>): Json {
  const named = (key: string): string => keys.get(key) ?? key;
  const text = JSON.stringify(input).replaceAll(effectKeys, (key, effect: string) =>
    keys.has(key) ? named(key) : named(effect) + key.slice(effect.length),
  );
  return JSON.parse(text) as Json;
}

/** A key as sagas make them, and behind it what undoes its effect (protocol/ids.ts). */
const effectKeys = /([a-z0-9_-]{1,64}\.(?:\d+-\d+|[0-9a-f]{16})\.[0-9a-f]{12})(?:\.[0-9a-f]{12})?/g;

const nameOf = (run: Run, { intent }: OpenIntent): string => {
  if (intent.kind !== "task") return "name" in intent ? intent.name : intent.kind;
  const whose = intent.tool ?? (intent.of === undefined ? undefined : run.made.get(intent.of)?.name);
  return whose === undefined ? intent.about : `${intent.about} ${whose}`;
};

function inputOfTask(run: Run, { input }: OpenIntent, task: IntentOf<"task">): Json {
  if (task.input !== undefined) return task.input;
  if (task.call !== undefined) return input;
  return (task.of === undefined ? undefined : run.made.get(task.of)?.input) ?? task.question;
}

const inputMax = 200;

function describeCall(run: Run, open: OpenIntent): string {
  const text = JSON.stringify(open.intent.kind === "task" ? open.intent.question : open.input);
  const undone = undoneBy(open);
  return `${open.intent.id} ${nameOf(run, open)}${undone === undefined ? "" : `, which undoes ${undone},`} with ${text.slice(0, inputMax)}`;
}

/** AW2 */
function made(
  run: Run,
  open: OpenIntent,
  { durationMs, onMiss, standIns }: { durationMs: number; onMiss: "sample" | "stand-in"; standIns: StandIns },
): Answer | Miss {
  try {
    const value =
      onMiss === "sample" ? sampleFor(run, open) : standInFor(standIns, nameOf(run, open), open.input);
    const misfit = open.intent.kind === "task" ? undefined : misfitOf(run, open, value);
    if (misfit !== undefined) throw new Error(`it does not fit: ${misfit}`);
    const done = { from: onMiss, durationMs } as const;
    return open.intent.kind === "task"
      ? { ...done, votes: [{ vote: voteOf(open.intent, value), afterMs: durationMs }] }
      : { ...done, result: { outcome: "succeeded", output: value } };
  } catch (error) {
    return {
      miss: `${describeCall(run, open)} is not in the record, and ${onMiss}: ${describeError(error)}`,
    };
  }
}

function sampleFor(run: Run, open: OpenIntent): Json {
  const { intent } = open;
  if (intent.kind === "task" && (intent.about === "approval" || intent.about === "stuck")) return true;
  if (isOpen(open, "task") && run.state !== undefined)
    return sampleOf(answerSchema({ definition: run.definition, state: { ...run.state } }, open));
  const schema = outputOf(run, open);
  return schema === undefined ? null : sampleOf(schema);
}

function standInFor(standIns: StandIns, name: string, input: Json): Json {
  if (!Object.hasOwn(standIns, name)) throw new Error(`none is given for "${name}"`);
  const given = standIns[name];
  return toJson(
    typeof given === "function" ? (given as (input: Json) => unknown)(structuredClone(input)) : given,
  );
}

const voteOf = (task: IntentOf<"task">, value: Json): Vote => ({
  ...(task.about === "approval" || task.about === "stuck"
    ? { vote: value === false ? ("deny" as const) : ("approve" as const) }
    : { vote: "answer" as const, answer: value }),
  by: task.to[0] ?? "replay",
});

const outputOf = ({ definition }: Run, { intent }: OpenIntent) =>
  intent.kind === "tool"
    ? definition.tools.get(intent.name)?.output
    : intent.kind === "saga" && intent.undoes === undefined
      ? definition.sagas.get(intent.name)?.output
      : undefined;

function misfitOf(run: Run, open: OpenIntent, value: Json): string | undefined {
  const schema = outputOf(run, open);
  const read = schema === undefined ? undefined : readWith(schema, value);
  return read?.success === false ? read.reason : undefined;
}

/** How long a call of this name usually took, else any call: the median. */
function usualDurations(calls: readonly Known[]): (name: string) => number {
  const of = (some: readonly Known[]) => median(some.flatMap(({ durationMs }) => durationMs ?? []));
  const known = new Map<string, number>();
  const look = (name: string) =>
    of(calls.filter((call) => call.name === name)) ??
    of(calls.filter(({ kind }) => kind !== "task")) ??
    1_000;
  return (name) => {
    const ms = known.get(name) ?? look(name);
    known.set(name, ms);
    return ms;
  };
}

export function median(values: readonly number[]): number | undefined {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
}
