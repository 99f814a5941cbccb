/**
 * Budget: what a saga and all below it may use, reserved before it is used and settled after.
 *
 * BU1 Used and reserved never add up to more than the limit, at any turn: what does not fit is not begun.
 * BU2 A reservation stands in its intent, and ends with what the result says was used. Where no result says that,
 *     the reservation itself is what was used.
 * BU3 A decision is the last one if another might not fit after it. The model is told so in a message of its own, and
 *     may only finish or undo (last-step.ts); after it no other is asked for until the limit is raised.
 * BU4 What tokens cost is bounded only where tokens or dollars are limited, and from nothing longer than one message.
 * BU5 A step is one asking of a provider that may have happened: each attempt, one after a host's death too, counts in the
 *     turn that decides it. Never less than was asked; more by attempts that were decided and then never begun.
 */
import {
  type AmountName,
  amountNames,
  type Amounts,
  dollars,
  type ModelPrice,
  type TreePlace,
} from "../../protocol/budget.ts";
import type { EventOf } from "../../protocol/event.ts";
import { jsonBytes } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import type { Result, Usage } from "../../protocol/result.ts";
import type { Budget } from "../contract/budget-config.ts";
import type { ModelQuery } from "../contract/definition.ts";
import {
  actorError,
  changeOpen,
  countStep,
  type Draft,
  endIntent,
  type Folding,
  openEntries,
  openIndex,
  tellActor,
} from "./folding.ts";
import { lateCallOf, mayHaveBegun, withLate, withLost, withoutLate } from "./late.ts";
import { addAmounts, excessOf, inputPriceMax, promptTokens, spentWith, usedOf } from "./spending.ts";
import {
  type BudgetState,
  isOpen,
  type LateCall,
  type OpenIntent,
  type SagaState,
} from "../contract/state.ts";

const least = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b);

/** Each member the smaller of both. */
export function cut(a: Amounts, b: Amounts): Amounts {
  const both: { -readonly [K in AmountName]?: number } = {};
  for (const name of amountNames) {
    const bound = least(a[name], b[name]);
    if (bound !== undefined) both[name] = bound;
  }
  return both;
}

/** What a definition declares of what is counted. */
export const declaredOf = (budget: Budget): Amounts => cut(budget, {});

/** The budget that a saga starts with: what it declares, cut to what its parent gave. */
export function openBudget(f: Folding, { tree, prices }: Pick<EventOf<"start">, "tree" | "prices">): void {
  if (tree !== undefined) f.state.tree = placeOf(tree);
  const { budget } = f.definition;
  const own = cut(declaredOf(budget), tree?.budget ?? {});
  const over = budget.wallClockMs === undefined ? undefined : f.at + budget.wallClockMs;
  const deadline = least(over, tree?.deadline);
  if (Object.keys(own).length === 0 && deadline === undefined) return;
  f.state.budget = {
    limits: own,
    ...(deadline === undefined ? {} : { deadline }),
    ...(prices === undefined ? {} : { prices }),
    context: f.definition.frameTokens,
    late: [],
    lost: { tokens: 0, usd: 0 },
  };
}

const placeOf = ({ root, depth, depthMax }: TreePlace): Draft["tree"] => ({ root, depth, depthMax });

/** BU2. */
export function reservedOf({ open }: Pick<SagaState, "open">): Required<Amounts> {
  const sum = { steps: 0, tokens: 0, usd: 0, toolCalls: 0, children: 0 };
  for (const { intent } of Object.values(open)) {
    if ((intent.kind !== "model" && intent.kind !== "saga") || intent.budget === undefined) continue;
    for (const name of amountNames) sum[name] += intent.budget[name] ?? 0;
  }
  return { ...sum, usd: dollars(sum.usd) };
}

/** What is neither used nor reserved, of what is limited. Below zero where a port reported more than was reserved. */
export const availableOf = (
  state: Pick<SagaState, "spent" | "below" | "budget" | "open">,
): Amounts | undefined => (state.budget === undefined ? undefined : leftBeside(state, reservedOf(state)));

/** The same in the middle of a turn, whatever is open. */
export function leftIn(f: Folding): Amounts | undefined {
  if (f.state.budget === undefined) return undefined;
  const { reserved } = openIndex(f);
  return leftBeside(f.state, { ...reserved, usd: reserved.usd / 1e9 });
}

