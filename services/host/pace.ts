/**
 * Pace: how many inputs one turn of a saga takes, by how long the turns before it took to decide.
 *
 * PJ1 A turn that held its host for longer than its slice makes the next one smaller, down to one input; one that did not
 *    lets it grow again. What one input takes cannot be cut: that is the floor.
 */
import { limits } from "../../protocol/limits.ts";

/** The pace of one saga. */
export interface Pace {
  /** How many inputs the next turn takes at most. */
  readonly size: () => number;
  /** A turn of so many events took so long to decide, milliseconds. */
  readonly took: (events: number, ms: number) => void;
}

/** As fast as any, until a turn says otherwise. */
export function createPace(): Pace {
  let size: number = limits.stepsPerTurnMax;
  return {
    size: () => size,
    took: (events, ms) => {
      if (ms > limits.turnHeldMs) size = Math.max(1, Math.floor((events * limits.turnHeldMs) / ms));
      else if (events >= size) size = Math.min(2 * size, limits.stepsPerTurnMax);
    },
  };
}
