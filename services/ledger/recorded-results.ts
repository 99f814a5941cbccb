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
import type { Event, EventOf, Vote } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { Intent, IntentOf } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Result } from "../../protocol/result.ts";
import type { Turn } from "../../protocol/turn.ts";

/** The kinds of intents that somebody outside the saga answers, models and timers apart. */
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

/** Every settled call of a ledger, in the order in which they were decided. */
export const recordedCalls = (turns: readonly Turn[]): RecordedCall[] =>
  entriesOf(turns).flatMap((entry) =>
    entry.settled === undefined ? [] : [{ ...madeIn(entry), ...entry.settled, ...votesIn(entry) }],
  );

/** Every call that got no answer: it is still open, or nobody waited for it any more. */
export const unansweredCalls = (turns: readonly Turn[]): MadeCall[] =>
  entriesOf(turns).flatMap((entry) => (entry.settled === undefined ? [madeIn(entry)] : []));

/** A call while the ledger is read. */
interface Entry extends MadeCall {
  readonly decidedAt: number;
  attempt: number;
  deferred?: NonNullable<MadeCall["deferred"]>;
  votes?: NonNullable<RecordedCall["votes"]>;
  settled?: Pick<RecordedCall, "result" | "settledTurn" | "durationMs" | "corrected" | "spent">;
}

const madeIn = ({ settled: _s, votes: _v, decidedAt: _at, attempt: _n, ...made }: Entry): MadeCall => made;
const votesIn = ({ votes }: Entry) => (votes === undefined ? {} : { votes });

function entriesOf(turns: readonly Turn[]): Entry[] {
  const book: Book = { calls: new Map(), inputs: new Map(), decisions: new Map(), replied: new Set() };
  for (const turn of turns)
    for (const { event, intents } of turn.steps) {
      takeEvent(book, event, turn);
      for (const intent of intents) takeIntent(book, intent, turn);
    }
  return [...book.calls.values()];
}

interface Book {
  readonly calls: Map<IntentId, Entry>;
  /** Inputs of proposed calls by `<decision's number>.<position>`. */
  readonly inputs: Map<string, Json>;
  readonly decisions: Map<IntentId, number>;
  readonly replied: Set<IntentId>;
}

function takeEvent(book: Book, event: Event, turn: Turn): void {
  if (event.type === "result") return takeResult(book, event, turn);
  if (event.type === "task") return takeVote(book, event, turn);
  if (event.type === "forked") return forgetOpenDecision(book, event);
  if (event.type !== "timer" && event.type !== "deferred") return;
  const entry = book.calls.get(event.intent);
  if (event.type === "deferred") {
    const withinMs = event.dueAt - turn.at;
    if (entry !== undefined) entry.deferred = { afterMs: turn.at - entry.decidedAt, withinMs };
    return;
  }
  if (entry !== undefined && entry.settled === undefined) settle(entry, turn, tooLate);
}

/** A fork asks the decision that was open anew, under its number. */
function forgetOpenDecision({ decisions, replied }: Book, { answered = [] }: EventOf<"forked">): void {
  const last = [...decisions.keys()].at(-1);
  if (last !== undefined && !replied.has(last) && !answered.includes(last)) decisions.delete(last);
}

const tooLate: Result = {
  outcome: "failed",
  code: "DEFERRED_TOO_LATE",
  reason: "nobody answered in time",
  retry: false,
};

function takeResult(book: Book, event: EventOf<"result">, turn: Turn): void {
  const { intent, attempt, result, spent } = event;
  rememberCalls(book, intent, result);
  const entry = book.calls.get(intent);
  if (entry === undefined) return;
  if (entry.settled !== undefined) {
    const wasOpen = entry.settled.result.outcome !== "succeeded";
    const isDefinite = result.outcome === "succeeded" || result.outcome === "failed";
    const afterMs = turn.at - entry.decidedAt;
    if (wasOpen && isDefinite) entry.settled = { ...entry.settled, corrected: { result, afterMs } };
  } else if (attempt === entry.attempt || result.outcome === "succeeded") settle(entry, turn, result, spent);
}

