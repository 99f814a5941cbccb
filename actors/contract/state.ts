/**
 * State: what a ledger folds to. The machine's own snapshot, and around it the envelope.
 *
 * ES1 The state is a fold of the ledger and nothing else: no clock, no chance, no host in it.
 * ES2 Its size follows what is open, what stands and what is in doubt, never the length of the history.
 * ES3 A state is never changed in place: `fold` returns another one.
 */
import type { Amounts, ModelPrices, Spending, TreePlace } from "../../protocol/budget.ts";
import type { DefinitionRef, ParentRef } from "../../protocol/event.ts";
import type { Follows } from "../../protocol/follows.ts";
import type { Effects, Lineage, Variant } from "../../protocol/fork.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import type { MachineEvent } from "../machine/actions.ts";
import type { MachineSnapshot } from "../machine/snapshot.ts";

/** What every open intent has: a decision to be carried out, with the input it has wherever the ledger keeps it. */
interface OpenBase<K extends OpenKind> {
  readonly intent: IntentOf<K>;
  readonly input: Json;
  readonly attempt: number;
  /** The machine's actor that waits for the result; undefined once none does. */
  readonly actor?: string;
  /**
   * When its present attempt was decided, milliseconds since the epoch. What is decided anew, from an older copy of the ledger,
   * may have the same id and was decided at another time. Undefined in states of former versions.
   */
  readonly decidedAt?: number;
}

/** A call of a tool. */
export interface OpenTool extends OpenBase<"tool"> {
  /** Milliseconds since the epoch; a retry waits until then. */
  readonly notBefore?: number;
  /** The tool has said that its result comes from outside: until `dueAt`, when a timer of the intent's own id fires. */
  readonly deferred?: boolean;
  readonly dueAt?: number;
}

/** A call of a model. */
export interface OpenModel extends OpenBase<"model"> {
  /** Milliseconds since the epoch; a retry waits until then. */
  readonly notBefore?: number;
  /** Who stands in for the model in this attempt. */
  readonly ask?: string;
  /** The turn that decided its present attempt, where that is a later one. */
  readonly since?: number;
  /** Attempts that were begun by hosts that fell silent; they count as none of the retries. */
  readonly lost?: number;
}

/** A child that runs, or one that is asked to undo what it did. */
export interface OpenSaga extends OpenBase<"saga"> {
  /** It was told to cancel. */
  readonly told?: boolean;
  /** It has not begun: it waits for a place (actors/kernel/line.ts). */
  readonly inLine?: true;
  /** What its machine sent to it since: it is told once it begins. */
  readonly toSend?: readonly { readonly name: string; readonly data: Json }[];
}

/** A timer. One that serves a task has neither event nor name. */
export interface OpenTimer extends OpenBase<"timer"> {
  /** What the machine hears, and the name under which it takes the timer back. */
  readonly event?: MachineEvent;
  readonly timer?: string;
  /** Its name is another's now (actor-ids.ts): it cannot be taken back. */
  readonly loose?: true;
  /** Sends its event to a child: to this one, and to none that comes after it under its name. */
  readonly sendTo?: IntentId;
}

/** A task for people. */
export interface OpenTask extends OpenBase<"task"> {
  /** When it falls to its default: a timer of the intent's own id is armed. */
  readonly dueAt: number;
  /** How long those it is for have had from its beginning. */
  readonly withinMs?: number;
  /** Approvals so far, by name; of a question that more must answer, what each has said, as its digest. */
  readonly approvals?: readonly string[];
  readonly answers?: Readonly<Record<string, string>>;
  /** What it is about: the call that becomes an intent once approved, or the question as it was called. */
  readonly call?: ProposedCall;
}

/** A signal until its publish is acked. */
export type OpenSignal = OpenBase<"signal">;

/** The end until the parent was told of it. */
export type OpenEnd = OpenBase<"end">;

/** The kinds of intents that stay open. */
export type OpenKind = "tool" | "model" | "saga" | "timer" | "task" | "signal" | "end";

/** An intent that was decided and has not ended. */
export type OpenIntent = OpenTool | OpenModel | OpenSaga | OpenTimer | OpenTask | OpenSignal | OpenEnd;

/** The open intents of one kind. */
export type OpenOf<K extends OpenKind> = Extract<OpenIntent, { readonly intent: { readonly kind: K } }>;