function leftBeside(
  state: Pick<SagaState, "spent" | "below" | "budget">,
  reserved: Required<Amounts>,
): Amounts | undefined {
  if (state.budget === undefined) return undefined;
  const used = usedOf(state);
  const left: { -readonly [K in AmountName]?: number } = {};
  for (const name of amountNames) {
    const limit = state.budget.limits[name];
    if (limit === undefined) continue;
    const rest = limit - used[name] - reserved[name];
    left[name] = name === "usd" ? dollars(rest) : rest;
  }
  return left;
}

const fits = (f: Folding): boolean => Object.values(leftIn(f) ?? {}).every((left) => left >= 0);

const countsTokens = (budget: BudgetState | undefined): budget is BudgetState =>
  budget?.limits.tokens !== undefined || budget?.limits.usd !== undefined;

/** Why a tool may not be called any more, or undefined. */
export function refusalOfCall(f: Folding): string | undefined {
  const bounds = f.state.budget?.limits;
  if (bounds?.toolCalls === undefined) return undefined;
  const left = leftIn(f) ?? {};
  if ((left.toolCalls ?? 0) >= 1) return undefined;
  return `another call of a tool reserves 1 of toolCalls, and ${leftOf(left, bounds, "toolCalls")}`;
}

export const countCall = (f: Folding): void => {
  f.state.spent = { ...f.state.spent, toolCalls: f.state.spent.toolCalls + 1 };
};

/** BU4. The conversation has grown; what the model itself said comes with the reply's cost. */
export function hear(f: Folding, message: ModelMessage): void {
  const { budget } = f.state;
  if (!countsTokens(budget) || message.role !== "user") return;
  f.state.budget = { ...budget, context: budget.context + messageTokens(message) };
}

const messageTokens = (message: ModelMessage & { role: "user" }): number =>
  jsonBytes(message) + limits.messageTokens + message.parts.length * limits.partTokens;

/** What a call of a model is asked with: how much it may write, and what is reserved for it. */
export interface Terms {
  readonly outputTokensMax?: number;
  readonly budget?: Amounts;
}

export type Verdict =
  | { readonly type: "ask"; readonly with: Terms }
  /** The model must hear first that this is its last step, or that it is not. */
  | { readonly type: "tell"; readonly last: boolean; readonly text: string }
  | { readonly type: "refuse"; readonly reason: string };

/** What becomes of a decision that an agent's machine asks for (BU1, BU3). */
export function judgeDecision(f: Folding, query: ModelQuery): Verdict {
  const { last: told, outputTokensMax } = query;
  const bound = outputTokensMax === undefined ? {} : { outputTokensMax };
  if (f.state.budget === undefined) return { type: "ask", with: bound };
  const left = leftIn(f) ?? {};
  const { context } = f.state.budget;
  const words = told === undefined ? lastStepTokens : 0;
  const room = roomOf(f, query, left, context + words);
  // Who was told hears otherwise only if the words of that leave it true.
  const wide = told === undefined ? room : roomOf(f, query, left, context + 3 * lastStepTokens);
  const ending = endingOf(f, left, { ...room, ordinary: wide.ordinary });
  if (ending === undefined)
    return told === undefined
      ? askWithin(room.ordinary, room, bound)
      : { type: "tell", last: false, text: goOn };
  // One step was left when the last one was made, so another one is a child's that has come back.
  if (ending.over || (told === "asked" && ending.name !== "steps"))
    return { type: "refuse", reason: ending.reason };
  if (told === undefined) return { type: "tell", last: true, text: lastStep(ending.name) };
  return askWithin(room.all, room, bound);
}

/** What becomes of a machine's single model call, of which none is the last. */
export function judgeModelCall(f: Folding, query: ModelQuery): Exclude<Verdict, { type: "tell" }> {
  if (f.state.budget === undefined) return { type: "ask", with: {} };
  const left = leftIn(f) ?? {};
  const context = limits.requestTokens + limits.messageTokens + limits.partTokens + jsonBytes(query.request);
  const room = roomOf(f, query, left, context);
  const ending = endingOf(f, left, room);
  return ending?.over === true || ending?.name === "wallClockMs"
    ? { type: "refuse", reason: ending.reason }
    : askWithin(room.all, room, {});
}

