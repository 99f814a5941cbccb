/**
 * Account: what a ledger's turns add up to, from the ledger alone. The one reader that every view of a ledger is a
 * projection of: intents with their outcomes, tasks with what was said, effects that stand, decisions, spending.
 *
 * AO1 Turn by turn, each once and in order, without a promise. What a turn costs follows from what is in it and from what
 *     is open, never from the length of the ledger before it.
 * AO2 No definition is needed: each step says what it closed (protocol/closing.ts), each intent whether it only reads.
 * AO3 After each turn the account says of what is open, stands, is in doubt and was spent what the fold says.
 * AO4 A reader that is to remember so many intents forgets, of those that are over, the ones that were over first. What a
 *     later turn may still change is kept: what is open, has failed, is in doubt or stands, and the last decision; and what the last
 *     turn decided.
 */
import type { Amounts, BudgetRaise, Spending } from "../../protocol/budget.ts";
import type { Closing } from "../../protocol/closing.ts";
import type { DefinitionRef, Event, EventOf, Vote } from "../../protocol/event.ts";
import type { Effects, Lineage } from "../../protocol/fork.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Intent, IntentOf } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import type { Usage } from "../../protocol/result.ts";
import type { Step, Turn } from "../../protocol/turn.ts";
import type { Flag, Paused, Spent } from "../../actors/contract/state.ts";

/** An intent that a turn decided; a later attempt of one is none of its own. */
export type DecidedIntent = Exclude<Intent, { kind: "retry" }>;

/** A step of a turn, by its place from 0. */
export interface StepPlace extends Step {
  readonly turn: number;
  readonly step: number;
  readonly at: number;
  readonly host: string;
}

/** As what an intent ended, where, and by whom. */
export interface Ended extends Closing {
  readonly turn: number;
  readonly at: number;
  /** The incarnation or the person whose word it was; absent where the saga closed it by itself. */
  readonly from?: string;
  /** Of a success: what it gave. */
  readonly output?: Json;
  /** What ended it, or what it was ended on. */
  readonly event: Event;
}

/** What a person, or a saga in their place, has said of a task. */
export interface Said {
  readonly vote: Vote;
  readonly at: number;
  /** The saga that said it for people, by its intent. */
  readonly through?: IntentId;
}

/** An intent, and all that became of it so far. */
export interface ToldIntent {
  /** As it was decided; of a fork's, due when the fork has put it off to; of a child in line, with its slice once it began. */
  readonly intent: DecidedIntent;
  readonly place: StepPlace;
  /** The decision whose call it is. */
  readonly proposedBy: IntentId | undefined;
  /** The input, found in the model's reply where the intent only names the call. */
  readonly input: Json | undefined;
  readonly attempt: number;
  /** Its performer has handed it to the outside: when, and until when that has time. */
  readonly deferred: { readonly at: number; readonly dueAt: number } | undefined;
  /** A child that has not begun: it waits for a place. */
  readonly inLine: boolean;
  /** Undefined while it is open. */
  readonly ended: Ended | undefined;
  /** What it had ended as at first, before that was corrected. */
  readonly before: Ended | undefined;
  /** Of a task, in order. */
  readonly said: readonly Said[];
  /** Of a task: the one that asks in its place, for its time was over or its arguments were changed. */
  readonly followedBy: IntentId | undefined;
}

/** An effect that stands: it succeeded or is in doubt, and was not undone. */
export interface StandingEffect {
  readonly intent: IntentId;
  readonly tool: string;
  readonly key: string;
  readonly outcome: "succeeded" | "in_doubt";
}

/** Something that had come in since the decision before: an event, or a call that was refused. */
export interface News {
  readonly at: StepPlace;
  /** Whose outcome it is; undefined for what came from outside by itself. */
  readonly intent: IntentId | undefined;
}

/** Where a fork comes from, and how it goes on; without `effects` it has not left its origin yet. */
export interface ForkView extends Pick<Lineage, "saga" | "turn"> {
  readonly effects?: Effects;
  readonly model?: string;
  /** Other instructions than the definition's. */
  readonly instructions?: string;
}

