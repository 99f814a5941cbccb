/**
 * Room: how many effects a host has in flight at once. Whoever finds none free waits in order.
 */
import type { CutOff } from "../perform/cut-off.ts";

export interface Room {
  /** Undefined if there is room, else the wait for it, which rejects when cut off; then nothing is to be left. */
  enter(cutOff: CutOff): Promise<void> | undefined;
  readonly leave: () => void;
  readonly taken: () => number;
}

export function createRoom(placesMax: number): Room {
  const waiting = new Set<() => void>();
  let taken = 0;

  const waitFor = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const enter = () => {
        waiting.delete(enter);
        signal.removeEventListener("abort", abort);
        resolve();
      };
      const abort = () => {
        waiting.delete(enter);
        reject(signal.reason as Error);
      };
      waiting.add(enter);
      signal.addEventListener("abort", abort, { once: true });
    });

  return {
    enter: (cutOff) => {
      if (taken >= placesMax) return waitFor(cutOff.signal);
      taken += 1;
      return undefined;
    },
    // A place is handed over rather than freed, so nobody who comes now is before those who wait.
    leave: () => {
      const [next] = waiting;
      if (next === undefined) taken -= 1;
      else next();
    },
    taken: () => taken,
  };
}
