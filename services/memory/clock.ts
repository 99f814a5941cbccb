/**
 * Virtual time: what happens next, happens now.
 *
 * Owns: the queue of everything that is due, and the order in which it comes about. Used by every part of the
 * memory mesh, and by the code that drives it: testMesh, the simulator, tests.
 *
 * CK1 Time moves only here, and only forwards, from one due event to the next. No real timer is involved.
 * CK2 Before an event fires, everything the one before it set off has run to where it waits again. So a run is
 *     a sequence, and the same seed is the same sequence.
 * CK3 Events due at the same millisecond fire in the order in which they were made.
 * CK4 Runs take turns: one that is begun while another goes on waits for its end. So what an event sets off
 *     must not wait for a run.
 */
import { assert, MeshError } from "../../protocol/errors.ts";
import type { Clock } from "../wire/ports.ts";

/** Takes an event back. Nothing happens if it has fired. */
export type Cancel = () => void;

/** Why a run ended: nothing is left, the time is reached, or the caller's condition holds. */
export type RunEnd = "empty" | "until" | "idle";

export interface VirtualClock extends Clock {
  /** Fires at the time, or at once if it is past. What the callback sets off runs before the next event. */
  at(dueAt: number, fire: () => void): Cancel;
  /**
   * As `at`, for callbacks that wake no promise: the server's own doings. They cost no turn of the event loop,
   * which is most of what an event costs.
   */
  quietlyAt(dueAt: number, fire: () => void): Cancel;
  /** Lets events come about: up to and with the time `until`, until `idle()` holds, or until none is left. */
  run(options?: { until?: number; idle?: () => boolean }): Promise<RunEnd>;
  /** Lets `ms` milliseconds go by, with all that happens in them. */
  advance(ms: number): Promise<void>;
  /**
   * Lets events come about until the promise settles, and is settled as it is. Throws INTERNAL if nothing is
   * left that could settle it, where waiting would be for ever.
   */
  until<T>(work: Promise<T>): Promise<T>;
  /**
   * Time stands still until the promise settles: for what takes real time, as a user's tool may that reads a
   * file. What is held must not wait for virtual time, which would be for ever.
   */
  hold<T>(work: Promise<T>): Promise<T>;
  /** How many events are due some time. */
  pending(): number;
}

/** The first moment of a mesh that names none. */
export const startMsDefault = Date.UTC(2026, 0, 1);

/** So many events without time moving are a loop that never waits. */
const eventsPerMomentMax = 100_000;

/** Captured when loaded, so that a test's fake timers do not stop virtual time. */
const nextTurnOfLoop = setImmediate;

/** A clock that stands still until it is driven. */
export function createVirtualClock(startMs = startMsDefault): VirtualClock {
  const queue = createEventQueue();
  let now = startMs;
  let lastRun: Promise<unknown> = Promise.resolve();
  const held = new Set<Promise<unknown>>();

  const add = (dueAt: number, fire: () => void, isQuiet: boolean): Cancel => {
    assert(!Number.isNaN(dueAt), "an event has a time");
    return queue.push(Math.max(now, Math.ceil(dueAt)), fire, isQuiet);
  };

  function run({ until, idle }: { until?: number; idle?: () => boolean } = {}): Promise<RunEnd> {
    const next = lastRun.then(() => loop(until ?? Infinity, idle)); // CK4
    lastRun = next.catch(() => {}); // the caller that began the run hears of it
    return next;
  }

  async function loop(until: number, idle: (() => boolean) | undefined): Promise<RunEnd> {
    let inThisMoment = 0;
    await settled(); // what the caller has begun may add the first event
    for (;;) {
      while (held.size > 0) await Promise.race(held).then(settled);
      if (idle?.() === true) return "idle";
      const next = queue.peek();
      if (next === undefined || next.dueAt > until) {
        if (until !== Infinity) now = Math.max(now, until);
        return next === undefined ? "empty" : "until";
      }
      inThisMoment = next.dueAt > now ? 0 : inThisMoment + 1;
      assert(inThisMoment < eventsPerMomentMax, "whatever repeats, waits in between");
      now = next.dueAt;
      queue.pop();
      next.state = "fired";
      next.fire();
      if (!next.isQuiet) await settled(); // CK2
    }
  }

  return {
    now: () => now,
    elapsed: () => now,
    sleep: (ms, signal) => sleepUntil((fire) => add(now + Math.max(0, ms), fire, false), signal),
    after: (ms, fire) => add(now + Math.max(0, ms), fire, false),
    at: (dueAt, fire) => add(dueAt, fire, false),
    quietlyAt: (dueAt, fire) => add(dueAt, fire, true),
    run,
    advance: async (ms) => {
      await lastRun; // the time is counted from when it begins to pass
      await run({ until: now + ms });
    },
    until: async (work) => {
      let isSettled = false;
      const settle = () => (isSettled = true);
      work.then(settle, settle);
      await run({ idle: () => isSettled });
      if (!isSettled)
        throw new MeshError("INTERNAL", "nothing is left to happen, and what was waited for has not");
      return work;
    },
    hold: (work) => {
      const end = work.then(
        () => void held.delete(end),
        () => void held.delete(end), // the caller has the promise itself
      );
      held.add(end);
      return work;
    },
    pending: queue.size,
  };
}