export interface Account {
  readonly saga: SagaId;
  readonly start: EventOf<"start">;
  /** The one that decides its next turn. */
  readonly definition: DefinitionRef;
  readonly moves: readonly {
    readonly turn: number;
    readonly at: number;
    readonly event: EventOf<"migrated">;
  }[];
  readonly fork: ForkView | undefined;
  /** How many there are. */
  readonly turns: number;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly hosts: ReadonlySet<string>;
  /** In the order in which they were decided; without those that were forgotten (AO4). */
  readonly intents: ReadonlyMap<IntentId, ToldIntent>;
  /** How many were forgotten. */
  readonly forgotten: number;
  readonly open: ReadonlyMap<IntentId, ToldIntent>;
  readonly effects: ReadonlyMap<IntentId, StandingEffect>;
  /** Effects that were undone, by whom: an intent, or a task in which a human says so. */
  readonly undone: ReadonlyMap<IntentId, IntentId>;
  /** Effects that are being undone, by which intent; `stuck` where that failed. */
  readonly undoing: ReadonlyMap<IntentId, IntentId | "stuck">;
  /** Calls whose end is not known. */
  readonly doubts: ReadonlySet<IntentId>;
  /** The last one; an undoing after it ends in another. */
  readonly end: { readonly intent: IntentOf<"end">; readonly turn: number; readonly at: number } | undefined;
  /** An agent's decisions with their numbers, from 1. One that is asked anew has the same. */
  readonly numbers: ReadonlyMap<IntentId, number>;
  /** What was new to each decision. */
  readonly news: ReadonlyMap<IntentId, readonly News[]>;
  /** The decision that was still unanswered when another one was asked for: by the later one. */
  readonly superseded: ReadonlyMap<IntentId, IntentId>;
  /** By the saga itself. */
  readonly spent: Spent;
  /** By sagas below it that have ended; undefined while there are none. */
  readonly below: Spending | undefined;
  /** Reserved for attempts whose cost is not reported yet, by `<intent>#<attempt>`. */
  readonly reserved: ReadonlyMap<string, Amounts>;
  /** By how much calls have cost more than was reserved for them. */
  readonly exceeded: Amounts | undefined;
  /** What changed the limits of the budget, in order. */
  readonly raises: readonly BudgetChange[];
  /** Undefined while the machine takes what comes. */
  readonly paused: Paused | undefined;
  /** Flags that no `resume` has acknowledged, oldest first. */
  readonly flags: readonly Flag[];
}

/** More of what is limited; of a fork, how long its origin had stood still: its deadline is put off by that. */
export interface BudgetChange {
  readonly at: number;
  readonly more: BudgetRaise;
  readonly idleMs: number;
}

/** What a turn changed, in order. */
export type Change =
  | { readonly type: "opened" | "retried" | "deferred" | "begun"; readonly intent: ToldIntent }
  /** `corrected`: it had ended otherwise before. */
  | { readonly type: "closed" | "corrected"; readonly intent: ToldIntent; readonly ended: Ended }
  | { readonly type: "said"; readonly task: ToldIntent; readonly said: Said }
  | { readonly type: "stood" | "undone"; readonly effect: StandingEffect }
  /** The cost of an attempt of a model call came in, in dollars as it was charged. */
  | {
      readonly type: "paid";
      readonly intent: ToldIntent;
      readonly attempt: number;
      readonly usage: Usage;
      readonly usd: number;
    }
  | { readonly type: "spent"; readonly spent: Spent; readonly below: Spending | undefined };

export interface AccountReader {
  /** Takes the next turn, and says what it changed. Throws LEDGER_BROKEN where another turn belongs. */
  take(turn: Turn): readonly Change[];
  /** As of the last turn taken; the same object throughout. Throws LEDGER_BROKEN before the first. */
  readonly account: Account;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Growing<T> =
  T extends ReadonlyMap<infer K, infer V> ? Map<K, V> : T extends ReadonlySet<infer V> ? Set<V> : T;

/** An intent while its ledger is read. */
export interface Telling extends Mutable<Omit<ToldIntent, "said">> {
  readonly said: Said[];
}

/** The account while its ledger is read, and what only its reading needs. */
export interface Reading extends Mutable<{ [K in keyof Account]: Growing<Account[K]> }> {
  intents: Map<IntentId, Telling>;
  open: Map<IntentId, Telling>;
  moves: { turn: number; at: number; event: EventOf<"migrated"> }[];
  changes: Change[];
  /** Inputs of proposed calls by `<decision's number>.<position>`. */
  readonly inputs: Map<string, Json>;
  /** Decisions by number; of those of one number the last. */
  readonly decisions: IntentId[];
  fresh: News[];
  /** The decision that is to be asked anew. */
  withdrawn: IntentId | undefined;
  /** Decisions whose first result is in. */
  readonly answered: Set<IntentId>;
  /** The turns that decided the last attempts of model calls, where those are not their first. */
  readonly retriedIn: Map<IntentId, number>;
  /** Attempts whose cost is in. */
  readonly paid: Set<string>;
  readonly raises: BudgetChange[];
}
