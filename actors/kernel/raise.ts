/**
 * Raise: a saga whose budget is used up asks for more, and a person who may gives it.
 *
 * RA1 A raise is new to the pool of every saga above: a child's end tells its parent of it.
 * RA2 It is taken at any time while the saga runs, whether a person was asked or not.
 */
import { amountNames, type Amounts, type BudgetRaise } from "../../protocol/budget.ts";
import type { EventOf } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import {
  actorError,
  type Closed,
  closedAs,
  closeIntent,
  type Folding,
  newId,
  openEntries,
  openIntent,
  tellActor,
} from "./folding.ts";
import { raiseLimits } from "./slices.ts";
import { asAmounts, spendingOf } from "./spending.ts";
import type { OpenIntent, SagaState } from "../contract/state.ts";

/** Why a raise says nothing to this saga, or undefined. */
export function refusalOfRaise({ saga, budget }: SagaState, raise: BudgetRaise): string | undefined {
  const named = [...amountNames, "wallClockMs" as const].filter((name) => raise[name] !== undefined);
  const unlimited = named.filter((name) =>
    name === "wallClockMs" ? budget?.deadline === undefined : budget?.limits[name] === undefined,
  );
  return unlimited.length === 0
    ? undefined
    : `${saga} has no limit of ${unlimited.join(", ")}, so there is nothing to raise`;
}

/** The signal `budget`. */
export function takeRaise(f: Folding, event: EventOf<"signal">): void {
  if (f.state.phase.kind !== "running") return;
  raise(f, event.data as BudgetRaise); // Proof: the door has read it with its schema.
  for (const [id, open] of openEntries(f))
    if (isRaiseTask(open)) granted(f, id, open, closedAs("succeeded", "raised"));
}

const isRaiseTask = ({ intent }: OpenIntent): boolean => intent.kind === "task" && intent.about === "budget";

/** A human's answer to the task. */
export function settleRaise(f: Folding, id: IntentId, open: OpenIntent, answer: BudgetRaise): void {
  raise(f, answer);
  granted(f, id, open, closedAs("succeeded"));
}

function granted(f: Folding, id: IntentId, open: OpenIntent, closed: Closed): void {
  closeIntent(f, id, closed);
  tellActor(f, open.actor, id, { output: null });
}

/** No more is given: `closed` says by whom, or that no answer came in time. */
export function refuseRaise(
  f: Folding,
  id: IntentId,
  open: OpenIntent,
  { reason, closed }: { readonly reason: string; readonly closed: Closed },
): void {
  closeIntent(f, id, closed);
  tellActor(f, open.actor, id, { error: actorError("denied", "BUDGET_EXCEEDED", reason) });
}

function raise(f: Folding, { wallClockMs, ...more }: BudgetRaise): void {
  raiseLimits(f, more);
  const { budget } = f.state;
  if (budget?.deadline !== undefined && wallClockMs !== undefined)
    f.state.budget = { ...budget, deadline: Math.max(budget.deadline, f.at) + wallClockMs };
  // A model that was told that this is its last step hears that it is not.
  if (f.definition.kind.decision !== undefined)
    f.queue.push({
      event: {
        type: "sagamesh.budget",
        last: false,
        text: "The budget was raised. Go on as before.",
        at: f.at,
      },
    });
}

/** Suspends the saga until a person raises the budget. */
export function askForRaise(f: Folding, actor: string): void {
  const dueAt = f.at + limits.taskWithinMs;
  openIntent(f, {
    intent: {
      kind: "task",
      id: newId(f),
      about: "budget",
      question: `${f.definition.name} has used up its budget: ${describeUse(f.state)}. Answer with what to add, for example ${example(f.state)}, or deny to end it.`,
      to: [],
      dueAt,
    },
    input: null,
    attempt: 1,
    actor,
    dueAt,
  });
}

function describeUse(state: Folding["state"]): string {
  const { limits: bounds = {}, deadline } = state.budget ?? {};
  const used = asAmounts(spendingOf(state));
  const parts = limitedNames(bounds).map((name) => `${used[name]} of ${bounds[name] ?? 0} ${name}`);
  return [...parts, ...(deadline === undefined ? [] : ["its time"])].join(", ");
}

const limitedNames = (bounds: Amounts) => amountNames.filter((name) => bounds[name] !== undefined);

const example = ({ budget }: Folding["state"]): string => {
  const [name] = limitedNames(budget?.limits ?? {});
  return JSON.stringify(
    name === undefined ? { wallClockMs: 3_600_000 } : { [name]: budget?.limits[name] ?? 1 },
  );
};
