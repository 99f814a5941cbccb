/**
 * Incarnation: one host as the mesh knows it, from joining to its end. Consumes the partitions it has,
 * keeps one activation per running saga of theirs, and releases what sleeps.
 *
 * IC1 A saga that waits holds nothing here: no memory after a short linger, no timer, no connection.
 * IC2 With a partition its sagas go: idle ones at once, running ones as soon as what they have begun has ended.
 *    Nothing more is taken or begun for them meanwhile, and what they have not taken yet is given back.
 * IC3 A host that stood still for longer than a lease is dead to the mesh. Its pulse tells: what wakes up then
 *    appends nothing and begins nothing, and the incarnation ends with it.
 * IC4 A running saga holds its start, so the starts held at once bound how many run; the others wait in the stream,
 *    apart from what reaches a saga that runs.
 * IC5 What was delivered before is taken only with a mark (services/suspects/quarantine.ts).
 */
import { isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { type Address, parseInboxSubject } from "../../protocol/subjects.ts";
import { deadLetter } from "../wire/dead-letter.ts";
import { ackDelivery, nakDelivery } from "../wire/delivery.ts";
import { every } from "../process/every.ts";
import type { Consumption, Delivery } from "../wire/ports.ts";
import { type Activation, createActivation } from "./activation.ts";
import type { HostDeps } from "./host-deps.ts";
import { joinRoster } from "./roster.ts";
import { hostQuarantine, keyOf, sagaOf } from "./suspects.ts";

/** A host under one name. */
export interface Incarnation {
  /** Lets running sagas come to rest within the grace (milliseconds), gives back what is left, and leaves. */
  drain(graceMs: number): Promise<void>;
  /** Sagas in memory now. */
  resident(): number;
  partitions(): readonly number[];
}

/** A saga in memory, and the partition it came with. */
interface Resident {
  readonly partition: number;
  readonly activation: Activation;
}

/** Joins the mesh. `onLapse` is called once if it stood still for too long; it has ended then (IC3). */
export function serveAs(given: Omit<HostDeps, "hasLapsed">, onLapse: () => void): Incarnation {
  const { ports, clock, log, incarnation } = given;
  const over = new AbortController();
  const residents = new Map<SagaId, Resident>();
  /** Of partitions that went elsewhere, until what they have begun has ended. */
  const leaving = new Set<Activation>();
  const consumptions = new Map<number, Consumption>();
  /** How many partitions there are to be. */
  let own = 0;
  let pulseAt = clock.now();
  let lapsed = false;
  const deps: HostDeps = {
    ...given,
    hasLapsed: () => lapsed || clock.now() - pulseAt > limits.inboxAckWaitMs,
  };

  /** IC4. */
  const startsMax = () => Math.ceil(given.sagasMax / Math.max(1, own));
  const take = (partition: number) => (delivery: Delivery) => {
    let address: Address;
    try {
      address = parseInboxSubject(delivery.subject);
    } catch (error) {
      setAside(deps, delivery, error);
      return;
    }
    quarantine.take(keyOf(address.saga), partition, delivery, () => {
      if (consumptions.has(partition)) activationOf(address.saga, partition).offer(delivery, address);
      else void nakDelivery(delivery); // It went elsewhere while the mark was put.
    });
  };
  const activationOf = (saga: SagaId, partition: number): Activation => {
    const present = residents.get(saga);
    if (present !== undefined) return present.activation;
    const activation = createActivation(deps, saga, (gone) => {
      leaving.delete(gone);
      if (residents.get(saga)?.activation === gone) residents.delete(saga);
    });
    residents.set(saga, { partition, activation });
    return activation;
  };
  const quarantine = hostQuarantine(deps, given.isolate, async (saga) =>
    residents.get(saga)?.activation.release(),
  );
  const all = () => [...leaving, ...[...residents.values()].map(({ activation }) => activation)];

  /** IC2. */
  const layDown = async (partition: number, consumption: Consumption): Promise<void> => {
    consumptions.delete(partition);
    const stopped = consumption.stop();
    const suspectsGone = quarantine.leave(partition);
    await quarantine.forget(partition); // Before what it has is given back.
    for (const [saga, resident] of residents) {
      if (resident.partition !== partition) continue;
      residents.delete(saga);
      leaving.add(resident.activation);
      resident.activation
        .leave()
        .catch((error: unknown) => log.warn({ err: error, sagaId: saga }, "saga not handed over"));
    }
    suspectsGone.catch((error: unknown) => log.warn({ err: error }, "not everything given back"));
    await stopped;
  };
  const takeExactly = async (partitions: readonly number[]): Promise<void> => {
    own = partitions.length;
    const gone = [...consumptions].filter(([partition]) => !partitions.includes(partition));
    await Promise.all(gone.map(([partition, consumption]) => layDown(partition, consumption)));
    for (const partition of partitions) {
      if (consumptions.has(partition) || over.signal.aborted) continue;
      const options = { inFlightMax: limits.inFlightPerPartitionMax, startsMax };
      consumptions.set(partition, await ports.inbox.consume(partition, options, take(partition)));
    }
  };

  /** IC3: everything goes back at once; what is running tells its end as an ordinary input. */
  const lapse = () => {
    lapsed = true;
    log.warn({ host: incarnation, stoodStillMs: clock.now() - pulseAt }, "host stood still for too long");
    over.abort();
    const ending = [
      ...[...consumptions.values()].map((consumption) => consumption.stop()),
      ...all().map((activation) => activation.release()),
      quarantine.end(),
      roster.leave(),
    ];
    consumptions.clear();
    Promise.all(ending).catch((error: unknown) => log.warn({ err: error }, "not everything given back"));
    onLapse();
  };
  const pulse = () => {
    if (deps.hasLapsed()) return lapse();
    pulseAt = clock.now();
    prolong(all());
    quarantine.beat();
    quarantine.tidy(
      (key) => residents.get(sagaOf(key))?.activation.idleSince() === undefined && residents.has(sagaOf(key)),
    );
  };

  const roster = joinRoster(deps, { held: () => [...consumptions.keys()], take: takeExactly });
  const whileServing = { clock, log, signal: over.signal };
  const loops = [
    every(whileServing, limits.inboxHeartbeatMs, "pulse", pulse),
    every(whileServing, limits.lingerMs / 4, "releasing idle sagas", () => sweep(all(), clock.now())),
  ];

  return {
    resident: () => residents.size + leaving.size,
    partitions: () => [...consumptions.keys()],
    drain: async (graceMs) => {
      const until = clock.now() + graceMs;
      await roster.drain();
      while (clock.now() < until && all().length + quarantine.size() > 0) await clock.sleep(drainLookMs);
      await quarantine.end();
      await Promise.all(all().map((activation) => activation.release()));
      over.abort();
      await Promise.all(loops);
      await roster.leave();
    },
  };
}

const drainLookMs = 20;

function prolong(activations: Iterable<Activation>): void {
  for (const { held } of activations) for (const delivery of held) delivery.working();
}

/** IC1. */
function sweep(activations: Iterable<Activation>, now: number): void {
  for (const activation of activations) {
    const since = activation.idleSince();
    if (since !== undefined && now - since >= limits.lingerMs) void activation.release({ ifIdle: true });
  }
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
