/**
 * Viewing: what a view of a ledger holds, while it is made and when it is done.
 */
import type { Budget } from "../../actors/contract/budget-config.ts";
import type { SagaState, Spent } from "../../actors/contract/state.ts";
import type { ModelPrices, Spending } from "../../protocol/budget.ts";
import type { InspectDocument } from "../../protocol/documents/inspect.ts";
import type { DefinitionRef, ParentRef } from "../../protocol/event.ts";
import type { Effects, Lineage } from "../../protocol/fork.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Intent, IntentOf } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import type { Outcome } from "../../protocol/result.ts";
import type { Effect } from "../../protocol/tool.ts";
import type { BudgetView } from "./view-budget.ts";

export type ViewedIntent = Exclude<Intent, { kind: "retry" }>;

export interface IntentView {
  readonly intent: ViewedIntent;
  /** The input, found in the model's reply where the intent only names the call. */
  readonly input: Json | undefined;
  readonly turn: number;
  readonly attempt: number;
  readonly deferred: boolean;
  /** Undefined while it is open. */
  readonly outcome: Outcome | "superseded" | undefined;
  /** A tool's success as it was reported: nobody here could hold it against the tool's output (V4). */
  readonly unverified: boolean;
  readonly output: Json | undefined;
  readonly reason: string | undefined;
  readonly settledTurn: number | undefined;
  readonly by: string | undefined;
}

/** An effect that succeeded, or is in doubt, and was not undone. */
export interface EffectView {
  readonly intent: IntentId;
  readonly tool: string;
  readonly key: string;
  readonly outcome: "succeeded" | "in_doubt";
}

export interface SagaView {
  readonly saga: SagaId;
  /** The one that decides its next turn. */
  readonly definition: DefinitionRef;
  /** Its moves from one definition to another; absent where there was none. */
  readonly migrations?: NonNullable<InspectDocument["migrations"]>;
  readonly parent: ParentRef | undefined;
  readonly input: Json;
  readonly status: "running" | "completed" | "failed" | "cancelled";
  readonly phase: SagaState["phase"]["kind"];
  readonly end: IntentOf<"end"> | undefined;
  readonly turns: number;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly intents: readonly IntentView[];
  readonly open: readonly IntentView[];
  readonly effects: readonly EffectView[];
  /** By the saga itself. */
  readonly spent: Spent;
  /** By sagas below it that have ended. */
  readonly below?: Spending;
  readonly budget?: BudgetView;
  /** Where it lies below the saga that nobody opened; absent for that one. */
  readonly tree?: { readonly root: SagaId; readonly depth: number };
  readonly hosts: readonly string[];
  readonly fork?: ForkView;
}

/** Where a fork comes from, and how it goes on; without `effects` it has not left its origin yet. */
export interface ForkView extends Pick<Lineage, "saga" | "turn"> {
  readonly effects?: Effects;
  readonly model?: string;
  /** Other instructions than the definition's. */
  readonly instructions?: string;
}

/** A tool's contract, as far as a view needs it. */
export interface ViewedContract {
  readonly effect: Effect;
  /** Why an output does not fit, or undefined. */
  readonly misfitOf: (output: Json) => string | undefined;
}

export interface ViewOptions {
  /** What the turns fold to (V3). */
  readonly state?: SagaState | undefined;
  /** Tools known to have no effect: they neither stand nor outlive a cancellation. */
  readonly isRead?: (tool: string) => boolean;
  /** The contract of a tool, where it is known (V4). */
  readonly contractOf?: (tool: string) => ViewedContract | undefined;
  /** What a definition declares of its budget, where it is known. */
  readonly budgetOf?: (definition: DefinitionRef) => Budget | undefined;
}

export type Editable = { -readonly [K in keyof IntentView]: IntentView[K] };

export interface Viewing {
  readonly intents: Map<IntentId, Editable>;
  /** Inputs of calls by `<decision's number>.<position>`. */
  readonly calls: Map<string, Json>;
  /** Numbers of an agent's decisions: a superseded one keeps its own. */
  readonly decisions: Map<IntentId, number>;
  /** What each person has said of a task so far: of an approval nothing but that, of a question the answer's digest. */
  readonly said: Map<IntentId, Map<string, string>>;
  readonly isRead: (tool: string) => boolean;
  readonly contractOf: (tool: string) => ViewedContract | undefined;
  /** Calls that failed although they may have happened: their effects stand in doubt. */
  readonly held: Set<IntentId>;
  readonly prices: ModelPrices;
  spent: Spent;
  fork: ForkView | undefined;
  end: { readonly intent: IntentOf<"end">; readonly turn: number } | undefined;
}

export function close(
  viewed: Editable,
  outcome: NonNullable<IntentView["outcome"]>,
  turn: number,
  reason?: string,
): void {
  Object.assign(viewed, { outcome, settledTurn: turn, reason });
}
