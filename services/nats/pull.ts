/**
 * Pulling from a durable consumer: the flow of deliveries to one consumption.
 *
 * Owns: pull requests, the count of what is held, and starting over when the server falls silent. Used by
 * inbox.ts and work.ts.
 *
 * The client's own `consume` asks for more as soon as a message is handed over; a host must have a bound on
 * what is handed over and not yet acked, so the requests are made here.
 *
 * PU1 held + requested never exceeds `inFlightMax` at the moment of a request. What comes beyond it after a restart
 *     of the pull is given back at once.
 * PU2 Only a running request is expected to give signs of life. If none comes for some heartbeats, its server
 *     is dead: a new request is made under a new reply subject, in seconds and not when the old one expires. A process
 *     that stood still itself has not listened, and cannot tell: what is under way to it would be lost with the subject.
 *     After a lost connection that is certain, and done as soon as it is back.
 * PU3 A delivery whose lease has run out no longer counts as held: the server gives it to another.
 * PU4 After `stop` nothing is handed over; what was on its way is given back.
 * PU5 An ack that a dying server took with it is said again when the message comes back, and the receiver does not
 *     see it twice. It would otherwise work on it again, and perhaps wait for a claim that is its own.
 * PU6 The consumer may be gone, which the server says by the same words as an election: it is looked for, and nothing is
 *     asked for until it was.
 * PU7 What this process gives back unread counts as no delivery: no receiver had it, and so none can have died of it.
 */
import { createInbox, type Msg, type NatsConnection, type Subscription } from "@nats-io/nats-core";
import type { Consumption, Delivery } from "../wire/ports.ts";
import { watchConnection } from "./connection-watch.ts";
import { createDelivery, deliveredBy, giveBack } from "./delivery.ts";
import { subscribed } from "./errors.ts";
import { type DecodedHeaders, decodeHeaders, natsHeaders } from "./headers.ts";
import type { Report } from "./progress.ts";
import { withinMs } from "./within-ms.ts";

const expiresMs = 5_000;
const heartbeatMs = 1_000;
const silenceMaxMs = 2_500;
const tickMs = 500;
/** Between a request that the server ended for a reason of its own (an election) and the next. */
const retryDelayMs = 250;
/** For what the server has sent already. */
const drainMs = 2_000;
/** What the server says to those that wait at a consumer, or a stream, that is taken away. */
const consumerDeleted = "Consumer Deleted";
/** For how long at least an ack is remembered: an election and a lease. It may be twice that. */
const ackMemoryMs = 15_000;

export interface PullOptions {
  readonly stream: string;
  readonly consumer: string;
  /** Asked each time; where it shrinks, what is held beyond it is left to end. */
  readonly inFlightMax: () => number;
  readonly leaseMs: number;
  /** What this process was sent and gave back unread (PU7). */
  readonly returned: Returned;
  /** Looks for the consumer, and makes it again if it is gone (PU6). Never rejects. */
  readonly remake: () => Promise<void>;
  readonly report: Report;
}

/** One reply subject with what is still asked for under it. */
interface Asking {
  readonly inbox: string;
  readonly sub: Subscription;
  requested: number;
  /** How many might be held when it was last asked for some: what was asked for is taken, also where that shrank. */
  most: number;
  heardAt: number;
}

