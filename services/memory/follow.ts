/**
 * Following what happens on the server, as an async iterable: the shape of both follows, ledger and live.
 *
 * FW1 Listening begins with the call, not with the first item asked for.
 * FW2 Waking up says only that there may be more; what there is, is asked when the reader wants it.
 * FW3 The iteration ends with the signal, without an error, and stops listening however it ends.
 */
import type { ProcessGate } from "./gate.ts";

interface Source<T> {
  /** What there is since the last time. */
  readonly next: () => readonly T[];
  /** Listens; returns the end of it. */
  readonly watch: (wake: () => void) => () => void;
}

/** Follows the source as the process behind the gate can: not while it is cut off, and not once it is dead. */
export function follow<T>(
  gate: ProcessGate,
  signal: AbortSignal,
  { next, watch }: Source<T>,
): AsyncIterable<T> {
  let wake = () => {};
  let isWakeDue = false;
  const wakeSoon = () => {
    if (isWakeDue) return;
    isWakeDue = true;
    gate.reach(() => {
      isWakeDue = false;
      wake();
    });
  };
  const wakeAnew = () => {
    isWakeDue = false; // the one that was due may have been lost in the cut
    wakeSoon();
  };
  const unwatch = watch(wakeSoon);
  const detach = gate.attach({ wake: wakeAnew, end: unwatch });
  const end = () => {
    signal.removeEventListener("abort", end);
    unwatch();
    detach();
    gate.enter(() => wake());
  };
  signal.addEventListener("abort", end);
  if (signal.aborted) end();

  return (async function* () {
    try {
      while (!signal.aborted) {
        const woken = new Promise<void>((resolve) => (wake = resolve));
        const items = gate.isReachable() ? next() : []; // FW2
        for (const item of items) {
          if (signal.aborted) return;
          yield item;
        }
        if (items.length === 0) await woken;
      }
    } finally {
      end(); // FW3
    }
  })();
}
