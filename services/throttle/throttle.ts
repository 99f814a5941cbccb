/**
 * Throttle: this process's share of what may be used only so fast over the mesh.
 *
 * Owns: the line of what waits here, one exchange with the server at a time per tool or model, and renewing the permits
 * held. Used by hosts for models, by workers for tools. Does not own: the arithmetic (admit.ts).
 *
 * TT1 A caller that is let in ends by calling what `enter` gave, however it ends; a process that dies has its permits
 *     taken back after their lease.
 * TT2 What has no bound costs a look at an entry that is a second old at most, and no write.
 * TT3 While the server does not answer no caller is let in, and nothing is thrown: the wait goes on.
 */
import { describeError } from "../../protocol/errors.ts";
import { throttleKey, type ThrottleLimits, type Throttled } from "../../protocol/throttle.ts";
import type { Log } from "../process/log.ts";
import type { Chance, Clock, Ports } from "../wire/ports.ts";
import { createWaitingLine } from "../process/waiting-line.ts";
import { admit, permitLeaseMs } from "./admit.ts";
import { changeThrottle, readThrottle, serverClock } from "./entry.ts";

/** An entry read this long ago still holds: a pause reaches every process within this time. */
const freshMs = 1_000;
/** After a failed exchange. */
const retryMs = 1_000;

/** What a throttle lives on. */
export interface ThrottleDeps {
  readonly ports: Pick<Ports, "throttles" | "claims">;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly incarnation: string;
  readonly log: Log;
}

/** This process's share. */
export interface Throttle {
  /**
   * Waits until one more may begin. The function returned must be called when it has ended; a second call
   * changes nothing. Rejects with the signal's reason when aborted before.
   */
  enter(what: Throttled, limits: ThrottleLimits, signal: AbortSignal): Promise<() => void>;
  /**
   * For how long nothing of it begins, milliseconds: 0 if it may, Infinity while it is paused. Bounds do not count:
   * what is bounded waits its turn. 0 too while the server does not answer: `enter` waits for that.
   */
  closedFor(what: Throttled): Promise<number>;
  /** Nothing of it begins anywhere for so long: a provider has asked for it. Best effort. */
  slow(what: Throttled, ms: number): Promise<void>;
}

/** A throttle that has asked for nothing yet. It asks the server only for what is used. */
export function createThrottle(deps: ThrottleDeps): Throttle {
  const gates = new Map<string, Gate>();
  const serverNow = serverClock(deps);
  const gateOf = (what: Throttled): Gate => {
    const key = throttleKey(what);
    const gate = gates.get(key) ?? createGate(deps, serverNow, what);
    gates.set(key, gate);
    return gate;
  };
  return {
    enter: (what, limits, signal) => gateOf(what).enter(limits, signal),
    closedFor: (what) => gateOf(what).closedFor(),
    slow: async (what, ms) => {
      const now = await serverNow();
      await changeThrottle(deps, what, (state) => ({
        ...state,
        notBefore: Math.max(state.notBefore ?? 0, now + ms),
      }));
      gateOf(what).forget();
    },
  };
}

interface Gate {
  closedFor(): Promise<number>;
  /** What was read last holds no longer. */
  forget(): void;
  enter(limits: ThrottleLimits, signal: AbortSignal): Promise<() => void>;
}

const nothingToEnd = (): void => undefined;
const isBounded = ({ atOnce, perSecond }: ThrottleLimits): boolean =>
  atOnce !== undefined || perSecond !== undefined;

function createGate(deps: ThrottleDeps, serverNow: () => Promise<number>, what: Throttled): Gate {
  const { clock, log, incarnation: who } = deps;
  const line = createWaitingLine<() => void>();
  let limits: ThrottleLimits = {};
  let held = 0;
  /** Of those held, the ones whose time to start is still to come. */
  let promised = 0;
  /** What is held has changed since the server was told. */
  let isUntold = false;
  let openUntil = 0;
  let isAsking = false;
  let timer: (() => void) | undefined;

  const askIn = (ms: number) => {
    timer?.();
    timer = clock.after(ms, () => void ask());
  };
  /** One exchange at a time; whatever came meanwhile is in the next. */
  async function ask(): Promise<void> {
    if (isAsking) return;
    isAsking = true;
    isUntold = false;
    try {
      const waitMs = isBounded(limits) ? await exchange() : await look();
      isAsking = false;
      if (waitMs !== undefined) askIn(waitMs);
      else if (line.size() > promised || isUntold) void ask();
      else if (held > 0) askIn(permitLeaseMs / 3); // TT1: renewed while held.
    } catch (error) {
      isAsking = false;
      isUntold = isBounded(limits);
      log.debug({ throttle: throttleKey(what), reason: describeError(error) }, "throttle not asked"); // TT3
      askIn(retryMs);
    }
  }

  /** TT2. Nothing is counted, so all who wait are let in or none is. */
  async function look(): Promise<number | undefined> {
    const [now, state] = [await serverNow(), await readThrottle(deps, what)];
    const { startAt, waitMs } = admit(state, {}, { who, wanted: line.size(), holds: 0, now });
    if (startAt.length === 0) return waitMs;
    openUntil = clock.elapsed() + freshMs;
    while (line.letIn(nothingToEnd));
    return undefined;
  }

  async function closedFor(): Promise<number> {
    if (clock.elapsed() < openUntil) return 0;
    const [now, { paused, notBefore = 0 }] = [await serverNow(), await readThrottle(deps, what)];
    if (paused !== undefined) return Number.POSITIVE_INFINITY;
    if (notBefore <= now) openUntil = clock.elapsed() + freshMs;
    return Math.max(0, notBefore - now);
  }

  async function exchange(): Promise<number | undefined> {
    const now = await serverNow();
    const wanted = Math.max(0, line.size() - promised);
    const asking = { who, wanted, holds: limits.atOnce === undefined ? 0 : held, now };
    const { startAt, waitMs } = await changeThrottle(deps, what, (state) => admit(state, limits, asking));
    for (const at of startAt) {
      held += 1;
      promised += 1;
      if (at > now) clock.after(at - now, letOneIn);
      else letOneIn();
    }
    return waitMs;
  }

  /** The caller that waits longest. If none is left the permit ends unused. */
  function letOneIn(): void {
    promised -= 1;
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      held -= 1;
      isUntold = limits.atOnce !== undefined;
      if (isUntold) void ask();
    };
    if (!line.letIn(end)) end();
  }

  return {
    closedFor: () =>
      closedFor().catch((error: unknown) => {
        log.debug({ throttle: throttleKey(what), reason: describeError(error) }, "throttle not asked"); // TT3
        return 0;
      }),
    forget: () => (openUntil = 0),
    enter: (latest, signal) => {
      limits = latest;
      if (!isBounded(limits) && line.size() === 0 && clock.elapsed() < openUntil)
        return Promise.resolve(nothingToEnd);
      const entered = line.wait(signal);
      void ask();
      return entered;
    },
  };
}
