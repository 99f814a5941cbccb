/**
 * Waiting: the sagas whose inputs this host puts off, because no living host serves their definition.
 *
 * WU1 A definition is warned of once, and again only after none of its sagas waited for a while: they may be thousands.
 */
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import type { Log } from "../process/log.ts";
import type { Clock } from "../wire/ports.ts";

/** Sagas by what they wait for. */
export interface Waiting {
  /** A saga's input is put off: it waits for a host of this definition (`name@version#hash`), or for any of its name. */
  note(saga: SagaId, definition: string): void;
  /** A saga waits no more, or is heard of again. */
  drop(this: void, saga: SagaId): void;
  /** Those that wait now. One that waits is heard of again when its input is tried again. */
  list(this: void): readonly Awaited[];
}

/** A definition that no living host serves, and the sagas that wait for it here. */
export interface Awaited {
  readonly definition: string;
  readonly sagas: readonly SagaId[];
}

const forgottenAfterMs = limits.parkedTryMsMax + 3 * limits.parkedDelayMs;

/** None waits yet. */
export function createWaiting(clock: Clock, log: Log): Waiting {
  /** When each was heard of last. */
  const waiting = new Map<string, Map<SagaId, number>>();
  const tidy = () => {
    for (const [definition, sagas] of waiting) {
      for (const [saga, at] of sagas) if (clock.elapsed() - at > forgottenAfterMs) sagas.delete(saga);
      if (sagas.size === 0) waiting.delete(definition);
    }
  };
  return {
    note: (saga, definition) => {
      if (!waiting.has(definition)) tidy();
      const sagas = waiting.get(definition) ?? new Map<SagaId, number>();
      if (sagas.size === 0)
        log.warn({ definition, sagaId: saga, code: "VERSION_UNSERVED" }, "no host serves it"); // WU1
      waiting.set(definition, sagas.set(saga, clock.elapsed()));
    },
    drop: (saga) => {
      for (const sagas of waiting.values()) sagas.delete(saga);
    },
    list: () => {
      tidy();
      return [...waiting].map(([definition, sagas]) => ({ definition, sagas: [...sagas.keys()] }));
    },
  };
}