/**
 * What becomes of a summary, which the decision after it can do without: only if there is room for both. It is told
 * as text what was sent as messages, and quoting may double that.
 */
export function judgeSummary(f: Folding, query: ModelQuery): Exclude<Verdict, { type: "tell" }> {
  const { budget } = f.state;
  if (budget === undefined) return { type: "ask", with: {} };
  const left = leftIn(f) ?? {};
  const room = roomOf(f, query, left, 2 * budget.context);
  const ending = endingOf(f, left, room);
  return ending === undefined
    ? askWithin(room.ordinary, room, {})
    : { type: "refuse", reason: ending.reason };
}

const askWithin = (
  outputTokensMax: number,
  room: Room,
  bound: { outputTokensMax?: number },
): { type: "ask"; with: Terms } => ({
  type: "ask",
  with: room.cost === undefined ? bound : { outputTokensMax, budget: room.cost(outputTokensMax) },
});

/** How much a model may write now. */
interface Room {
  /** If nothing needs to be kept for another decision. */
  readonly all: number;
  /** If one more must fit after it. */
  readonly ordinary: number;
  readonly want: number;
  /** Why not even a short answer fits. */
  readonly narrow: AmountName | undefined;
  /** What to reserve; undefined where tokens are not counted. */
  readonly cost?: (output: number) => Amounts;
}

function roomOf(f: Folding, { model, outputTokensMax }: ModelQuery, left: Amounts, input: number): Room {
  const { budget } = f.state;
  const want = outputTokensMax ?? limits.outputTokensMax;
  if (!countsTokens(budget)) return { all: want, ordinary: want, want, narrow: undefined };
  const price = budget.prices?.[model];
  const lastWords = Math.min(want, limits.lastStepTokens);
  const byTokens = left.tokens ?? Number.POSITIVE_INFINITY;
  const tokens = {
    all: byTokens - input,
    ordinary: (byTokens - 2 * input - lastWords) / 2,
  };
  const usd = left.usd === undefined ? undefined : roomInUsd(left.usd, input, lastWords, price);
  const cost = (output: number): Amounts => ({
    ...(left.tokens === undefined ? {} : { tokens: input + output }),
    ...(left.usd === undefined ? {} : { usd: usdBound(input, output, price) }),
  });
  const within = (bound: number, isEnough: (output: number) => boolean): number => {
    let output = Math.max(0, Math.floor(Math.min(want, bound)));
    while (output > 0 && !isEnough(output)) output -= 1; // A step or two: what was rounded.
    return output;
  };
  const usdFits = (output: number) =>
    left.usd === undefined || usdBound(input, output, price) <= left.usd || output === 0;
  const all = within(Math.min(tokens.all, usd?.all ?? Number.POSITIVE_INFINITY), usdFits);
  const ordinary = within(Math.min(all, tokens.ordinary, usd?.ordinary ?? Number.POSITIVE_INFINITY), usdFits);
  const short = Math.min(want, limits.outputTokensMin);
  const narrow = all >= short ? undefined : tokens.all < short ? "tokens" : "usd";
  return { all, ordinary, want, narrow, cost };
}

/** The most that a call costs. Where a model has no price nothing fits: the load refuses that. */
const usdBound = (input: number, output: number, price: ModelPrice | undefined): number =>
  price === undefined
    ? Number.MAX_SAFE_INTEGER
    : Math.ceil((input * inputPriceMax(price) + output * outputPrice(price)) * 1e9) / 1e9;

const outputPrice = (price: ModelPrice): number => price.outputPerMillion / 1e6;

function roomInUsd(
  left: number,
  input: number,
  lastWords: number,
  price: ModelPrice | undefined,
): { all: number; ordinary: number } {
  if (price === undefined) return { all: 0, ordinary: 0 };
  const [perInput, perOutput] = [inputPriceMax(price), outputPrice(price)];
  const share = (rest: number, per: number): number =>
    rest < 0 ? 0 : per === 0 ? Number.POSITIVE_INFINITY : rest / per;
  return {
    all: share(left - input * perInput, perOutput),
    ordinary: share(left - 2 * input * perInput - lastWords * perOutput, perInput + perOutput),
  };
}

