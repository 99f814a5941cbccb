/**
 * Durable timers, as the server keeps them: one per intent, fired once, a little late.
 *
 * TI1 Arming again replaces. A time that is past, or too close, fires as soon as the server can.
 * TI2 What fires has no Msg-Id, whatever armed it had.
 */
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Headers } from "../../protocol/subjects.ts";
import type { Cancel, VirtualClock } from "./clock.ts";
import type { SeededChance } from "./faults.ts";

export interface Timer {
  readonly saga: SagaId;
  readonly intent: IntentId;
  readonly dueAt: number;
  readonly headers: Headers;
}

export interface MemoryTimers {
  arm(timer: Timer): void;
  disarm(saga: SagaId, intent?: IntentId): void;
  size(): number;
  /** As `<saga>.<intent>`. */
  armed(): Set<string>;
  /** Loses them all. */
  lose(): void;
}

const soonestMs = 250;
const lateMsMax = 200;

/** `fire` is told of each timer that falls due. */
export function createTimers(
  clock: VirtualClock,
  chance: SeededChance,
  fire: (timer: Timer) => void,
): MemoryTimers {
  const armed = new Map<SagaId, Map<IntentId, Cancel>>();

  const disarm = (saga: SagaId, intent: IntentId) => {
    const ofSaga = armed.get(saga);
    ofSaga?.get(intent)?.();
    ofSaga?.delete(intent);
    if (ofSaga?.size === 0) armed.delete(saga);
  };
  const arm = (timer: Timer) => {
    const { saga, intent } = timer;
    disarm(saga, intent); // TI1
    const fireAt = Math.max(timer.dueAt, clock.now() + soonestMs) + chance.between(0, lateMsMax);
    const cancel = clock.quietlyAt(fireAt, () => {
      disarm(saga, intent);
      fire(timer);
    });
    armed.set(saga, (armed.get(saga) ?? new Map<IntentId, Cancel>()).set(intent, cancel));
  };
  return {
    arm,
    disarm: (saga, intent) => {
      for (const each of intent === undefined ? [...(armed.get(saga)?.keys() ?? [])] : [intent])
        disarm(saga, each);
    },
    armed: () =>
      new Set(
        [...armed].flatMap(([saga, ofSaga]) => [...ofSaga.keys()].map((intent) => `${saga}.${intent}`)),
      ),
    lose: () => {
      for (const [saga, ofSaga] of [...armed]) for (const intent of [...ofSaga.keys()]) disarm(saga, intent);
    },
    size: () => [...armed.values()].reduce((sum, ofSaga) => sum + ofSaga.size, 0),
  };
}