/** Whether an open intent is of a kind: its fields are those of that kind then. */
export const isOpen = <K extends OpenKind>(open: OpenIntent | undefined, kind: K): open is OpenOf<K> =>
  open?.intent.kind === kind;

/** Whether it is a child that has not begun, because it stands in line. */
export const isInLine = (open: OpenIntent | undefined): open is OpenSaga & { readonly inLine: true } =>
  isOpen(open, "saga") && open.inLine === true;

/** A call on its way to become a tool intent. `from` names the model's call it came from. */
export interface ProposedCall {
  readonly tool: string;
  readonly input: Json;
  readonly actor: string;
  readonly from?: string;
  /** The policy that last rewrote the input, and the digest of what it wrote. */
  readonly rewritten?: { readonly by: string; readonly digest: string };
  /** What people have agreed to (`agreement` in judge.ts); of an open task, what they will have. */
  readonly granted?: readonly string[];
  /** The calls that this one rests on, where the definition or the model says so. */
  readonly dependsOn?: readonly string[];
  readonly inputFrom?: readonly string[];
  /** The input stands in no model's reply. */
  readonly given?: true;
  /** A human changed the arguments, and who: the input is theirs. */
  readonly editedBy?: string;
  /** Which decision it is (keys.ts); absent where keys are made of turns. */
  readonly place?: string;
}

/** An effect that succeeded or is in doubt and was not undone. */
export interface StandingEffect {
  readonly intent: IntentId;
  readonly tool: string;
  readonly key: string;
  readonly outcome: "succeeded" | "in_doubt";
  /** The turn in which the outcome was recorded: what was decided later may depend on it. */
  readonly settledAt: number;
  /** Registered with the success, never after it. Undefined: no compensation. */
  /** With `starts`: a saga, which undoes it by what it does. */
  readonly undo?: { readonly tool: string; readonly input: Json; readonly starts?: true };
  readonly call?: string;
  /** The calls it rests on, where that was said; undefined: all that was settled before it was decided. */
  readonly dependsOn?: readonly string[];
  /** The open intent that undoes it. */
  readonly undoing?: IntentId;
  /** It is a child that ended well: that undoes it (undo-child.ts). */
  readonly child?: SagaId;
  /** Its compensation ran out of attempts, or a human left it standing. */
  readonly stuck?: boolean;
}

/** A settled call of a tool whose outcome a late result may still correct. */
export type Doubt = UnsettledDoubt | SettledDoubt;

interface DoubtBase {
  readonly tool: string;
  readonly key: string;
  /** Of the contract that it was called under. */
  readonly contract: string;
  readonly input: Json;
  /** Of the input as the tool's schema reads it, so that a member it ignores makes no other call of it. */
  readonly argumentsDigest: string;
  readonly attempt: number;
  readonly call?: string;
  readonly dependsOn?: readonly string[];
  /** The standing effect was undone while in doubt; a late success stands again. */
  readonly undone?: boolean;
  /** The doubtful intent is itself the undoing of this one. */
  readonly undoes?: IntentId;
  /** Digest of the success that made the doubt because it could not be read: it may come again. */
  readonly unread?: string;
}

/** It may have happened. A call equal to it is denied. */
export interface UnsettledDoubt extends DoubtBase {
  readonly outcome: "in_doubt";
  /** The actor that is told only once the doubt is settled, by the human's task about it. */
  readonly actor?: string;
  readonly task?: IntentId;
}

/** It was told as cancelled or failed. */
export interface SettledDoubt extends DoubtBase {
  readonly outcome: "cancelled" | "failed";
}

/** An undoing in progress. */
export interface UndoPlan {
  readonly because: string;
  /** Undefined: everything that stands. What is named and still open is waited for. */
  readonly only?: readonly IntentId[];
  readonly undone: readonly string[];
  /** The machine's actor to answer, or the saga's end that follows. */
  readonly then:
    | { readonly type: "answer"; readonly actor: string }
    | { readonly type: "tell"; readonly actor: string; readonly intent: IntentId; readonly reason: string }
    | { readonly type: "nothing" }
    | { readonly type: "end"; readonly ending: Ending };
}

/** How a saga is about to end. */
export interface Ending {
  readonly status: "completed" | "failed" | "cancelled";
  readonly output?: Json;
  readonly reason?: string;
  readonly code?: string;
}

/**
 * Where the saga is. `running`: the machine decides. `undoing`: the runtime compensates, the machine is
 * over. `ending`: waits for what is open. `ended`: an end is recorded; a late success may wake it again.
 */
