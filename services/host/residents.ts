/**
 * Residents: the sagas in a host's memory, each with the partition it came with.
 *
 * RJ1 A saga that waits holds nothing here: no memory after a short linger, no timer, no connection.
 */
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { type Activation, createActivation } from "./activation.ts";
import type { HostDeps } from "./host-deps.ts";

/** What a host has in memory. */
export interface Residents {
  /** The activation of a saga, begun if there is none. */
  of(saga: SagaId, partition: number): Activation;
  /** The activation of a saga whose partition is this host's. */
  find(saga: SagaId): Activation | undefined;
  /** The sagas of a partition are this host's no more: each goes once what it has begun has ended. */
  leave(partition: number): void;
  /** Prolongs the leases of all that is held. */
  prolong(): void;
  /** Releases what has been idle for the linger (RJ1). */
  sweep(): void;
  /** Gives everything back at once. */
  release(): Promise<void>;
  /** With those that are leaving. */
  size(): number;
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
    leave: (partition) => {
      for (const [saga, resident] of residents) {
        if (resident.partition !== partition) continue;
        residents.delete(saga);
        leaving.add(resident.activation);
        resident.activation
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
        if (since !== undefined && clock.now() - since >= limits.lingerMs)
          void activation.release({ ifIdle: true });
      }
    },
    release: async () => {
      await Promise.all(all().map((activation) => activation.release()));
    },
    size: () => residents.size + leaving.size,
  };
}
