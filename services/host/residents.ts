/**
 * Residents: the sagas in a host's memory, each with the partition it came with.
 *
 * RJ1 A saga that waits holds nothing here: no memory after a short linger, no timer, no connection.
 */
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { type Activation, createActivation } from "./activation.ts";
import type { HostDeps } from "./host-deps.ts";

/** A saga in memory. */
export interface Resident {
  /** The one it came with. */
  readonly partition: number;
  /** What it goes on under; undefined while it is not loaded. */
  readonly definition: DefinitionRef | undefined;
}

/** What a host has in memory. */
export interface Residents {
  /** The activation of a saga, begun if there is none. */
  of(saga: SagaId, partition: number): Activation;
  /** The activation of a saga whose partition is this host's. */
  find(saga: SagaId): Activation | undefined;
  /** Whether that has it in memory, and it is not idle. */
  isBusy(saga: SagaId): boolean;
  /** These are this host's no more: each goes once what it has begun has ended. */
  leave(isMeant: (resident: Resident) => boolean): void;
  /** Prolongs the leases of all that is held. */
  prolong(): void;
  /** Releases what has been idle for the linger (RJ1). */
  sweep(): void;
  /** Gives everything back at once. */
  release(): Promise<void>;
  /** With those that are leaving. */
  size(): number;
  /** Those of them that are not idle. */
  busy(): number;
}

/** No saga in memory. */
export function createResidents(deps: HostDeps): Residents {
  const { clock, log } = deps;
  const residents = new Map<SagaId, { readonly partition: number; readonly activation: Activation }>();
  /** Of partitions that went elsewhere, until what they have begun has ended. */
  const leaving = new Set<Activation>();
  const all = () => [...leaving, ...[...residents.values()].map(({ activation }) => activation)];
  return {
    of: (saga, partition) => {
      const present = residents.get(saga);
      if (present !== undefined) return present.activation;
      const activation = createActivation(deps, saga, (gone) => {
        leaving.delete(gone);
        if (residents.get(saga)?.activation === gone) residents.delete(saga);
      });
      residents.set(saga, { partition, activation });
      return activation;
    },
    find: (saga) => residents.get(saga)?.activation,
    isBusy: (saga) => {
      const resident = residents.get(saga);
      return resident !== undefined && resident.activation.idleSince() === undefined;
    },
    leave: (isMeant) => {
      for (const [saga, resident] of residents) {
        const { partition, activation } = resident;
        if (!isMeant({ partition, definition: activation.definition() })) continue;
        residents.delete(saga);
        leaving.add(activation);
        activation
          .leave()
          .catch((error: unknown) => log.warn({ err: error, sagaId: saga }, "saga not handed over"));
      }
    },
    prolong: () => {
      for (const { held } of all()) for (const delivery of held) delivery.working();
    },
    sweep: () => {
      for (const activation of all()) {
        const since = activation.idleSince();
        if (since !== undefined && clock.elapsed() - since >= limits.lingerMs)
          void activation.release({ ifIdle: true });
      }
    },
    release: async () => {
      await Promise.all(all().map((activation) => activation.release()));
    },
    size: () => residents.size + leaving.size,
    busy: () => all().filter((activation) => activation.idleSince() === undefined).length,
  };
}
