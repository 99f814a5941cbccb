/**
 * Inputs: what came for one saga and is not settled yet: a box of what waits for its turn, and the deliveries that
 * were taken and are not acked.
 *
 * IP1 Held deliveries are the saga's lease: each is acked, refused or given back, once, by one of the functions below.
 * IP2 An input that cannot be taken now is put back for an hour, and for less where the saga has ended; only then is it
 *     refused, with a code, kept as a dead letter.
 * IP3 A start that is for another host goes there, or waits for one; only what no host ever served is refused (IP2).
 * IP4 Before they are acked the saga's row in the listing says how it stands (services/listing/rows.ts).
 */
import type { Acceptance } from "../../actors/kernel/accept.ts";
import { assertNoReference, mayHoldBlob } from "../../protocol/codec.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef, Event, EventOf } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import type { Address } from "../../protocol/subjects.ts";
import type { Performed } from "../perform/outcome.ts";
import { deadLetter } from "../wire/dead-letter.ts";
import { ackDelivery, nakDelivery } from "../wire/delivery.ts";
import type { Delivery } from "../wire/ports.ts";
import { publishTaken } from "./tell-sagas.ts";
import type { RowOfSaga } from "../listing/rows.ts";
import type { HostDeps } from "./host-deps.ts";
import { readEvent } from "./intake.ts";
import { presentDefinitionOf } from "./routing.ts";
import { NoneServed, Unserved } from "./unserved.ts";

interface Unread {
  readonly from: "inbox";
  readonly delivery: Delivery;
  readonly address: Address;
}

/** An input of the inbox, once it was read. */
export type InboxItem = Unread & { readonly event: Event };

/** What this host observed itself. */
export interface HostItem {
  readonly from: "host";
  readonly event: Event;
  readonly performed?: Performed;
}

/** An input with its event. */
export type ReadItem = InboxItem | HostItem;
/** An input as it waits: of the inbox it is read with its batch, and only once. */
export type Item = Unread | ReadItem;

/** Whether its event is known. */
export const isRead = (item: Item): item is ReadItem => "event" in item;

/** What becomes of what a saga leaves behind: offered again after a delay, or of a definition that another host serves. */
export interface Onward {
  readonly delayMs?: number;
  readonly meant?: DefinitionRef;
}

/** What came for one saga and is not settled. */
export interface Inputs {
  /** The saga's row, as long as it is in memory. */
  readonly row: RowOfSaga;
  /** Taken and not settled. */
  readonly held: ReadonlySet<Delivery>;
  put(item: Item): void;
  /** Before all that waits. */
  putFirst(items: readonly Item[]): void;
  /** The next batch, whose deliveries are held from here on. */
  take(max: number): readonly Item[];
  /** The batch taken last is over: what this host observed is on the ledger, or was put back. */
  endBatch(): void;
  /** What waits, none of it held: it is to be given back. */
  empty(): readonly Item[];
  isEmpty(): boolean;
  /** Resolves when something was put in, or with `poke`. */
  wait(): Promise<void>;
  poke(): void;
  /** The items with their events, without those that cannot be read: they are refused, or put back. */
  read(items: readonly Item[]): Promise<readonly ReadItem[]>;
  /** IP4: unless its row cannot be written; then all stays held. */
  ackHeld(): Promise<void>;
  /** Settles an input that neither becomes an event nor is known. */
  answer(item: ReadItem, judged: Extract<Acceptance, { type: "refused" | "taken" }>): Promise<void>;
  refuse(delivery: Delivery, error: MeshError): Promise<void>;
  putBack(delivery: Delivery, delayMs?: number): Promise<void>;
  putBackOrRefuse(delivery: Delivery, delayMs: number, error: MeshError, forMs?: number): Promise<void>;
  /** Lets it go to a host that serves this definition. */
  passOn(delivery: Delivery, definition: DefinitionRef): Promise<void>;
  /** Empties all of it: every delivery is given back, or goes on. What this host observed, also of a batch under way, is left. */
  giveUp(onward?: Onward): { readonly observed: readonly HostItem[]; readonly given: Promise<unknown> };
}

