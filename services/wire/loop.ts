/**
 * Loop: the event loop of this process, as long work shares it with all else that goes on here.
 *
 * LQ1 Of all that waits for its next turn one goes on in a turn of the loop, in order of asking: two long works hold it for
 *    no longer together than one alone.
 */
import { limits } from "../../protocol/limits.ts";
import type { LoopPort } from "./ports.ts";

/** What a loop is made of: a time that only grows, in milliseconds, and the loop's next turn. */
export interface LoopParts {
  readonly now: () => number;
  readonly nextTurn: (act: () => void) => void;
}

/** A loop that is given way to once work has held it for `limits.loopHeldMs`. */
export function createLoop({ now, nextTurn }: LoopParts): LoopPort {
  const waiting: (() => void)[] = [];
  let heldSince = Number.NEGATIVE_INFINITY;
  const goOn = () => {
    heldSince = now();
    waiting.shift()?.();
    if (waiting.length > 0) nextTurn(goOn); // LQ1
  };
  return {
    breathe: () =>
      now() - heldSince < limits.loopHeldMs
        ? undefined
        : new Promise((resolve) => {
            if (waiting.push(resolve) === 1) nextTurn(goOn);
          }),
  };
}

/** This process's own. */
export const processLoop: LoopPort = createLoop({
  now: () => performance.now(),
  nextTurn: (act) => void setImmediate(act),
});

/** Takes work that is in pieces to its end at once: where it is short, or where nothing else goes on in its process. */
export function atOnce<T>(work: Generator<unknown, T>): T {
  for (;;) {
    const piece = work.next();
    if (piece.done === true) return piece.value;
  }
}

/** Takes work that is in pieces to its end, and gives way between them. Without a loop it goes on at once. */
export async function inPieces<T>(loop: LoopPort | undefined, work: Generator<unknown, T>): Promise<T> {
  for (;;) {
    const piece = work.next();
    if (piece.done === true) return piece.value;
    const wait = loop?.breathe();
    if (wait !== undefined) await wait;
  }
}
