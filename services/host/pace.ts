/**
 * Pace: how many inputs one turn of a saga takes, by how long the turns before it took to decide.
 *
 * PJ1 A turn that held its host for too long makes the next one smaller, one that did not lets it grow again. What one input
 *    takes cannot be cut, and what a turn takes whatever is in it is not made less by more turns: so too long is longer
 *    than a slice, and than half as long again as a turn of one input takes, as far as that is known.
 */
import { limits } from "../../protocol/limits.ts";

/** The pace of one saga. */
export interface Pace {
  /** How many inputs the next turn takes at most. */
  readonly size: () => number;
  /** A turn of so many events took so long to decide, milliseconds. */
  readonly took: (events: number, ms: number) => void;
}

/** What a turn of one input showed, once turns were made so small, is taken for less with each larger turn, so that it is looked at again: a crowd goes. */
const kept = 0.97;

/** As fast as any, until a turn says otherwise. */
export function createPace(): Pace {
  let size: number = limits.stepsPerTurnMax;
  let anyTurnMs = 0;
  return {
    size: () => size,
    took: (events, ms) => {
      anyTurnMs = size === 1 && events === 1 ? ms : Math.min(anyTurnMs, ms) * kept;
      const fairMs = Math.max(limits.turnHeldMs, 1.5 * anyTurnMs);
      if (ms > fairMs) size = Math.max(1, Math.floor((events * fairMs) / ms));
      else if (events >= size) size = Math.min(2 * size, limits.stepsPerTurnMax);
    },
  };
}
