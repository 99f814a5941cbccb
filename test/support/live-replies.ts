/** What a listener of a saga's live lane has heard, and had on its screen. */
import type { LiveEvent } from "../../services/client/live.ts";

/** The text of each reply as a listener has it in the end, and what was on its screen when it settled. */
export function repliesOf(
  events: readonly LiveEvent[],
): { text: string; screen: string; streamed: number }[] {
  const replies = [];
  let screen = "";
  let streamed = 0;
  for (const event of events) {
    if (event.type === "token" && event.kind === "text") {
      screen += event.piece;
      streamed += 1;
    }
    if (event.type === "retracted") screen = "";
    if (event.type !== "settled") continue;
    replies.push({ text: event.text, screen: screen + event.rest, streamed });
    screen = "";
    streamed = 0;
  }
  return replies;
}

/** All events up to the last, each told on the way. */
export async function collect(
  events: AsyncIterable<LiveEvent>,
  each: (event: LiveEvent) => void = () => undefined,
): Promise<LiveEvent[]> {
  const all: LiveEvent[] = [];
  for await (const event of events) {
    all.push(event);
    each(event);
  }
  return all;
}
