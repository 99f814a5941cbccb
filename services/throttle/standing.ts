/**
 * Standing: what the throttles hold back now, for who looks. Pure.
 */
import { decode } from "../../protocol/codec.ts";
import { throttledOf, type ThrottleStanding, ThrottleState } from "../../protocol/throttle.ts";

/** Of each entry that bounds something at this time of the server; what cannot be read bounds nothing. */
export function standingOf(
  entries: readonly { key: string; data: Uint8Array }[],
  now: number,
): ThrottleStanding[] {
  return entries.flatMap(({ key, data }) => {
    const what = throttledOf(key);
    const state = stateIn(data);
    if (what === undefined || state === undefined) return [];
    const { paused, notBefore = 0, nextAt = 0 } = state;
    const held = Object.values(state.held)
      .filter(({ until }) => until > now)
      .reduce((sum, { count }) => sum + count, 0);
    const waiting = state.queue.filter(({ until }) => until > now).length;
    const one: ThrottleStanding = {
      ...{ ...what, held, waiting },
      ...(notBefore > now ? { closedMs: notBefore - now } : {}),
      ...(nextAt > now ? { nextMs: nextAt - now } : {}),
      ...(paused === undefined ? {} : { paused }),
    };
    const isBounded = held > 0 || waiting > 0 || notBefore > now || nextAt > now || paused !== undefined;
    return isBounded ? [one] : [];
  });
}

function stateIn(data: Uint8Array): ThrottleState | undefined {
  try {
    return ThrottleState.parse(decode(data));
  } catch {
    return undefined; // No process reads it either.
  }
}
