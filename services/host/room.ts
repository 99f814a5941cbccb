/**
 * Room: how many effects a host has in flight at once. Whoever finds none free waits in order.
 */
import type { CutOff } from "../perform/cut-off.ts";
import { createWaitingLine } from "../wire/waiting-line.ts";

export interface Room {
  /** Undefined if there is room, else the wait for it, which rejects when cut off; then nothing is to be left. */
  enter(cutOff: CutOff): Promise<void> | undefined;
  readonly leave: () => void;
  readonly taken: () => number;
}

export function createRoom(placesMax: number): Room {
  const line = createWaitingLine<void>();
  let taken = 0;
  return {
    enter: (cutOff) => {
      if (taken >= placesMax) return line.wait(cutOff.signal);
      taken += 1;
      return undefined;
    },
    // A place is handed over rather than freed, so nobody who comes now is before those who wait.
    leave: () => {
      if (!line.letIn()) taken -= 1;
    },
    taken: () => taken,
  };
}
