/**
 * Admit: how many may begin now, and when the rest should ask again. Pure.
 *
 * AT1 At most `atOnce` permits are held at any time by processes that are believed to live.
 * AT2 Starts are spaced by the rate: in no second do more than `perSecond` begin, whichever process asks.
 * AT3 A process that found nothing free is before those that come back for more.
 */
import type { ThrottleLimits, ThrottleState } from "../../protocol/throttle.ts";

/** A permit, or a place in the queue, that was not renewed for this long belongs to a process that died. */
export const permitLeaseMs = 15_000;
/** A process that waits for a permit or a pause's end looks again after this; a freed permit is idle no longer. */
const lookAgainMs = 250;
/** Starts are given ahead for this long, so that one exchange with the server serves several. */
const aheadMs = 500;

/** An entry that bounds nothing and holds nothing. */
export const openThrottle: ThrottleState = { v: 1, held: {}, queue: [] };

/** The entry as it is to be, and what it means for the process that asked. */
export interface Admission {
  readonly state: ThrottleState;
  /** When each may begin; as many as are let in, the first first. */
  readonly startAt: readonly number[];
  /** How long to wait before asking for the rest; undefined if there is none. */
  readonly waitMs: number | undefined;
}

/** One process that asks. */
export interface Asking {
  readonly who: string;
  readonly wanted: number;
  /** Permits that `who` holds, by its own count: an answer may have been lost. */
  readonly holds: number;
  /** The server's time. */
  readonly now: number;
}

/** Puts down what `who` holds, and lets in up to `wanted` more. */
export function admit(before: ThrottleState, limits: ThrottleLimits, asking: Asking): Admission {
  const { who, wanted, now } = asking;
  const state = broughtUpToDate(before, asking);
  const later = (waitMs: number): Admission => ({ state, startAt: [], waitMs });
  if (wanted === 0) return { state, startAt: [], waitMs: undefined };
  if (state.paused !== undefined) return later(lookAgainMs);
  if (state.notBefore !== undefined && state.notBefore > now)
    return later(Math.min(state.notBefore - now, lookAgainMs));
  const room = roomFor(state, limits.atOnce, asking);
  const { startAt, nextAt } = spaced(state.nextAt, limits.perSecond, room, now);
  const entered = startAt.length;
  const own = asking.holds + entered;
  const others = state.queue.filter((waiting) => waiting.who !== who);
  const counts = limits.atOnce !== undefined;
  return {
    state: {
      ...state,
      ...(nextAt === undefined ? {} : { nextAt }),
      held:
        counts && entered > 0
          ? { ...state.held, [who]: { count: own, until: now + permitLeaseMs } }
          : state.held,
      queue: queueAfter(state, asking, { others, wantsMore: counts && room < wanted, served: entered > 0 }),
    },
    startAt,
    waitMs:
      entered === wanted ? undefined : entered < room ? Math.max(1, nextAt! - now - aheadMs) : lookAgainMs,
  };
}

/** AT3: a process before us in the queue is sure of one permit. */
function roomFor(
  { held, queue }: ThrottleState,
  atOnce: number | undefined,
  { who, wanted }: Asking,
): number {
  if (atOnce === undefined) return wanted;
  const used = Object.values(held).reduce((sum, { count }) => sum + count, 0);
  const place = queue.findIndex((waiting) => waiting.who === who);
  const ahead = place < 0 ? queue.length : place;
  return Math.max(0, Math.min(wanted, atOnce - used - ahead));
}

/** A process that was served and wants more stands at the end; one that was not keeps its place. */
function queueAfter(
  { queue }: ThrottleState,
  { who, now }: Asking,
  { others, wantsMore, served }: { others: ThrottleState["queue"]; wantsMore: boolean; served: boolean },
): ThrottleState["queue"] {
  if (!wantsMore) return others;
  const entry = { who, until: now + permitLeaseMs };
  const isIn = others.length < queue.length;
  return isIn && !served
    ? queue.map((waiting) => (waiting.who === who ? entry : waiting))
    : [...others, entry];
}

/** AT2. */
function spaced(
  last: number | undefined,
  perSecond: number | undefined,
  room: number,
  now: number,
): { startAt: number[]; nextAt: number | undefined } {
  if (perSecond === undefined) return { startAt: Array.from({ length: room }, () => now), nextAt: last };
  const startAt: number[] = [];
  let nextAt = Math.max(last ?? now, now);
  for (; startAt.length < room && nextAt <= now + aheadMs; nextAt += 1_000 / perSecond) startAt.push(nextAt);
  return { startAt, nextAt };
}

/** Without what was not renewed, and with what `who` says it holds. */
function broughtUpToDate(state: ThrottleState, { who, holds, now }: Asking): ThrottleState {
  const { [who]: _own, ...others } = state.held;
  const living = Object.fromEntries(Object.entries(others).filter(([, { until }]) => until > now));
  return {
    ...state,
    held: holds > 0 ? { ...living, [who]: { count: holds, until: now + permitLeaseMs } } : living,
    queue: state.queue.filter((waiting) => waiting.until > now),
  };
}
