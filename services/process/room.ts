/**
 * Room: so many at once and no more: a host's effects in flight, child processes that are starting. A caller that
 * finds no place free waits in order of arrival.
 */
import { createWaitingLine } from "./waiting-line.ts";

export interface Room {
  /**
   * Undefined if there is a place, else the wait for one, which rejects with the signal's reason when aborted: then
   * no place was taken. The signal is only read for a wait: a CutOff makes its signal when it is asked for.
   */
  enter(waiter: { readonly signal: AbortSignal }): Promise<void> | undefined;
  /** Gives a place back. To be called once for each that was taken. */
  readonly leave: () => void;
  readonly taken: () => number;
}

/** A room of so many places. */
export function createRoom(placesMax: number): Room {
  const line = createWaitingLine<void>();
  let taken = 0;
  return {
    enter: (waiter) => {
      if (taken >= placesMax) return line.wait(waiter.signal);
      taken += 1;
      return undefined;
    },
    // A place is handed over rather than freed, so a caller that comes now is not before those that wait.
    leave: () => {
      if (!line.letIn()) taken -= 1;
    },
    taken: () => taken,
  };
}