export type Phase =
  | { readonly kind: "running" }
  | { readonly kind: "undoing" }
  | { readonly kind: "ending"; readonly ending: Ending }
  | { readonly kind: "ended"; readonly ending: Ending };

/** A signal that no state took yet, as it was sent: its schema reads it each time it is offered. */
export interface KeptSignal {
  readonly id: string;
  readonly name: string;
  readonly data: Json;
  readonly at: number;
  readonly from: string;
}

/** Why a saga's machine takes nothing, since when, and who wanted it. */
export interface Paused {
  readonly at: number;
  readonly by: string;
  readonly reason?: string;
}

/** What a value from outside was before its schema read it: a snapshot holds JSON, and the schema may make a date of it. */
export interface Unread {
  readonly by: "tool" | "saga" | "question";
  readonly name: string;
  readonly value: Json;
}

/** What reaches the machine of a paused saga once it goes on (held.ts). */
export type Held =
  | {
      readonly kind: "event";
      readonly event: MachineEvent;
      readonly waits?: { readonly actor: string; readonly intent: IntentId };
      readonly unread?: Unread;
      /** The name under which the machine takes a timer back. */
      readonly timer?: string;
    }
  | { readonly kind: "signal"; readonly signal: KeptSignal }
  /** A call that people have approved. */
  | { readonly kind: "approved"; readonly intent: IntentId; readonly call: ProposedCall }
  /** A model call's next attempt. */
  | { readonly kind: "retry"; readonly open: OpenModel };

/** The outside says that something is wrong; stands until a `resume` acknowledges it. */
export interface Flag {
  readonly reason: string;
  readonly severity?: "low" | "medium" | "high";
  readonly by: string;
  readonly at: number;
}

/** Ids that were taken together, as one text of sorted hashes. Forgotten together, by the latest. See seen.ts. */
export interface SeenPack {
  readonly until: number;
  readonly codes: string;
}

/** What a state knows of the parts of it that were laid by. See past.ts. */
export interface Past {
  /** How many there are; they are numbered from 1. */
  readonly parts: number;
  /** Of the newest, which names the one before. */
  readonly digest: string;
  /** Whether a late result may concern something in them. */
  readonly holdsDoubts: boolean;
  /** How much each of the newest parts holds, oldest first; of parts that a former version's host stored it is not known. */
  readonly sizes?: readonly number[];
}

/** How often what was decided so far, as far as keys are made of it. See keys.ts. */
export interface DecidedSoFar {
  /** Replies of an agent's model that made calls, and the step of the latest one. */
  readonly replies: number;
  readonly step: string;
  /** How often each actor of the machine was asked for, of the first so many that there were. */
  readonly asked: Readonly<Record<string, number>>;
  readonly names: number;
  /** How often any other. */
  readonly others: number;
  /** Signals to other sagas have keys, too. */
  readonly tells?: true;
}

/** A place in the ledger between two intents: before the k-th of a turn. */
export interface Position {
  readonly turn: number;
  readonly k: number;
}

