/**
 * View of a budget: what a saga may use, has used and has reserved, as its ledger tells it.
 *
 * D1 With the folded state this is what the fold says. Without it the limits are those its definition was registered
 *    with, and whatever nobody has told the cost of counts as reserved: a call that was superseded, too.
 */
import { availableOf, cut, declaredOf, reservedOf } from "../../actors/kernel/budget.ts";
import type { Budget } from "../../actors/contract/budget-config.ts";
import { usageOf } from "../../actors/kernel/settle.ts";
import { addAmounts, asAmounts, excessOf, spendingOf, sumOf } from "../../actors/kernel/spending.ts";
import type { SagaState, Spent } from "../../actors/contract/state.ts";
import {
  type AmountName,
  amountNames,
  type Amounts,
  dollars,
  BudgetRaise,
  type Spending,
} from "../../protocol/budget.ts";
import type { Event, EventOf } from "../../protocol/event.ts";
import type { Intent } from "../../protocol/intent.ts";
import type { Turn } from "../../protocol/turn.ts";

/** Of what is limited. */
export interface BudgetView {
  /** Declared, cut to the slice, and raised. */
  readonly limits: Amounts;
  /** By the saga and all below it that has ended. */
  readonly used: Amounts;
  /** For calls and sub-agents that run. */
  readonly reserved: Amounts;
  readonly left: Amounts;
  /** Milliseconds since the epoch. */
  readonly deadline?: number;
  /** What calls have cost beyond what was reserved for them. */
  readonly exceeded?: Amounts;
  readonly raised?: Amounts;
  /** What its parent gave it. */
  readonly slice?: Amounts;
}

/** What the sagas below a saga have used, and its budget if it has one. */
export interface BudgetViews {
  readonly below?: Spending;
  readonly budget?: BudgetView;
}

export function budgetOf(
  turns: readonly Turn[],
  spent: Spent,
  options: { readonly state?: SagaState | undefined; readonly declared?: Budget | undefined },
): BudgetViews {
  const start = turns[0]?.steps[0]?.event;
  if (start?.type !== "start") return {};
  const { tree } = start;
  const slice = tree?.budget === undefined ? {} : { slice: tree.budget };
  const { state } = options;
  if (state === undefined) {
    const told = readBudget(turns, start, options.declared ?? {});
    const used = asAmounts(sumOf({ ...spent, unreportedTokens: 0 }, told.below));
    return viewOf(told, used, told.reserved, slice);
  }
  const { budget, below } = state;
  const told = { ...(below === undefined ? {} : { below }), limits: {}, ...budget };
  return viewOf(told, asAmounts(spendingOf(state)), reservedOf(state), slice, availableOf(state));
}

interface Told {
  readonly below?: Spending;
  readonly limits: Amounts;
  readonly deadline?: number;
  readonly exceeded?: Amounts;
  readonly raised?: Amounts;
}

function viewOf(
  { below, limits, deadline, exceeded, raised }: Told,
  used: Amounts,
  reserved: Amounts,
  slice: { readonly slice?: Amounts },
  left: Amounts = rest(limits, used, reserved),
): BudgetViews {
  const under = below === undefined ? {} : { below };
  if (Object.keys(limits).length === 0 && deadline === undefined) return under;
  return {
    ...under,
    budget: {
      limits,
      used: named(limits, (name) => used[name]),
      reserved: named(limits, (name) => reserved[name]),
      left,
      ...(deadline === undefined ? {} : { deadline }),
      ...(exceeded === undefined ? {} : { exceeded }),
      ...(raised === undefined ? {} : { raised }),
      ...slice,
    },
  };
}

/** Amounts of what is limited. */
function named(limits: Amounts, amountOf: (name: AmountName) => number | undefined): Amounts {
  const entries = amountNames
    .filter((name) => limits[name] !== undefined)
    .map((name) => [name, amountOf(name)]);
  return Object.fromEntries(entries.filter(([, amount]) => amount !== undefined)) as Amounts;
}