/**
 * A promise of the time that `arm` sets; rejects with the signal's reason when aborted. `enter` lets either
 * reach the sleeper, or not.
 */
export const sleepUntil = (
  arm: (fire: () => void) => Cancel,
  signal: AbortSignal | undefined,
  enter: (act: () => void) => void = (act) => act(),
): Promise<void> =>
  new Promise((resolve, reject) => {
    const refuse = () => enter(() => reject(signal?.reason));
    if (signal?.aborted === true) return refuse();
    const abort = () => {
      cancel();
      refuse();
    };
    const cancel = arm(() => {
      signal?.removeEventListener("abort", abort);
      enter(resolve);
    });
    signal?.addEventListener("abort", abort, { once: true });
  });

/** Promise chains of any length end before the event loop turns; a counted number of awaits would guess. */
const settled = (): Promise<void> => new Promise((resolve) => void nextTurnOfLoop(resolve));

interface DueEvent {
  readonly dueAt: number;
  readonly order: number;
  readonly fire: () => void;
  readonly isQuiet: boolean;
  state: "due" | "cancelled" | "fired";
}

const isBefore = (a: DueEvent, b: DueEvent): boolean =>
  a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order);

/** A binary heap by time, then by age. A cancelled event stays in it until its turn: most leases end that way. */
function createEventQueue() {
  const heap: DueEvent[] = [];
  let made = 0;
  let cancelled = 0;

  const siftUp = (event: DueEvent) => {
    let at = heap.push(event) - 1;
    for (let above = (at - 1) >> 1; at > 0 && isBefore(event, heap[above]!); above = (at - 1) >> 1) {
      heap[at] = heap[above]!;
      at = above;
    }
    heap[at] = event;
  };
  const siftDown = (event: DueEvent) => {
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below += 1;
      if (!isBefore(heap[below]!, event)) break;
      heap[at] = heap[below]!;
      at = below;
    }
    heap[at] = event;
  };
  const pop = () => {
    const last = heap.pop();
    if (last !== undefined && heap.length > 0) siftDown(last);
  };

  return {
    push: (dueAt: number, fire: () => void, isQuiet: boolean): Cancel => {
      const event: DueEvent = { dueAt, order: made++, fire, isQuiet, state: "due" };
      siftUp(event);
      return () => {
        if (event.state !== "due") return;
        event.state = "cancelled";
        cancelled += 1;
      };
    },
    peek: (): DueEvent | undefined => {
      while (heap[0]?.state === "cancelled") {
        cancelled -= 1;
        pop();
      }
      return heap[0];
    },
    pop,
    size: (): number => heap.length - cancelled,
  };
}