/** The inputs of one saga at one host. */
export function createInputs(deps: HostDeps, saga: SagaId): Inputs {
  const held = new Set<Delivery>();
  const row = deps.rows.of(saga);
  const box: Item[] = [];
  let taken: readonly Item[] = [];
  let wake: (() => void) | undefined;

  const poke = () => {
    wake?.();
    wake = undefined;
  };

  async function refuse(delivery: Delivery, error: MeshError): Promise<void> {
    deps.log.warn(
      { sagaId: saga, subject: delivery.subject, code: error.code, reason: error.message },
      "input refused",
    );
    deps.observe.refused(error.code);
    await deadLetter(deps, "inbox", delivery, error);
    held.delete(delivery);
    await ackDelivery(delivery);
  }

  async function putBack(delivery: Delivery, delayMs?: number): Promise<void> {
    held.delete(delivery);
    await nakDelivery(delivery, delayMs);
  }

  /** IP2. */
  const putBackOrRefuse = (
    delivery: Delivery,
    delayMs: number,
    error: MeshError,
    forMs: number = limits.earlyInputMs,
  ): Promise<void> =>
    deps.clock.now() - delivery.storedAt > forMs && delivery.deliveries >= limits.earlyInputLooksMin
      ? refuse(delivery, error)
      : putBack(delivery, delayMs);

  async function readOne(item: Item, meant?: DefinitionRef): Promise<ReadItem | undefined> {
    if (isRead(item)) return item;
    const { delivery, address } = item;
    try {
      const event = await readEvent(deps, address, delivery, meant);
      if (mayHoldBlob(delivery.data)) assertNoReference(event);
      return { ...item, event };
    } catch (error) {
      if (!isMeshError(error)) throw error;
      if (error instanceof Unserved || error instanceof NoneServed) return readElsewhere(item, error);
      if (error.retriable) await putBack(delivery, limits.earlyInputDelayMs);
      else await refuse(delivery, error);
      return undefined;
    }
  }

  /** IP3. Never for what is meant for a definition: that one was found, and is served. */
  async function readElsewhere(item: Unread, error: Unserved | NoneServed): Promise<ReadItem | undefined> {
    const { delivery } = item;
    const { routing, app } = deps;
    const wanted = error instanceof Unserved ? error.definition : error.wanted;
    const present = await presentDefinitionOf(deps, saga); // RK3 of routing.ts
    if (present !== undefined && app.definition(present) !== undefined) return readOne(item, present);
    const definition = present ?? (error instanceof Unserved ? error.definition : undefined);
    const isAwaited = definition !== undefined && (present !== undefined || routing.isServed(definition));
    if (!isAwaited && !(await routing.wasServed(wanted)))
      await putBackOrRefuse(delivery, limits.unservedDelayMs, new NoneServed(wanted));
    else {
      held.delete(delivery);
      if (definition === undefined) await routing.putOff(saga, wanted, delivery);
      else await routing.passOn(saga, definition, [delivery]);
    }
    return undefined;
  }

  /** A start that found another saga: its parent hears of it, or it is refused. */
  async function answerTaken(delivery: Delivery, start: EventOf<"start">): Promise<void> {
    if (start.parent === undefined)
      return refuse(delivery, new MeshError("SAGA_ID_TAKEN", `saga ${saga} was started with another input`));
    await publishTaken({ ...deps, again: String(delivery.seq) }, saga, start.parent);
    held.delete(delivery);
    await ackDelivery(delivery);
  }

  return {
    held,
    put: (item) => {
      box.push(item);
      poke();
    },
    putFirst: (items) => void box.unshift(...items),
    take: (max) => {
      taken = box.splice(0, max);
      for (const item of taken) if (item.from === "inbox") held.add(item.delivery);
      return taken;
    },
    endBatch: () => void (taken = []),
    empty: () => box.splice(0),
    isEmpty: () => box.length === 0,
    wait: () => new Promise((resolve) => (wake = resolve)),
    poke,
    read: async (items) =>
      (await Promise.all(items.map((item) => readOne(item)))).filter((item) => item !== undefined),
    row,
    ackHeld: async () => {
      const writing = row.settle([...held].some(({ deliveries }) => deliveries > 1));
      if (writing !== undefined && !(await writing)) return; // IP4
      const acking = [...held];
      held.clear();
      await Promise.all(acking.map(ackDelivery));
    },
    answer: async ({ event, ...item }, judged) => {
      if (item.from === "host") return;
      if (judged.type === "refused") await refuse(item.delivery, judged.error);
      else if (event.type === "start") await answerTaken(item.delivery, event);
    },
    refuse,
    putBack,
    putBackOrRefuse,
    passOn: async (delivery, definition) => {
      held.delete(delivery);
      await deps.routing.passOn(saga, definition, [delivery]);
    },
    giveUp: ({ delayMs, meant } = {}) => {
      const observed = [...taken, ...box].filter((item) => item.from === "host");
      const waiting = box.flatMap((item) => (item.from === "inbox" ? [item.delivery] : []));
      const deliveries = new Set([...held, ...waiting]);
      box.length = 0;
      held.clear();
      taken = [];
      row.forget();
      poke();
      return {
        observed,
        given:
          meant === undefined
            ? Promise.all([...deliveries].map((delivery) => nakDelivery(delivery, delayMs)))
            : deps.routing.passOn(saga, meant, [...deliveries]),
      };
    },
  };
}