const rest = (limits: Amounts, used: Amounts, reserved: Amounts): Amounts =>
  named(limits, (name) => dollars((limits[name] ?? 0) - (used[name] ?? 0) - (reserved[name] ?? 0)));

/** D1. */
function readBudget(
  turns: readonly Turn[],
  { tree, prices }: EventOf<"start">,
  declared: Budget,
): Told & { readonly reserved: Amounts } {
  const outstanding = new Map<string, Amounts>();
  const budgets = new Map<string, Amounts>();
  const models = new Map<string, string>();
  const tasks = new Set<string>();
  let below: Spending | undefined;
  let raised: Amounts | undefined;
  let exceeded: Amounts | undefined;
  let limits = cut(declaredOf(declared), tree?.budget ?? {});
  const began = turns[0]?.at ?? 0;
  let deadline = Math.min(began + (declared.wallClockMs ?? Infinity), tree?.deadline ?? Infinity);
  const raise = (more: Amounts) => {
    const limited = named(limits, (name) => more[name]);
    raised = addAmounts(raised, limited);
    limits = addAmounts(limits, limited) ?? limits;
  };
  const take = (event: Event, at: number) => {
    const asked = raiseIn(event, tasks);
    if (asked !== undefined) {
      raise(asked);
      if (asked.wallClockMs !== undefined) deadline = Math.max(deadline, at) + asked.wallClockMs;
    }
    if (event.type === "forked") {
      deadline += event.idleMs;
      // What calls of the origin's may still cost is the origin's.
      const isAnswered = new Set<string>(event.answered);
      for (const key of outstanding.keys()) {
        const id = key.slice(0, key.indexOf("#"));
        if (models.has(id) && !isAnswered.has(id)) outstanding.delete(key);
      }
    }
    if (event.type !== "result") return;
    const model = models.get(event.intent);
    if (model !== undefined) {
      const reserved = outstanding.get(`${event.intent}#${event.attempt}`);
      exceeded = addAmounts(exceeded, excessOf(reserved, usageOf(event.result), prices?.[model]));
    }
    if (event.result.outcome !== "cancelled" || event.result.usage !== undefined)
      outstanding.delete(`${event.intent}#${event.attempt}`);
    if (event.spent === undefined) return;
    below = sumOf(below, event.spent);
    if (event.spent.raised !== undefined) raise(event.spent.raised);
  };
  const decide = (intent: Intent) => {
    if (intent.kind === "task" && intent.about === "budget") tasks.add(intent.id);
    if (intent.kind === "model") models.set(intent.id, intent.name);
    if ((intent.kind === "model" || intent.kind === "saga") && intent.budget !== undefined)
      budgets.set(intent.id, intent.budget);
    const budget = budgets.get(intent.id);
    const attempt = intent.kind === "retry" ? intent.attempt : 1;
    if (budget !== undefined) outstanding.set(`${intent.id}#${attempt}`, budget);
  };
  for (const { at, steps } of turns)
    for (const { event, intents } of steps) {
      take(event, at);
      intents.forEach(decide);
    }
  return {
    limits,
    reserved: [...outstanding.values()].reduce<Amounts>((sum, one) => addAmounts(sum, one) ?? sum, nothing),
    ...(below === undefined ? {} : { below }),
    ...(exceeded === undefined ? {} : { exceeded }),
    ...(raised === undefined || Object.keys(raised).length === 0 ? {} : { raised }),
    ...(deadline === Infinity ? {} : { deadline }),
  };
}

const nothing: Amounts = { steps: 0, tokens: 0, usd: 0, toolCalls: 0, children: 0 };

/** What an event adds to the limits: the signal, or the answer of a human who was asked. */
function raiseIn(event: Event, tasks: ReadonlySet<string>): BudgetRaise | undefined {
  const said =
    event.type === "signal" && event.name === "budget"
      ? event.data
      : event.type === "task" && event.vote.vote === "answer" && tasks.has(event.intent)
        ? event.vote.answer
        : undefined;
  return said === undefined ? undefined : BudgetRaise.safeParse(said).data;
}