/** Begins to pull. The consumer must exist. */
export function startPull(
  nc: NatsConnection,
  options: PullOptions,
  take: (delivery: Delivery) => void,
): Consumption {
  const { stream, consumer, inFlightMax, leaseMs, returned, remake, report } = options;
  const name = `consumer ${consumer} of ${stream}`;
  const held = new Map<number, { leaseUntil: number }>();
  const acked = createAckMemory();
  let isStopped = false;
  let pullAfter = 0;
  let isLookedFor = false;
  let isRefillDue = false;
  let tickedAt = performance.now();
  let asking = ask();
  const tick = setInterval(onTick, tickMs);
  const stopWatching = watchConnection(nc, { onBack: startOver });
  refill();

  function ask(): Asking {
    const inbox = createInbox();
    const next: Asking = {
      inbox,
      requested: 0,
      most: 0,
      heardAt: performance.now(),
      sub: subscribed(nc, inbox, (error, message) => {
        if (error !== null) return report(`${name}: ${error.message}`);
        next.heardAt = performance.now();
        if (message.reply) onDelivery(next, message);
        else onStatus(next, decodeHeaders(message));
      }),
    };
    return next;
  }

  function onDelivery(from: Asking, message: Msg): void {
    if (from.requested > 0) from.requested -= 1;
    const delivery = createDelivery(nc, deliveredBy(message, returned), {
      settled: (seq, word) => {
        if (held.get(seq) === hold) held.delete(seq);
        if (word === "ack") acked.add(seq);
        scheduleRefill();
      },
      prolonged: () => (hold.leaseUntil = performance.now() + leaseMs),
    });
    const hold = { leaseUntil: performance.now() + leaseMs };
    if (delivery.deliveries > 1 && acked.has(delivery.seq)) return void delivery.ack(); // PU5
    const isFull = held.size >= Math.max(inFlightMax(), from.most) && !held.has(delivery.seq);
    if (isStopped || isFull) {
      returned.note(delivery.seq); // PU7
      return giveBack(nc, message); // PU1, PU4
    }
    held.set(delivery.seq, hold);
    take(delivery);
    scheduleRefill();
  }

  function onStatus(from: Asking, { status, description, fields }: DecodedHeaders): void {
    if (status === 100) return; // A heartbeat: it has been heard, that is all.
    const pending = fields[natsHeaders.pendingMessages];
    if (pending !== undefined) from.requested = Math.max(0, from.requested - Number(pending));
    else {
      from.requested = 0;
      pullAfter = performance.now() + retryDelayMs;
      setTimeout(refill, retryDelayMs + 1).unref();
      const isGone = description === consumerDeleted;
      if (status === 503 || isGone) lookForIt();
      // 503 and a change of leader are an election and pass; anything else a person should see.
      else if (description !== "Leadership Change") report(`${name}: ${status} ${description}`);
    }
    scheduleRefill();
  }

  /** PU6. */
  function lookForIt(): void {
    if (isLookedFor || isStopped) return;
    isLookedFor = true;
    void remake().finally(() => {
      isLookedFor = false;
      refill();
    });
  }

  function onTick(): void {
    const now = performance.now();
    for (const [seq, hold] of held) if (hold.leaseUntil < now) held.delete(seq); // PU3
    if (now - tickedAt > 2 * tickMs) asking.heardAt = now; // PU2: what came meanwhile was not read yet.
    tickedAt = now;
    if (asking.requested > 0 && now - asking.heardAt > silenceMaxMs) startOver();
    acked.age(now);
    refill();
  }

  function startOver(): void {
    if (nc.isClosed()) return;
    asking.sub.unsubscribe();
    asking = ask(); // PU2
    refill();
  }

  /** Acks come in bursts; one request for all slots that a burst freed. */
  function scheduleRefill(): void {
    if (isRefillDue || isStopped) return;
    isRefillDue = true;
    setImmediate(() => {
      isRefillDue = false;
      refill();
    });
  }

  function refill(): void {
    const most = inFlightMax();
    const free = most - held.size - asking.requested;
    // Many small requests would each wait at the server; a quarter of the slots is worth one.
    const isWorthwhile = free > 0 && (asking.requested === 0 || free >= most / 4);
    const now = performance.now();
    if (isStopped || isLookedFor || !isWorthwhile || now < pullAfter || nc.isClosed()) return;
    if (asking.requested === 0) asking.heardAt = now;
    asking.most = most;
    asking.requested += free;
    const request = { batch: free, expires: expiresMs * 1e6, idle_heartbeat: heartbeatMs * 1e6 };
    nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify(request), {
      reply: asking.inbox,
    });
  }

  return {
    stop: async () => {
      if (isStopped) return;
      isStopped = true;
      clearInterval(tick);
      stopWatching();
      // A connection that is closed or silent has nothing on its way; its leases run out by themselves.
      await withinMs(drainMs, asking.sub.drain());
    },
  };
}

/** How often messages were sent to this process and given back unread, lately. */
export interface Returned {
  note(seq: number): void;
  times(seq: number): number;
}

const returnedMax = 8_192;

/** Nothing was given back; in two generations. */
export function createReturned(): Returned {
  let young = new Map<number, number>();
  let old = new Map<number, number>();
  const times = (seq: number) => young.get(seq) ?? old.get(seq) ?? 0;
  return {
    times,
    note: (seq) => {
      young.set(seq, times(seq) + 1);
      if (young.size < returnedMax) return;
      old = young;
      young = new Map();
    },
  };
}

/** The sequences acked lately, in two generations: a number in a set costs less than a time for each. */
function createAckMemory() {
  let young = new Set<number>();
  let old = new Set<number>();
  let bornAt = performance.now();
  return {
    add: (seq: number) => void young.add(seq),
    has: (seq: number) => young.has(seq) || old.has(seq),
    age: (now: number) => {
      if (now - bornAt < ackMemoryMs) return;
      bornAt = now;
      old = young;
      young = new Set();
    },
  };
}
