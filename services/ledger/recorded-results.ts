/**
 * Recorded results: what became of each call of a ledger, and which of them answers a call that is made again. For
 * replays and forks, in which nothing is performed.
 *
 * LC1 A call is answered by the recorded one of its own effect key; else by the k-th recorded call that is equal to it,
 *     if it is the k-th of its kind. Equal are two of the same kind and name whose inputs are the same as the callee's
 *     schema reads them.
 * LC2 Nothing is answered twice by one recorded call, but a read: that changes nothing, so the last answer stands.
 * LC3 What is not settled in the ledger answers nothing.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { argumentsDigest } from "../../actors/kernel/folding.ts";
import type { Tool } from "../../actors/contract/tool.ts";
import type { Spending } from "../../protocol/budget.ts";
import { digestOf } from "../../protocol/digest.ts";
import type { Vote } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import type { Result } from "../../protocol/result.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { Ended, Said, ToldIntent } from "./account.ts";
import { keepingUp, type Made, type MadeById } from "./kept-up.ts";

/** The kinds of intents that are answered from outside the saga, models and timers apart. */
type Answered = "tool" | "saga" | "task";

/** A call of a ledger, as it was made. */
export interface MadeCall {
  readonly intent: IntentOf<Answered>;
  readonly kind: Answered;
  /** Of the tool or definition; of a task what it is about, and of an approval, doubt or undoing that got stuck also whose. */
  readonly name: string;
  /** Of a tool alone. */
  readonly key?: string;
  /** As it was performed: the model's own, put back from its reply, or what a policy or a human made of it. */
  readonly input: Json;
  /** The turn that decided it. */
  readonly turn: number;
  /** Its performer handed it to the outside: when, and how long that had for its answer. */
  readonly deferred?: { readonly afterMs: number; readonly withinMs: number };
}

/** One that was settled. */
export interface RecordedCall extends MadeCall {
  /** The result that settled it, the failures of attempts that were followed by another left out. Of a task what was said. */
  readonly result: Result;
  /** Of a result that left a doubt, or came too late: what was reported after it. */
  readonly corrected?: { readonly result: Result; readonly afterMs: number };
  /** Of a task: each vote, and how long after the task was opened. A task that fell to its default has none. */
  readonly votes?: readonly { readonly vote: Vote; readonly afterMs: number }[];
  /** Of a child: what it and all below it used. */
  readonly spent?: Spending;
  /** The turn that settled it. */
  readonly settledTurn: number;
  /** Between those two turns, in milliseconds: attempts, pauses between them and the wait for a worker included. */
  readonly durationMs: number;
}

/** A call that got no answer: it is still open, or its saga waits for it no more. */
export type UnansweredCall = MadeCall & Pick<RecordedCall, "votes">;

/** Every settled call of a ledger, in the order in which they were decided. */
export function recordedCalls(turns: readonly Turn[]): RecordedCall[] {
  const reader = createCallReader();
  for (const turn of turns) reader.take(turn);
  return reader.calls().settled;
}

/** Takes a ledger turn by turn, and tells the calls that it holds. */
export interface CallReader {
  /** Throws LEDGER_BROKEN where another turn belongs. */
  take(turn: Turn): void;
  /** Of the turns taken, each in the order in which they were decided. */
  calls(): { readonly settled: RecordedCall[]; readonly unanswered: UnansweredCall[] };
}

/** Nothing was taken yet. No turn is kept: of a call what it was made with, and what became of it. */
export function createCallReader(): CallReader {
  const made = new Map<IntentId, Made<Call | undefined>>();
  const keeping = keepingUp((told) => callOf(made, told));
  return {
    take: (turn) =>
      keeping.take(turn, ({ intent }, call) => {
        if (call.of !== undefined) made.set(intent.id, call);
      }),
    calls: () => {
      const all = [...made.values()].flatMap((call) => call.of ?? []);
      return {
        settled: all.flatMap((call) =>
          call.settled === undefined ? [] : [{ ...call.made, ...call.settled }],
        ),
        unanswered: all.flatMap((call) => (call.settled === undefined ? [call.made] : [])),
      };
    },
  };
}

interface Call {
  readonly made: UnansweredCall;
  readonly settled: Omit<RecordedCall, keyof MadeCall | "votes"> | undefined;
}

/** Undefined of what is no call. */
function callOf(before: MadeById<Call | undefined>, told: ToldIntent): Call | undefined {
  const { intent, deferred, place, said } = told;
  if (intent.kind !== "tool" && intent.kind !== "saga" && intent.kind !== "task") return undefined;
  const own = said.filter(({ through }) => through === undefined);
  const votes = own.map(({ vote, at }) => ({ vote, afterMs: at - place.at }));
  const made: MadeCall = {
    intent,
    kind: intent.kind,
    name: intent.kind === "task" ? nameOfTask(before, intent) : intent.name,
    ...(intent.kind === "tool" ? { key: intent.key } : {}),
    input: inputOf(before, told, intent),
    turn: place.turn,
    ...(deferred === undefined
      ? {}
      : { deferred: { afterMs: deferred.at - place.at, withinMs: deferred.dueAt - deferred.at } }),
  };
  return { made: { ...made, ...(votes.length === 0 ? {} : { votes }) }, settled: settledOf(told) };
}

