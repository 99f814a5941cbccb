/** Happened: what a timeline holds, put together from what the server sends. */
import type { TimelineDocument, TimelineItem } from "../documents.ts";
import type { Span } from "./scale.ts";

/** A timeline with what a later look brought: items that were known are replaced, new ones stand behind. */
export function merged(known: TimelineDocument, news: TimelineDocument): TimelineDocument {
  const changed = new Map(news.items.map((item) => [item.id, item]));
  const items = known.items.map((item) => {
    const now = changed.get(item.id);
    changed.delete(item.id);
    return now ?? item;
  });
  return { ...news, items: changed.size === 0 ? items : [...items, ...changed.values()] };
}

/** What was known after a turn: nothing later, and no outcome that a later turn brought. */
export const asOf = (items: readonly TimelineItem[], turn: number): TimelineItem[] =>
  items.filter((item) => item.turn <= turn).map((item) => itemAsOf(item, turn));

/** What was known of another saga at a moment: after the last of its turns that was no later. */
export function asOfMoment(items: readonly TimelineItem[], moment: number): TimelineItem[] {
  const turns = items.flatMap(({ turn, at, settledTurn = 0, until = Number.POSITIVE_INFINITY, was = [] }) => [
    ...(at <= moment ? [turn] : []),
    ...(until <= moment ? [settledTurn] : []),
    ...was.flatMap((one) => (one.until <= moment ? [one.turn] : [])),
  ]);
  return asOf(
    items,
    turns.reduce((last, turn) => Math.max(last, turn), 0),
  );
}

function itemAsOf(item: TimelineItem, turn: number): TimelineItem {
  if (item.changed <= turn) return item;
  const { until: _until, settledTurn: _settled, reason: _reason, was = [], by: _by, ...rest } = item;
  const then = was.findLast((one) => one.turn <= turn);
  if (then !== undefined) return { ...rest, status: then.status, until: then.until, settledTurn: then.turn };
  const { words: _words, tokens: _tokens, usd: _usd, ...open } = rest;
  // An end is one as soon as it is decided; what is open then is that its parent hears of it.
  return { ...open, status: item.kind === "end" ? item.status : "open" };
}

const waits: ReadonlySet<string> = new Set(["timer", "task", "pause", "end"]);

/** Whether it is time in which nothing is done here. */
export const isWait = ({ kind, deferred }: TimelineItem): boolean => waits.has(kind) || deferred === true;

/** When it went on; something without a length is a moment. */
export const spanOf = (item: TimelineItem, now: number): Span => ({
  at: item.at,
  until: item.until ?? (item.status === "open" ? Math.max(now, item.at) : item.at),
});

/** When something went on, and not only waited. A moment counts for a little, so that it is seen. */
export const busyIn = (items: readonly TimelineItem[], now: number): Span[] =>
  items.flatMap((item) => {
    const { at, until } = spanOf(item, now);
    if (!isWait(item) && item.kind !== "child") return [{ at, until: Math.max(until, at + 1) }];
    // A wait is folded between its two ends.
    return [
      { at, until: at + 1 },
      { at: until, until: until + 1 },
    ];
  });