/** Which limit ends with this decision, and whether it is over already; undefined while there is room for more. */
function endingOf(
  f: Folding,
  left: Amounts,
  room: Room,
): { name: AmountName | "wallClockMs"; over: boolean; reason: string } | undefined {
  const { budget } = f.state;
  const { limits: bounds, deadline } = budget ?? { limits: {}, deadline: undefined };
  if (left.steps !== undefined && left.steps < 1)
    return {
      name: "steps",
      over: true,
      reason: `another decision reserves 1 of steps, and ${leftOf(left, bounds, "steps")}`,
    };
  if (room.narrow !== undefined)
    return {
      name: room.narrow,
      over: true,
      reason: `another decision reserves ${reservationOf(room, limits.outputTokensMin, room.narrow)}, and ${leftOf(left, bounds, room.narrow)}`,
    };
  if (deadline !== undefined && f.at >= deadline)
    return {
      name: "wallClockMs",
      over: false,
      reason: `another decision needs time, and wallClockMs of this saga and those below it was over ${f.at - deadline} ms ago`,
    };
  if (left.steps !== undefined && left.steps < 2)
    return {
      name: "steps",
      over: false,
      reason: `one more decision reserves 1 of steps and leaves none to end with; ${leftOf(left, bounds, "steps")}`,
    };
  if (room.ordinary < Math.min(room.want, limits.decisionTokensMin)) {
    const name = left.tokens === undefined ? "usd" : "tokens";
    const next = reservationOf(room, limits.decisionTokensMin, name);
    const reason = `the last decision that the ${nameOf(name)} allow was made: one more reserves ${next} and leaves too little to end with; ${leftOf(left, bounds, name)}`;
    return { name, over: false, reason };
  }
  return undefined;
}

/** As a person and a model are told of it. */
export const nameOf = (name: AmountName): string => (name === "usd" ? "dollars" : name);

const lastStep = (name: AmountName | "wallClockMs"): string =>
  `This is your last step: the budget of ${name === "wallClockMs" ? "time" : nameOf(name)} is used up. ` +
  "Call finish with what you have, or undo what must not stand. Every other call is refused.";
const goOn = "The budget has room again. Go on as before.";
/** How much the words above add to the request. */
const lastStepTokens = limits.messageTokens + limits.partTokens + 400;

/** The cost of an attempt that was open, and what becomes of its reservation. */
export function settleCost(f: Folding, open: OpenIntent, result: Result, usage: Usage | undefined): void {
  const { intent } = open;
  if (intent.kind !== "model") return;
  charge(f, usage, intent.name);
  exceed(f, intent.budget, usage, intent.name);
  const { budget } = f.state;
  if (budget === undefined) return;
  if (usage === undefined && result.outcome === "cancelled" && intent.budget !== undefined)
    f.state.budget = withLost(budget, intent.budget); // Cut off before it told its cost.
  if (!countsTokens(budget) || result.outcome !== "succeeded") return;
  // A summary takes the place of what was longer, and stands in the next request.
  if (intent.input !== undefined) {
    f.state.budget = { ...budget, context: budget.context + (usage?.outputTokens ?? 0) };
    return;
  }
  const told = usage === undefined ? 0 : promptTokens(usage) + usage.outputTokens;
  const context = told > 0 ? told : budget.context + jsonBytes(result.output);
  f.state.budget = { ...budget, context };
}

/** Adds a model call's cost to what the saga has spent, superseded calls included. */
export function charge(f: Folding, usage: Usage | undefined, model: string): void {
  if (usage !== undefined) f.state.spent = spentWith(f.state.spent, usage, f.state.budget?.prices?.[model]);
}

/** What a call cost beyond its reservation is charged like the rest, and told apart. */
function exceed(f: Folding, reserved: Amounts | undefined, usage: Usage | undefined, model: string): void {
  const { budget } = f.state;
  const excess = excessOf(reserved, usage, budget?.prices?.[model]);
  if (budget === undefined || excess === undefined) return;
  f.state.budget = { ...budget, exceeded: addAmounts(budget.exceeded, excess) ?? excess };
}

