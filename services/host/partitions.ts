/**
 * Partitions: those whose inputs a host consumes, taken up and laid down as the roster says.
 *
 * PX1 With a partition its sagas go: idle ones at once, running ones as soon as what they have begun has ended.
 *    Nothing more is taken or begun for them meanwhile, and what they have not taken yet is given back.
 * PX2 A running saga holds its start, so the starts held at once bound how many run; the others wait in the stream,
 *    apart from what reaches a saga that runs.
 * PX3 What was delivered before is taken only with a mark (services/suspects/quarantine.ts).
 */
import { isMeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { type Address, parseInboxSubject } from "../../protocol/subjects.ts";
import { deadLetter } from "../wire/dead-letter.ts";
import { ackDelivery, nakDelivery } from "../wire/delivery.ts";
import type { Consumption, Delivery } from "../wire/ports.ts";
import type { Quarantine } from "../suspects/quarantine.ts";
import type { HostDeps } from "./host-deps.ts";
import type { Residents } from "./residents.ts";
import type { Strain } from "./strain.ts";
import type { Tries } from "./tries.ts";
import { keyOf } from "../suspects/saga-key.ts";

/** What becomes of the inputs of the partitions. */
export interface PartitionsContext {
  readonly residents: Residents;
  readonly quarantine: Quarantine;
  readonly tries: Pick<Tries, "putsOff" | "leave">;
  /** How much of the bounds is taken now. */
  readonly strain: Pick<Strain, "share">;
  /** Aborted: no further partition is consumed. */
  readonly over: AbortSignal;
}

/** What a host consumes. */
export interface Partitions {
  readonly held: () => readonly number[];
  /** Consumes exactly these. Resolves once nothing more comes of the others and their inputs are being given back. */
  readonly takeExactly: (partitions: readonly number[]) => Promise<void>;
  /** Consumes nothing more, at once. */
  readonly stop: () => Promise<void>;
}

/** Nothing is consumed yet. */
export function createPartitions(
  deps: HostDeps,
  { residents, quarantine, tries, strain, over }: PartitionsContext,
): Partitions {
  const consumptions = new Map<number, Consumption>();
  /** How many partitions there are to be. */
  let own = 0;
  /** PX2. */
  const startsMax = () => Math.ceil((deps.sagasMax * strain.share()) / Math.max(1, own));
  const inFlightMax = () => Math.ceil(limits.inFlightPerPartitionMax * strain.share());

  const take = (partition: number) => (delivery: Delivery) => {
    let address: Address;
    try {
      address = parseInboxSubject(delivery.subject);
    } catch (error) {
      setAside(deps, delivery, error);
      return;
    }
    if (tries.putsOff(address.saga, delivery)) return;
    quarantine.take(keyOf(address.saga), partition, delivery, () => {
      if (consumptions.has(partition)) residents.of(address.saga, partition).offer(delivery, address);
      else void nakDelivery(delivery); // It went elsewhere while the mark was put.
    });
  };

  /** PX1. */
  const layDown = async (partition: number, consumption: Consumption): Promise<void> => {
    consumptions.delete(partition);
    const stopped = consumption.stop();
    const suspectsGone = quarantine.leave(partition);
    await quarantine.forget(partition); // Before what it has is given back.
    residents.leave((resident) => resident.partition === partition);
    suspectsGone.catch((error: unknown) => deps.log.warn({ err: error }, "not everything given back"));
    await stopped;
    tries.leave(partition); // Called back earlier it would come here.
  };

  return {
    held: () => [...consumptions.keys()],
    takeExactly: async (partitions) => {
      own = partitions.length;
      const gone = [...consumptions].filter(([partition]) => !partitions.includes(partition));
      await Promise.all(gone.map(([partition, consumption]) => layDown(partition, consumption)));
      for (const partition of partitions) {
        if (consumptions.has(partition) || over.aborted) continue;
        const options = { inFlightMax, startsMax };
        consumptions.set(partition, await deps.ports.inbox.consume(partition, options, take(partition)));
      }
    },
    stop: async () => {
      const stopping = [...consumptions.values()].map((consumption) => consumption.stop());
      consumptions.clear();
      await Promise.all(stopping);
    },
  };
}

/** What is not even addressed to a saga. */
function setAside(deps: HostDeps, delivery: Delivery, error: unknown): void {
  if (!isMeshError(error)) throw error;
  deps.observe.refused(error.code);
  deadLetter(deps, "inbox", delivery, error)
    .then(() => ackDelivery(delivery))
    .catch((failure: unknown) =>
      deps.log.error({ err: failure, subject: delivery.subject }, "input not set aside"),
    );
}
