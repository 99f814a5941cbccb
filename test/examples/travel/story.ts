/**
 * The journey's ledger alone, turn by turn: who was started answers what is said here, in the order that a test says.
 */
import type { Event } from "../../../protocol/event.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import type { Intent } from "../../../protocol/intent.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { Story } from "sagamesh/testing";
import { placeOf } from "./agents.ts";

/** The calls whose undoing the ledger decided, in order, each time it did: `T3.1` is the first run of T3. */
export function undoneIn(turns: readonly Turn[]): string[] {
  const intents = turns.flatMap(({ steps }) => steps.flatMap((step) => step.intents));
  const calls = new Map(intents.map((one) => [one.id, callOf(one)]));
  return intents.flatMap((one) => {
    const undoes = undoesOf(one);
    return undoes === undefined ? [] : [calls.get(undoes) ?? ""];
  });
}
const callOf = (intent: Intent): string => ("call" in intent ? (intent.call ?? "") : "");
const undoesOf = (intent: Intent): IntentId | undefined => ("undoes" in intent ? intent.undoes : undefined);
export const nodeOf = (call = ""): string => call.slice(0, call.lastIndexOf("."));

const span = { id: "x", start: "2025-06-03T08:00:00.000Z", end: "2025-06-03T09:00:00.000Z" };
const reserved = (call: string) => ({
  ...{ confirmation_number: call, booking_reference: call, total_cost: 100, payment: 100 },
  ...{ cancellation_policy: "free", reservation_status: "confirmed" },
});
/** What an agent says of a booking that it made. */
const bookedBy = (call: string): unknown => {
  const node = nodeOf(call);
  const { kind = "flight", place = "" } = placeOf[node] ?? {};
  if (kind === "flight") return { flight_details: { ...span, place }, ...reserved(call) };
  if (kind === "hotel")
    return { hotel_details: { ...span, place, stars: 4 }, room_type: "double", ...reserved(call) };
  return {
    ...{ train_details: { ...span, place }, seat_res: "1", total_cost: 100, ticket_status: "issued" },
    ...{
      schedule_details: { start: span.start, end: span.end },
      booking_reference: call,
      refund_policy: "free",
    },
  };
};

const accepted = (validator: string) => ({
  ...{ verdict: "accept", validator, by: "code", judged: "j", shown: { digest: "d", tokens: 1 } },
});

/** What answers an open call: the booking is made or given back, the judge says yes, the planner has nothing to change. */
function answerTo(intent: Intent): unknown {
  if (undoesOf(intent) !== undefined) return { standing: [] };
  const call = callOf(intent);
  if (call.startsWith("judge.")) return accepted("name" in intent ? intent.name : "");
  return call.startsWith("plan.") ? {} : bookedBy(call);
}

/** The oldest open call ends well; undefined if nothing is open. */
export function step(story: Story): Story | undefined {
  if (story.end !== undefined) return undefined;
  const open = story.open.map((id) => story.state.open[id]).find((one) => one?.intent.kind === "saga");
  if (open === undefined) return undefined;
  const { id } = open.intent;
  const books = undoesOf(open.intent) === undefined && callOf(open.intent).startsWith("T");
  const event: Event = {
    ...{ type: "result", intent: id, attempt: open.attempt, by: "test" },
    result: {
      ...{ outcome: "succeeded", output: answerTo(open.intent) as never },
      ...(books ? { undoable: true } : {}),
    },
  };
  return story.when(event);
}

export function drained(story: Story): Story {
  for (let next: Story | undefined = story; next !== undefined; next = step(story)) story = next;
  return story;
}