/** The cost of a call that was over for the saga. */
export function payLate(f: Folding, call: LateCall, result: Result, usage: Usage | undefined): void {
  const { budget } = f.state;
  if (budget === undefined) return;
  const rest = withoutLate(budget, call);
  const isUnknown = usage === undefined && result.outcome === "cancelled";
  f.state.budget = isUnknown ? withLost(rest, call) : rest;
  charge(f, usage, call.model);
  exceed(f, reservedFor(call, rest.limits), usage, call.model);
}

/** Of what is limited: a late call says 0 of what is not. */
const reservedFor = ({ tokens, usd }: LateCall, { tokens: t, usd: u }: Amounts): Amounts => ({
  ...(t === undefined ? {} : { tokens }),
  ...(u === undefined ? {} : { usd }),
});

/**
 * An earlier attempt answers for the intent: its reservation ends with it, and that of the present attempt, which
 * may be running, stands until its own cost comes in.
 */
export function answeredBy(f: Folding, open: OpenIntent, attempt: number): void {
  const call = lateCallOf(f.state, open.intent.id, attempt);
  if (call === undefined || f.state.budget === undefined) return;
  const rest = withoutLate(f.state.budget, call);
  f.state.budget = mayHaveBegun(open, f.state.turn) ? withLate(rest, open) : rest;
}

/** What a decision that writes so many tokens at least reserves, of one limit, its input included. */
const reservationOf = ({ cost, want }: Room, output: number, name: AmountName): string =>
  `at least ${cost?.(Math.min(want, output))[name] ?? 0} ${nameOf(name)}`;

/** What is left, of how much, and whose it is. */
export const leftOf = (left: Amounts, bounds: Amounts, name: AmountName): string =>
  `${Math.max(0, left[name] ?? 0)} of ${bounds[name] ?? 0} are left in the pool of this saga and those below it`;

/**
 * Another attempt of a model call needs its reservation once more beside what the last one has cost. Why it may not
 * be made, or undefined.
 */
export function refusalOfRetry(f: Folding, { intent }: OpenIntent): string | undefined {
  if (intent.kind !== "model" || f.state.budget === undefined) return undefined;
  if ((leftIn(f)?.steps ?? 1) < 1) return refusalAgain(f, { steps: 1 }, "steps");
  return intent.budget !== undefined && !fits(f) ? refusalAgain(f, intent.budget) : undefined;
}

function refusalAgain(f: Folding, reserved: Amounts, short?: AmountName): string {
  const left = leftIn(f) ?? {};
  const name = short ?? amountNames.find((one) => (left[one] ?? 0) < 0) ?? "tokens";
  const before = { ...left, [name]: Math.max(0, (left[name] ?? 0) + (short ? 0 : (reserved[name] ?? 0))) };
  return `asking the model again reserves ${reserved[name] ?? 0} ${nameOf(name)}, and ${leftOf(before, f.state.budget?.limits ?? {}, name)}`;
}

/**
 * Another host takes over, or this one anew: the calls that were begun may run on somewhere, and may cost what was
 * reserved for them. Each is begun again as another attempt with a reservation of its own, if that fits; without a budget it
 * is only counted as asked for again.
 */
export function takeAdopted(f: Folding): void {
  for (const [id, open] of openEntries(f)) {
    if (!isOpen(open, "model") || !mayHaveBegun(open, f.state.turn)) continue;
    const { intent, actor, attempt, ask, lost = 0 } = open;
    if (intent.budget !== undefined && f.state.budget) f.state.budget = withLate(f.state.budget, open);
    const refusal = refusalOfRetry(f, open);
    if (refusal === undefined) {
      countStep(f);
      if (f.state.budget === undefined) continue; // The same attempt again: former versions decide so, too, and count one less.
      const asking = ask === undefined ? {} : { ask };
      f.intents.push({ kind: "retry", id, attempt: attempt + 1, notBefore: f.at, ...asking });
      changeOpen(f, open, { attempt: attempt + 1, notBefore: f.at, since: f.state.turn, lost: lost + 1 });
    } else {
      const error = actorError("denied", "BUDGET_EXCEEDED", refusal);
      endIntent(f, id, { as: error.outcome, code: error.code, reason: refusal });
      tellActor(f, actor, id, { error });
    }
  }
}
