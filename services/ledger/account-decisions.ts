/**
 * Account of decisions: their numbers, what each proposed, what was new to it, and which one took the place of another.
 *
 * "New" is what came in since the decision before: whether the model was shown a signal that its definition ignores, only
 * the definition tells.
 */
import type { Event } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { Intent } from "../../protocol/intent.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { News, Reading, StepPlace } from "./account.ts";

/** Of an agent: what a machine asks a model, and a summary, carry an input. */
export const isDecision = (intent: Intent): boolean => intent.kind === "model" && intent.input === undefined;

/** A call's id is `<decision's number>.<place in its reply>`. */
export const stepOfCall = (call: string): number => Number(call.slice(0, call.indexOf(".")));

/** The intent that an event is about. */
export const intentOfEvent = (event: Event): IntentId | undefined =>
  "intent" in event ? event.intent : undefined;

/** What came in with a step. */
export function takeNews(reading: Reading, at: StepPlace): void {
  const { event } = at;
  const told = newsOf(reading, at);
  if (told !== undefined) reading.fresh.push(told);
  if (event.type !== "result") return;
  reading.answered.add(event.intent);
  const number = reading.numbers.get(event.intent);
  const reply =
    number === undefined || event.result.outcome !== "succeeded"
      ? undefined
      : ModelReply.safeParse(event.result.output).data;
  // A superseded decision that has answered late proposes nothing: its calls have no intents.
  for (const [k, { input }] of (reply?.calls ?? []).entries()) reading.inputs.set(`${number}.${k}`, input);
}

/** In a fork, and under another definition, what a model was still asked is asked anew, with all that was new to it. */
export function askAnew(reading: Reading, { event }: StepPlace): void {
  const answered = event.type === "forked" ? (event.answered ?? []) : [];
  const open = reading.decisions.at(-1);
  if (open === undefined || reading.answered.has(open) || answered.includes(open)) return;
  reading.decisions.pop();
  reading.withdrawn = open;
  reading.fresh = [...(reading.news.get(open) ?? []), ...reading.fresh];
}

export function askDecision(reading: Reading, id: IntentId): void {
  const before = reading.withdrawn ?? reading.decisions.at(-1);
  if (before !== undefined && !reading.answered.has(before)) reading.superseded.set(id, before);
  reading.withdrawn = undefined;
  reading.decisions.push(id);
  reading.numbers.set(id, reading.decisions.length);
  reading.news.set(id, reading.fresh);
  reading.fresh = [];
}

/** What an event tells a decision that comes after it, if anything. */
function newsOf({ intents: known }: Reading, at: StepPlace): News | undefined {
  const { event, intents, closed } = at;
  if (event.type === "adopted" || event.type === "deferred") return undefined;
  if (!("intent" in event)) return { at, intent: undefined }; // From outside.
  const intent = known.get(event.intent)?.intent;
  if (intent === undefined || isDecision(intent)) return undefined;
  if ("for" in intent && intent.for !== undefined) return undefined; // It serves a task: no model is told of it.
  const isPassedOn = intents.some(
    (next) =>
      (next.kind === "retry" && next.id === event.intent) ||
      (next.kind === "task" && (next.of === event.intent || next.after?.task === event.intent)) ||
      (intent.kind === "task" && "call" in next && next.call !== undefined && next.call === intent.call),
  );
  if (isPassedOn) return undefined;
  if (intent.kind === "task" && !closed.some((one) => one.intent === event.intent)) return undefined;
  return { at, intent: event.intent };
}
