/**
 * Late: model calls that are over for their saga before their cost was reported.
 *
 * LT1 The reservation of such a call stands until its cost comes in. A cost that is never reported counts as reserved.
 */
import { dollars } from "../../protocol/budget.ts";
import { type IntentId, turnOf } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import {
  type BudgetState,
  isOpen,
  type LateCall,
  type OpenIntent,
  type SagaState,
} from "../contract/state.ts";

/** Whether the present attempt may have begun: it was decided before this turn. */
export const mayHaveBegun = (open: OpenIntent, turn: number): boolean =>
  ((isOpen(open, "model") ? open.since : undefined) ?? turnOf(open.intent.id)) < turn;

/** The budget with the call among the late ones. The oldest of too many is taken for lost. */
export function withLate(budget: BudgetState, { intent, attempt }: OpenIntent): BudgetState {
  if (intent.kind !== "model" || intent.budget === undefined) return budget;
  const { tokens = 0, usd = 0 } = intent.budget;
  const late = [...budget.late, { intent: intent.id, attempt, model: intent.name, tokens, usd }];
  const [oldest] = late;
  return late.length <= limits.lateCallsMax || oldest === undefined
    ? { ...budget, late }
    : { ...withLost(budget, oldest), late: late.slice(1) };
}

/** The budget without a late call whose cost has come in. */
export const withoutLate = (budget: BudgetState, call: LateCall): BudgetState => ({
  ...budget,
  late: budget.late.filter((other) => other !== call),
});

/** The budget with what was reserved for a call whose cost will never be reported. */
export const withLost = (budget: BudgetState, { tokens = 0, usd = 0 }: Partial<LateCall>): BudgetState => ({
  ...budget,
  lost: { tokens: budget.lost.tokens + tokens, usd: dollars(budget.lost.usd + usd) },
});

export const lateCallOf = (
  { budget }: Pick<SagaState, "budget">,
  intent: IntentId,
  attempt: number,
): LateCall | undefined => budget?.late.find((one) => one.intent === intent && one.attempt === attempt);

/** Whether a host that takes the saga over must say so before it asks a model (takeAdopted in budget.ts). */
export const hasCountedCall = ({ open }: Pick<SagaState, "open">): boolean =>
  Object.values(open).some(({ intent }) => intent.kind === "model");
