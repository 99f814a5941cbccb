/**
 * Event: what a saga takes in, as text: `start`, `signal`, `adopted`, or how an attempt of an intent ended.
 */

/** `not`: nothing was performed, so another attempt may be; `failed`: it was given up. */
export type Outcome = "ok" | "doubt" | "not" | "failed";

export interface ResultEvent {
  readonly type: "result";
  readonly intent: number;
  readonly attempt: number;
  readonly outcome: Outcome;
}

export type Event = ResultEvent | { readonly type: "start" | "signal" | "adopted" };

/** As it stands in messages and turns. */
export type EventText = string;

export const resultText = (intent: number, attempt: number, outcome: Outcome): EventText =>
  `${intent}.${attempt}.${outcome}`;

const read = new Map<EventText, Event>(
  (["start", "signal", "adopted"] as const).map((type) => [type, { type }]),
);

/** The event that was written. */
export function readEvent(text: EventText): Event {
  const known = read.get(text);
  if (known !== undefined) return known;
  const [intent, attempt, outcome] = text.split(".");
  const event: Event = {
    type: "result",
    intent: Number(intent),
    attempt: Number(attempt),
    outcome: outcome as Outcome,
  };
  read.set(text, event);
  return event;
}

/** Whether two events are of one intent: then one of them waits for the next turn. */
export const concernsSame = (one: EventText, other: EventText): boolean => {
  const [a, b] = [readEvent(one), readEvent(other)];
  return a.type === "result" && b.type === "result" && a.intent === b.intent;
};
