/**
 * Viewing: what a view of a ledger holds.
 */
import type { Budget } from "../../actors/contract/budget-config.ts";
import type { SagaState, Spent } from "../../actors/contract/state.ts";
import type { Spending } from "../../protocol/budget.ts";
import type { ClosedAs } from "../../protocol/closing.ts";
import type { InspectDocument } from "../../protocol/documents/inspect.ts";
import type { DefinitionRef, ParentRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import type { DecidedIntent, ForkView, StandingEffect } from "../ledger/account.ts";
import type { BudgetView } from "./view-budget.ts";

export interface IntentView {
  readonly intent: DecidedIntent;
  /** The input, found in the model's reply where the intent only names the call. */
  readonly input: Json | undefined;
  readonly turn: number;
  readonly attempt: number;
  readonly deferred: boolean;
  /** Of a child that has not begun: how many begin before it, and it. */
  readonly inLine: number | undefined;
  /** Undefined while it is open. */
  readonly outcome: ClosedAs | undefined;
  readonly output: Json | undefined;
  /** In words. */
  readonly reason: string | undefined;
  readonly settledTurn: number | undefined;
  /** The incarnation or the person whose word it was. */
  readonly by: string | undefined;
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
  readonly effects: readonly StandingEffect[];
  /** By the saga itself. */
  readonly spent: Spent;
  /** By sagas below it that have ended. */
  readonly below?: Spending;
  readonly budget?: BudgetView;
  /** Where it lies below the saga at the top of its tree; absent for that one. */
  readonly tree?: { readonly root: SagaId; readonly depth: number };
  readonly hosts: readonly string[];
  readonly fork?: ForkView;
}

export interface ViewOptions {
  /** What the turns fold to: the machine's phase, and the limits of a budget, are in no ledger. */
  readonly state?: SagaState | undefined;
  /** What a definition declares of its budget, where it is known. */
  readonly budgetOf?: (definition: DefinitionRef) => Budget | undefined;
  /** The names of the signals that a definition declares, where it is known. */
  readonly signalsOf?: (definition: DefinitionRef) => readonly string[] | undefined;
}
