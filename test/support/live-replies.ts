/** What a listener of a saga's live lane has heard, and had on its screen. */
import type { LiveEvent } from "../../services/client/live.ts";

/** The text of each reply as a listener has it in the end, and what was on its screen when it settled. */
export function repliesOf(
  events: readonly LiveEvent[],
): { text: string; screen: string; streamed: number }[] {
  const replies = [];
  /** By intent: the words of a later reply may come before the ledger has settled an earlier one. */
  const shown = new Map<string, { screen: string; streamed: number }>();
  for (const event of events) {
    if (event.type === "turn" || event.type === "progress") continue;
    const { intent } = event;
    const { screen, streamed } = shown.get(intent) ?? { screen: "", streamed: 0 };
    if (event.type === "token" && event.kind === "text")
      shown.set(intent, { screen: screen + event.piece, streamed: streamed + 1 });
    if (event.type === "retracted") shown.set(intent, { screen: "", streamed });
    if (event.type !== "settled") continue;
    replies.push({ text: event.text, screen: screen + event.rest, streamed });
    shown.delete(intent);
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