const nameOfTask = (before: MadeById<Call | undefined>, { about, of, tool }: IntentOf<"task">): string => {
  const whose = tool ?? (of === undefined ? undefined : before.get(of)?.of?.made.name);
  return whose === undefined ? about : `${about} ${whose}`;
};

/** Of a task about an effect that call's input: its question names the effect's key, which is another's elsewhere. */
function inputOf(
  before: MadeById<Call | undefined>,
  { input }: ToldIntent,
  intent: IntentOf<Answered>,
): Json {
  if (input !== undefined || intent.kind !== "task") return input ?? null;
  return (intent.of === undefined ? undefined : before.get(intent.of)?.of?.made.input) ?? intent.question;
}

/** LC3: the first answer that was taken, and what corrected it. */
function settledOf({ intent, place, before, ended, said }: ToldIntent): Call["settled"] {
  const endings = [before, ended].flatMap((one) => {
    const result = one && resultIn(intent.id, one, said);
    return one === undefined || result === undefined ? [] : [{ one, result }];
  });
  const [first, corrected] = endings;
  if (first === undefined) return undefined;
  const { event, turn, at } = first.one;
  const spent = event.type === "result" ? event.spent : undefined;
  return {
    result: first.result,
    settledTurn: turn,
    durationMs: at - place.at,
    ...(spent === undefined ? {} : { spent }),
    ...(corrected === undefined
      ? {}
      : { corrected: { result: corrected.result, afterMs: corrected.one.at - place.at } }),
  };
}

/** What the outside said that ended it, as it was said; undefined where the saga ended it by itself. */
function resultIn(id: IntentId, { event }: Ended, said: readonly Said[]): Result | undefined {
  if (event.type === "result" && event.intent === id) return event.result;
  if (event.type === "task" && event.intent === id) return resultOfVote(event.vote);
  if (event.type !== "timer" || event.intent !== id) return undefined;
  const last = said.at(-1)?.vote;
  return last === undefined ? tooLate : resultOfVote(last);
}

const tooLate: Result = {
  outcome: "failed",
  code: "DEFERRED_TOO_LATE",
  reason: "nobody answered in time",
  retry: false,
};

const resultOfVote = ({ vote, by, answer, input, reason }: Vote): Result =>
  vote === "deny"
    ? { outcome: "denied", code: "APPROVAL_DENIED", reason: reason ?? `denied by ${by}` }
    : { outcome: "succeeded", output: (vote === "edit" ? input : answer) ?? null };

/** A call that is to be answered from a record. */
export type AskedCall = Pick<MadeCall, "kind" | "name" | "key" | "input">;

/** The recorded calls of a ledger, by what answers which. */
export interface Recordings<T extends MadeCall = RecordedCall> {
  /**
   * The recorded call that answers this one, of those not `taken` yet (LC1, LC2). The caller notes what it took: a set that was looked
   * with once only grows.
   */
  find(asked: AskedCall, taken: ReadonlySet<IntentId>): T | undefined;
}

/**
 * `calleeOf` gives the contract by which inputs are compared, where it is at hand; without it they are compared as they
 * are. `normalize` may say more of what is equal.
 */
export function recordings<T extends MadeCall>(
  calls: readonly T[],
  calleeOf: (name: string) => Tool | Definition | undefined,
  normalize?: (name: string, input: Json) => Json,
): Recordings<T> {
  const signatureOf = ({ kind, name, input }: AskedCall): string => {
    const callee = kind === "task" ? undefined : calleeOf(name);
    if (normalize !== undefined && kind !== "task")
      return `${kind} ${name} ${digestOf(normalize(name, input))}`;
    return `${kind} ${name} ${callee === undefined ? digestOf(input) : argumentsDigest(callee, input)}`;
  };
  const byKey = new Map(calls.flatMap((call) => (call.key === undefined ? [] : [[call.key, call] as const])));
  const equal = new Map<string, T[]>();
  for (const call of calls) {
    const signature = signatureOf(call);
    const alike = equal.get(signature);
    if (alike === undefined) equal.set(signature, [call]);
    else alike.push(call);
  }
  /** How many of those that are alike, from the first on, a set is known to hold. */
  const passed = new WeakMap<ReadonlySet<IntentId>, Map<string, number>>();
  const nextOf = (signature: string, alike: readonly T[], taken: ReadonlySet<IntentId>): T | undefined => {
    const known = passed.get(taken) ?? new Map<string, number>();
    let place = known.get(signature) ?? 0;
    for (let call = alike[place]; call !== undefined && taken.has(call.intent.id); call = alike[place])
      place++;
    passed.set(taken, known.set(signature, place));
    return alike[place];
  };
  return {
    find: (asked, taken) => {
      const own = asked.key === undefined ? undefined : byKey.get(asked.key);
      // A key names position and arguments, not the callee: another run may call another tool there.
      if (own !== undefined && own.name === asked.name && !taken.has(own.intent.id)) return own;
      const signature = signatureOf(asked);
      const alike = equal.get(signature) ?? [];
      return nextOf(signature, alike, taken) ?? (isRead(calleeOf(asked.name)) ? alike.at(-1) : undefined);
    },
  };
}

const isRead = (callee: object | undefined): boolean =>
  callee !== undefined && "effect" in callee && callee.effect === "read";
