/**
 * A work queue with its durable consumer: leases, redelivery and bounds.
 *
 * Owns: which process has which message until when. Used for each partition of the inbox and each tool's work. Does not
 * own: how a delivery reaches a process (gate.ts).
 *
 * QU1 A message is here until it is acked, however often it is delivered.
 * QU2 Ack, nak and working count for the message, not for the delivery: a holder whose lease ran out long ago can
 *     still ack what another has now, or give it back. That is how the real server is. So what one receiver handed on
 *     to another is the same lease; only the place at the first one is free again.
 * QU3 What comes back goes before what is new; apart from that messages are handed out in order.
 * QU4 Leases are counted here. A receiver that forgets what it holds has its slots again when the leases end.
 */
import type { StoredMessage } from "../wire/ports.ts";
import type { Cancel, VirtualClock } from "./clock.ts";
import type { Weather } from "./faults.ts";

/** What a receiver is handed. */
export interface Handed {
  readonly message: StoredMessage;
  readonly deliveries: number;
}

export interface Receiver {
  readonly inFlightMax: () => number;
  /** False while nothing can be sent to it. */
  isReachable(): boolean;
  /** Must not call the queue: a delivery takes its time. */
  receive(handed: Handed): void;
}

export interface MemoryQueue {
  add(message: StoredMessage): void;
  /** Begins to hand out to the receiver. `wake` says that it is reachable again. */
  attach(receiver: Receiver): { wake(): void; end(): void };
  /** Bounds what is out at once over all receivers. */
  bound(concurrencyMax: number): void;
  /** While paused nothing is handed out; what is out stays out. */
  pause(isPaused: boolean): void;
  ack(seq: number): void;
  nak(seq: number, delayMs: number): void;
  working(seq: number): void;
  /** The lease goes on, and its receiver has room for another. */
  letGo(seq: number): void;
  /** Sequences of what is out now, or was given back and is to stay away for a while. */
  out(): number[];
  /** Messages that are not acked. */
  size(): number;
  /** Those, the oldest first. */
  all(): StoredMessage[];
  /** Loses them, as a queue that is deleted: what is out stays out, and its settling means nothing any more. */
  lose(): void;
  /** The newest one of a subject that is not acked. */
  newest(subject: string): StoredMessage | undefined;
}

interface Item {
  readonly message: StoredMessage;
  deliveries: number;
  place: Place;
}

type Place =
  | { readonly kind: "waiting" }
  | { readonly kind: "delayed"; readonly cancel: Cancel }
  | { readonly kind: "leased"; by: Attached; until: number; cancel: Cancel };

interface Attached {
  readonly receiver: Receiver;
  held: number;
}

const waiting: Place = { kind: "waiting" };
/** Between a message's being there and its being handed out. */
const handOutMs = 1;

export function createQueue(clock: VirtualClock, weather: Weather, ackWaitMs: number): MemoryQueue {
  const items = new Map<number, Item>();
  const fresh: Item[] = [];
  const returned: Item[] = [];
  const attached = new Set<Attached>();
  let concurrencyMax = Infinity;
  let leased = 0;
  let isPaused = false;
  let isHandOutDue = false;

  const handOutSoon = () => {
    if (isHandOutDue || attached.size === 0 || fresh.length + returned.length === 0) return;
    isHandOutDue = true;
    clock.quietlyAt(clock.now() + handOutMs, handOut);
  };
  const handOut = () => {
    isHandOutDue = false;
    while (fresh.length + returned.length > 0) {
      const open = [...attached].filter(
        ({ receiver, held }) => held < receiver.inFlightMax() && receiver.isReachable(),
      );
      if (open.length === 0 || leased >= concurrencyMax || isPaused) return;
      const item = takeNext();
      if (item !== undefined) lease(item, open.length === 1 ? open[0]! : weather.chance.pick(open));
    }
  };
  const takeNext = (): Item | undefined => {
    const source = returned.length > 0 ? returned : fresh; // QU3
    const place = weather.happens("reordered") ? weather.chance.between(0, source.length - 1) : 0;
    const item = source.splice(place, 1)[0]!;
    // Acked while it waited: the ack of a holder whose lease had run out.
    return items.has(item.message.seq) ? item : undefined;
  };
  const lease = (item: Item, by: Attached) => {
    item.deliveries += 1;
    by.held += 1;
    leased += 1;
    const until = clock.now() + ackWaitMs;
    item.place = { kind: "leased", by, until, cancel: clock.quietlyAt(until, () => endOfLease(item)) };
    if (!weather.happens("lostDelivery"))
      by.receiver.receive({ message: item.message, deliveries: item.deliveries });
  };
  const endOfLease = (item: Item) => {
    const { place } = item;
    if (place.kind !== "leased") return;
    if (place.until > clock.now()) place.cancel = clock.quietlyAt(place.until, () => endOfLease(item));
    else giveBack(item);
  };
  /** Ends whatever the message was in; its place is the caller's to set. */
  const release = ({ place }: Item) => {
    if (place.kind === "waiting") return;
    place.cancel();
    if (place.kind === "delayed") return;
    place.by.held -= 1;
    leased -= 1;
    handOutSoon();
  };
  const giveBack = (item: Item) => {
    release(item);
    item.place = waiting;
    returned.push(item);
    handOutSoon();
  };

  return {
    add: (message) => {
      const item: Item = { message, deliveries: 0, place: waiting };
      items.set(message.seq, item);
      fresh.push(item);
      handOutSoon();
    },
    attach: (receiver) => {
      const entry: Attached = { receiver, held: 0 };
      attached.add(entry);
      handOutSoon();
      return { wake: handOutSoon, end: () => void attached.delete(entry) };
    },
    bound: (max) => {
      concurrencyMax = max;
      handOutSoon();
    },
    pause: (isNowPaused) => {
      isPaused = isNowPaused;
      handOutSoon();
    },
    ack: (seq) => {
      const item = items.get(seq);
      if (item === undefined) return;
      release(item);
      items.delete(seq);
    },
    nak: (seq, delayMs) => {
      const item = items.get(seq);
      if (item === undefined || item.place.kind === "waiting") return; // QU2: the process that leases it now loses it
      if (delayMs <= 0) return giveBack(item);
      release(item);
      item.place = { kind: "delayed", cancel: clock.quietlyAt(clock.now() + delayMs, () => giveBack(item)) };
    },
    working: (seq) => {
      const place = items.get(seq)?.place;
      if (place?.kind === "leased") place.until = clock.now() + ackWaitMs;
    },
    letGo: (seq) => {
      const place = items.get(seq)?.place;
      if (place?.kind !== "leased") return;
      place.by.held -= 1;
      place.by = { ...place.by, held: 1 }; // Its end frees no place of the receiver's.
      handOutSoon();
    },
    out: () => [...items].flatMap(([seq, { place }]) => (place.kind === "waiting" ? [] : [seq])),
    size: () => items.size,
    all: () => [...items.values()].map(({ message }) => message),
    lose: () => {
      for (const item of items.values()) release(item);
      items.clear();
    },
    newest: (subject) => {
      let newest: StoredMessage | undefined;
      for (const { message } of items.values()) if (message.subject === subject) newest = message;
      return newest;
    },
  };
}
