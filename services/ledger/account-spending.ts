/**
 * Account of spending: what a saga and those below it have used, and what is reserved for what has not told its cost.
 */
import { usageOf } from "../../actors/kernel/settle.ts";
import { addAmounts, excessOf, nothingSpent, spentWith, sumOf } from "../../actors/kernel/spending.ts";
import { recallTool } from "../../actors/request/recall.ts";
import { type Amounts, BudgetRaise, dollars, type Spending } from "../../protocol/budget.ts";
import type { Closing } from "../../protocol/closing.ts";
import type { EventOf } from "../../protocol/event.ts";
import { type IntentId, turnOf } from "../../protocol/ids.ts";
import type { Intent } from "../../protocol/intent.ts";
import type { DecidedIntent, Reading, StepPlace, Telling } from "./account.ts";

/** Each attempt of a model call is one; one that never began is taken back. */
export function countStep(reading: Reading, change: 1 | -1): void {
  reading.spent = { ...reading.spent, steps: reading.spent.steps + change };
}

/** What the next host asks for again without another attempt, for there is no budget to reserve it from (takeAdopted). */
export function countAnew(reading: Reading, { turn }: StepPlace): void {
  for (const { intent } of reading.open.values())
    if (intent.kind === "model" && (reading.retriedIn.get(intent.id) ?? turnOf(intent.id)) < turn)
      countStep(reading, 1);
}

/** What counts as it is decided; a child that stands in line, as it begins. */
export function countIntent(reading: Reading, intent: DecidedIntent, inLine: boolean): void {
  const { toolCalls, children } = reading.spent;
  if (intent.kind === "model") countStep(reading, 1);
  if (intent.kind === "tool" && isCounted(intent))
    reading.spent = { ...reading.spent, toolCalls: toolCalls + 1 };
  if (intent.kind === "saga" && intent.undoes === undefined && !inLine)
    reading.spent = { ...reading.spent, children: children + 1 };
}

/** What undoes, what tells people of a task and what a model recalls of its own are no calls that a budget counts. */
const isCounted = ({ name, undoes, for: task, reads }: Extract<DecidedIntent, { kind: "tool" }>): boolean =>
  undoes === undefined && task === undefined && !(reads === true && name === recallTool.name);

/** What is reserved for an attempt as it begins. */
export function reserve(reading: Reading, intent: Intent): void {
  const decided = intent.kind === "retry" ? reading.intents.get(intent.id)?.intent : intent;
  if ((decided?.kind !== "model" && decided?.kind !== "saga") || decided.budget === undefined) return;
  reading.reserved.set(`${intent.id}#${intent.kind === "retry" ? intent.attempt : 1}`, decided.budget);
}

/** What a step tells of costs. */
export function takeSpending(reading: Reading, at: StepPlace): void {
  const { event } = at;
  takeRaise(reading, at);
  if (event.type === "forked") dropOrigins(reading, event);
  if (event.type !== "result") return;
  const { intent: id, attempt, result } = event;
  const told = reading.intents.get(id);
  const key = `${id}#${attempt}`;
  if (told?.intent.kind === "model") takeCost(reading, told, event);
  if (result.outcome !== "cancelled" || result.usage !== undefined) reading.reserved.delete(key);
  if (told?.intent.kind === "saga" && reading.open.has(id)) {
    const { budget } = told.intent;
    const used = event.spent ?? (budget === undefined ? undefined : allOf(budget));
    if (used !== undefined) reading.below = sumOf(reading.below, used);
  }
}

/** What an attempt of a model call has cost: once, and above its reservation as often as it is told. */
function takeCost(reading: Reading, told: Telling, { attempt, result }: EventOf<"result">): void {
  const { intent, ended } = told;
  if (intent.kind !== "model") return;
  const key = `${intent.id}#${attempt}`;
  const usage = usageOf(result);
  const price = pricesOf(reading)[intent.name];
  reading.exceeded = addAmounts(reading.exceeded, excessOf(reading.reserved.get(key), usage, price));
  if (reading.paid.has(key)) return;
  reading.paid.add(key);
  if (usage === undefined) return;
  const { usd: before } = reading.spent;
  const isLate = ended !== undefined && intent.budget === undefined;
  reading.spent = spentWith(reading.spent, usage, isLate ? undefined : price);
  const usd = dollars(reading.spent.usd - before);
  reading.changes.push({ type: "paid", intent: told, attempt, usage, usd });
}

/** What an event adds to the limits: the signal, a human's answer who was asked, what a child was given besides. */
function takeRaise(reading: Reading, { event, at }: StepPlace): void {
  const raise = (said: unknown) => {
    const more = BudgetRaise.safeParse(said).data;
    if (more !== undefined) reading.raises.push({ at, more, idleMs: 0 });
  };
  if (event.type === "forked") return void reading.raises.push({ at, more: {}, idleMs: event.idleMs });
  if (event.type === "signal" && event.name === "budget") return raise(event.data);
  if (event.type === "result" && event.spent?.raised !== undefined && reading.open.has(event.intent))
    return raise(event.spent.raised);
  if (event.type !== "task" || event.vote.vote !== "answer") return;
  const task = reading.open.get(event.intent)?.intent;
  if (task?.kind === "task" && task.about === "budget") raise(event.vote.answer);
}

const pricesOf = ({ start }: Reading) => start.prices ?? {};

/** A model that was asked and given up within one turn was never asked; a fork's is asked anew, and counted then. */
export function takeUnasked(
  reading: Reading,
  { id, kind }: DecidedIntent,
  { as, because }: Closing,
  { turn }: StepPlace,
): void {
  const isGivenUp = as === "cancelled" || as === "superseded";
  const began = reading.retriedIn.get(id) ?? turnOf(id);
  if (kind !== "model" || !isGivenUp || (because !== "forked" && began !== turn)) return;
  countStep(reading, -1);
}

/** What calls of the origin's may still cost is the origin's. */
function dropOrigins(reading: Reading, { answered = [] }: EventOf<"forked">): void {
  const isAnswered = new Set<string>(answered);
  for (const key of reading.reserved.keys()) {
    const id = key.slice(0, key.indexOf("#")) as IntentId;
    if (reading.intents.get(id)?.intent.kind === "model" && !isAnswered.has(id)) reading.reserved.delete(key);
  }
}

/** What it used is not reported, so it may have used all of it. */
const allOf = ({ steps = 0, tokens = 0, usd = 0, toolCalls = 0, children = 0 }: Amounts): Spending => ({
  ...nothingSpent,
  ...{ steps, usd, toolCalls, children },
  unreportedTokens: tokens,
});