/** The last vote is the one that settled the task; a ledger without its definition does not tell before it ends. */
function takeVote(book: Book, { intent, vote }: EventOf<"task">, turn: Turn): void {
  const entry = book.calls.get(intent);
  if (entry === undefined) return;
  entry.votes = [...(entry.votes ?? []), { vote, afterMs: turn.at - entry.decidedAt }];
  settle(entry, turn, resultOfVote(vote));
}

const resultOfVote = ({ vote, by, answer, input, reason }: Vote): Result =>
  vote === "deny"
    ? { outcome: "denied", code: "APPROVAL_DENIED", reason: reason ?? `denied by ${by}` }
    : { outcome: "succeeded", output: (vote === "edit" ? input : answer) ?? null };

function settle(entry: Entry, turn: Turn, result: Result, spent?: Spending): void {
  const durationMs = turn.at - entry.decidedAt;
  entry.settled = { result, settledTurn: turn.turn, durationMs, ...(spent === undefined ? {} : { spent }) };
}

function takeIntent(book: Book, intent: Intent, turn: Turn): void {
  if (intent.kind === "model" && intent.input === undefined)
    book.decisions.set(intent.id, book.decisions.size + 1);
  if (intent.kind === "retry") {
    const entry = book.calls.get(intent.id);
    if (entry === undefined) return;
    entry.attempt = intent.attempt;
    delete entry.settled; // That was an attempt's failure, and no result of the call.
    delete entry.deferred;
  }
  if (intent.kind !== "tool" && intent.kind !== "saga" && intent.kind !== "task") return;
  book.calls.set(intent.id, {
    intent,
    kind: intent.kind,
    name: intent.kind === "task" ? nameOfTask(book, intent) : intent.name,
    ...(intent.kind === "tool" ? { key: intent.key } : {}),
    input: inputOf(book, intent),
    turn: turn.turn,
    decidedAt: turn.at,
    attempt: 1,
  });
}

const nameOfTask = (book: Book, { about, of, tool }: IntentOf<"task">): string => {
  const whose = tool ?? (of === undefined ? undefined : book.calls.get(of)?.name);
  return whose === undefined ? about : `${about} ${whose}`;
};

/** Of a task about an effect that call's input: its question names the effect's key, which is another's elsewhere. */
function inputOf(book: Book, intent: IntentOf<Answered>): Json {
  if (intent.input !== undefined) return intent.input;
  const proposed = intent.call === undefined ? undefined : book.inputs.get(intent.call);
  if (proposed !== undefined || intent.kind !== "task") return proposed ?? null;
  return (intent.of === undefined ? undefined : book.calls.get(intent.of)?.input) ?? intent.question;
}

/** A call's id is `<decision>.<position>`, the decision counted over all that were asked for, summaries apart. */
function rememberCalls(book: Book, id: IntentId, result: Result): void {
  const decision = book.decisions.get(id);
  const reply = decision === undefined || result.outcome !== "succeeded" ? undefined : result.output;
  const read = ModelReply.safeParse(reply);
  if (!read.success) return;
  book.replied.add(id);
  for (const [k, { input }] of read.data.calls.entries()) book.inputs.set(`${decision}.${k}`, input);
}

/** A call that is to be answered from a record. */
export type AskedCall = Pick<MadeCall, "kind" | "name" | "key" | "input">;

/** The recorded calls of a ledger, by what answers which. */
export interface Recordings<T extends MadeCall = RecordedCall> {
  /** The recorded call that answers this one, of those not `taken` yet (LC1, LC2). Pure: the caller notes what it took. */
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
    equal.set(signature, [...(equal.get(signature) ?? []), call]);
  }
  return {
    find: (asked, taken) => {
      const own = asked.key === undefined ? undefined : byKey.get(asked.key);
      // A key names position and arguments, not the callee: another run may call another tool there.
      if (own !== undefined && own.name === asked.name && !taken.has(own.intent.id)) return own;
      const alike = equal.get(signatureOf(asked)) ?? [];
      const next = alike.find(({ intent }) => !taken.has(intent.id));
      return next ?? (isRead(calleeOf(asked.name)) ? alike.at(-1) : undefined);
    },
  };
}

const isRead = (callee: object | undefined): boolean =>
  callee !== undefined && "effect" in callee && callee.effect === "read";
