/**
 * Guests: sagas of partitions that another host consumes, which are here because that host lacks their definition.
 *
 * GU1 A host takes what is handed on to it only while it serves the definition, is alive and does not drain; and a start
 *     only while it has room for another saga.
 * GU2 What is taken here is settled and prolonged here, like any other input; and it goes through this host's own
 *     quarantine.
 * GU3 A guest goes, as with a partition that leaves, as soon as its partition's host serves it, or another host is the first to:
 *     two hosts must not fence one another for long.
 */
import { definitionOfText } from "../../protocol/definition-text.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import { limits } from "../../protocol/limits.ts";
import { type Address, headers, parseInboxSubject, partitionOf } from "../../protocol/subjects.ts";
import { takersOf } from "../deployments/choose.ts";
import { firstFor } from "../deployments/rank.ts";
import type { LivingHost } from "../deployments/served.ts";
import type { Quarantine } from "../suspects/quarantine.ts";
import { nakDelivery } from "../wire/delivery.ts";
import { patiently } from "../wire/patience.ts";
import type { Consumption, Delivery, HandedOn } from "../wire/ports.ts";
import type { HostDeps } from "./host-deps.ts";
import type { Residents } from "./residents.ts";
import type { Tries } from "./tries.ts";
import { keyOf } from "../suspects/saga-key.ts";

/** What becomes of guests. */
export interface GuestsContext {
  readonly residents: Residents;
  readonly quarantine: Quarantine;
  readonly tries: Pick<Tries, "putsOff">;
  /** The partitions that this host consumes: their sagas are no guests. */
  readonly held: () => readonly number[];
  /** The living hosts as this one knows them now, itself too. */
  readonly hosts: () => readonly LivingHost[];
  /** Aborted: nothing more is taken. */
  readonly over: AbortSignal;
}

/** The sagas that others sent here. */
export interface Guests {
  /** Whether what is handed on is heard here now. */
  isHeard(): boolean;
  /** Lets those go that another host takes now (GU3). */
  sweep(): void;
  /** Takes no more, and lets all go. */
  drain(): void;
}

/** Hears what is handed on to this host, until `over`. */
export function receiveGuests(deps: HostDeps, context: GuestsContext): Guests {
  const { residents, quarantine, tries, held, hosts, over } = context;
  const { ports, clock, log, incarnation, app } = deps;
  /** Sequences of what was taken and is not settled. */
  const open = new Set<number>();
  let draining = false;
  const mayTake = () => !draining && !over.aborted && !deps.hasLapsed();

  const hasRoom = ({ kind }: Address): boolean =>
    open.size < limits.inFlightPerPartitionMax * ports.inbox.partitions &&
    (kind !== "start" || residents.size() < deps.sagasMax);

  /** GU1. */
  function take({ delivery, meant }: HandedOn): boolean {
    const definition = definitionOfText(meant);
    if (definition === undefined || app.definition(definition) === undefined || !mayTake()) return false;
    const address = addressOf(delivery);
    if (address === undefined || !hasRoom(address)) return false;
    const own = counted(open, { ...delivery, headers: { ...delivery.headers, [headers.definition]: meant } });
    own.working(); // Its lease began at another host.
    if (tries.putsOff(address.saga, own)) return true;
    const partition = partitionOf(delivery.subject);
    quarantine.take(keyOf(address.saga), partition, own, () => {
      if (mayTake()) residents.of(address.saga, partition).offer(own, address);
      else void nakDelivery(own);
    });
    return true;
  }

  /** GU3. While no host says that it has the partition, a guest stays. */
  function isElsewhere(definition: DefinitionRef, partition: number): boolean {
    const takers = takersOf(definition, hosts());
    const owner = takers.find(({ partitions }) => partitions.includes(partition));
    const first = owner ?? firstFor(partition, takers);
    return first !== undefined && first.host !== incarnation;
  }

  const isGuest = (partition: number) => !held().includes(partition);

  let isListening = false;
  const receiving: Promise<Consumption> = patiently(clock, () => ports.inbox.receive(incarnation, take), {
    patienceMs: Number.POSITIVE_INFINITY,
    signal: over,
  });
  receiving.then(
    () => (isListening = true),
    (error: unknown) => over.aborted || log.error({ err: error }, "nothing can be handed on to this host"),
  );
  over.addEventListener("abort", () => {
    receiving.then((one) => one.stop()).catch(() => undefined); // It never began.
  });

  return {
    isHeard: () => isListening && !over.aborted,
    sweep: () =>
      residents.leave(
        ({ partition, definition }) =>
          definition !== undefined && isGuest(partition) && isElsewhere(definition, partition),
      ),
    drain: () => {
      draining = true;
      residents.leave(({ partition }) => isGuest(partition));
      for (let partition = 0; partition < ports.inbox.partitions; partition++)
        quarantine
          .leave(partition)
          .catch((error: unknown) => log.warn({ err: error }, "not everything given back"));
    },
  };
}

/** Undefined for what is not even addressed to a saga: no host hands that on. */
function addressOf({ subject }: Delivery): Address | undefined {
  try {
    return parseInboxSubject(subject);
  } catch {
    return undefined;
  }
}

/** The same delivery, counted among `open` until it is settled. */
function counted(open: Set<number>, delivery: Delivery): Delivery {
  const { seq } = delivery;
  open.add(seq);
  return {
    ...delivery,
    ack: () => {
      open.delete(seq);
      return delivery.ack();
    },
    nak: (delayMs) => {
      open.delete(seq);
      return delivery.nak(delayMs);
    },
  };
}