export interface SagaState {
  readonly saga: SagaId;
  readonly turn: number;
  readonly definition: DefinitionRef;
  /** What it was begun under, where it was moved since; of one that was moved by a former version it is not known. */
  readonly startedAs?: DefinitionRef;
  readonly parent: ParentRef | undefined;
  readonly inputDigest: string;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly phase: Phase;
  readonly snapshot: MachineSnapshot;
  readonly open: Readonly<Record<IntentId, OpenIntent>>;
  /** The machine's actors by id: the intent whose result each waits for. */
  readonly actors: Readonly<Record<string, IntentId>>;
  /** In the order they were recorded. A list, because each success adds to it: a record is slow to copy. */
  readonly effects: readonly StandingEffect[];
  readonly doubts: Readonly<Record<IntentId, Doubt>>;
  /** Superseded model calls whose cost has not come in yet. */
  readonly unpaid: readonly IntentId[];
  readonly plans: readonly UndoPlan[];
  /** Everything decided before this place was undone: a late success from then is undone too. */
  readonly undoneBefore: Position;
  /** The parent's intent that asked the ended saga to undo what it did; it hears of the next end. */
  readonly tells?: ParentRef;
  /** A parent hears of the first end only, and of one that it asked for. */
  readonly toldParent: boolean;
  /** Signals and votes taken, with the time until which a repeat is possible; older ones in packs (seen.ts). */
  readonly seen: Readonly<Record<string, number>>;
  readonly seenPacks: readonly SeenPack[];
  /** Effects and doubts that stand elsewhere (past.ts); undefined while all of them stand here. */
  readonly past?: Past;
  /** Undefined where keys are made of turns. */
  readonly decided?: DecidedSoFar;
  /** Undefined where its machine hears what comes as all did once. */
  readonly follows?: Follows;
  /** It hears the causes of errors. */
  readonly causes?: true;
  /** It hears what was thrown by its own name. */
  readonly errorNames?: true;
  /** Spawned actors whose id another took over, by the name that each has here since: its id. */
  readonly displaced?: Readonly<Record<string, string>>;
  readonly kept: readonly KeptSignal[];
  /** What children that failed or were cancelled could not undo, `<tool> <key>`; a key begins with its saga. */
  readonly leftBelow?: readonly string[];
  /** Undefined while the machine takes what comes. */
  readonly paused?: Paused;
  /** In the order in which it came; only while paused. */
  readonly held?: readonly Held[];
  /** Flags that no `resume` has acknowledged, oldest first. */
  readonly flags?: readonly Flag[];
  /** No call of the model begins before. */
  readonly modelNotBefore?: number;
  /** By the saga itself. */
  readonly spent: Spent;
  /** By sagas below it that have ended; undefined while there are none. */
  readonly below?: Spending;
  /** Undefined where nothing is bounded. */
  readonly budget?: BudgetState;
  /** Where it lies in its tree of sagas; undefined for the root, which has no parent. */
  readonly tree?: Pick<TreePlace, "root" | "depth" | "depthMax">;
  /** The trace that it was started in, as its start recorded it. */
  readonly traceparent?: string;
  /** What policies remember, by name. Each bounds its own, and limits.guardBytesMax all that do not. */
  readonly guards?: Readonly<Record<string, Json>>;
  /** An agent's working memory, as it was given (memory.ts); undefined for a saga that declares none. */
  readonly memory?: Json;
  /** Of a fork. Without `effects` it has not left its origin yet. */
  readonly fork?: { readonly lineage: Lineage; readonly effects?: Effects; readonly variant?: Variant };
}

export interface Spent {
  readonly steps: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly usd: number;
  readonly toolCalls: number;
  readonly children: number;
}

/** What a saga and all below it may use. What is reserved of it stands in the open intents. See budget.ts. */
export interface BudgetState {
  /** Declared, cut to the slice that a parent gave, and raised by signals. */
  readonly limits: Amounts;
  /** Milliseconds since the epoch. */
  readonly deadline?: number;
  /** What signals added, here and below. */
  readonly raised?: Amounts;
  readonly prices?: ModelPrices;
  /** No tokeniser makes more than so many tokens of the conversation so far; kept only where tokens cost something. */
  readonly context: number;
  readonly late: readonly LateCall[];
  /** Reserved for calls whose cost will never be reported. */
  readonly lost: { readonly tokens: number; readonly usd: number };
  /** What calls have cost beyond their reservations; absent as long as each kept within its own. */
  readonly exceeded?: Amounts;
}

/** An attempt of a model call that is over for the saga and whose cost has not come in: its reservation stands. */
export interface LateCall {
  readonly intent: IntentId;
  readonly attempt: number;
  readonly model: string;
  readonly tokens: number;
  readonly usd: number;
}

/** Before which no attempt begins, milliseconds since the epoch; undefined: at once. */
export const notBeforeOf = (open: OpenIntent): number | undefined =>
  isOpen(open, "tool") || isOpen(open, "model") ? open.notBefore : undefined;

/** When a timer fires that goes with an open intent; undefined: there is none. */
export const dueAtOf = (open: OpenIntent): number | undefined => {
  if (isOpen(open, "timer")) return open.intent.dueAt;
  return isOpen(open, "task") || isOpen(open, "tool") ? open.dueAt : undefined;
};

/** Whether an open call's result comes from outside. */
export const isDeferred = (open: OpenIntent): open is OpenTool =>
  isOpen(open, "tool") && open.deferred === true;

/** Whether the saga's own host has something to do for an open intent itself, now or after a backoff. */
export const isOwnWork = (
  open: OpenIntent,
  placementOf: (contract: string) => "worker" | "host",
): boolean => {
  const { intent } = open;
  if (intent.kind === "model" || intent.kind === "signal" || intent.kind === "end") return true;
  return intent.kind === "tool" && !isDeferred(open) && placementOf(intent.contract) === "host";
};
