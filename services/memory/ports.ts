/**
 * The ports of one process on a memory server.
 *
 * Owns: putting each call through the process's gate, and the shape of what comes back. Does not own: what a
 * call does (server.ts) or suffers (gate.ts).
 *
 * MB1 Nothing is shared with the server: what is handed over is copied when the call is made.
 * MB2 An ack or nak is a call that may fail, and may then be said again.
 */
import { subjects } from "../../protocol/subjects.ts";
import type { Consumption, Delivery, LedgerPort, LivePort, Ports, StoredMessage } from "../wire/ports.ts";
import { follow } from "./follow.ts";
import type { ProcessGate } from "./gate.ts";
import type { MemoryQueue } from "./queue.ts";
import { atOnce } from "./reply.ts";
import { type Claim, copied, type MemoryServer } from "./server.ts";

/** All ports of a process, through its gate. */
export function memoryPorts(server: MemoryServer, gate: ProcessGate): Ports {
  const ask = <T>(port: string, method: string, act: () => T): Promise<T> =>
    gate.request(port, method, atOnce(act));
  return {
    ledger: createLedger(server, gate),
    inbox: {
      partitions: server.inbox.partitions.length,
      publish: (message) => {
        const own = copied(message);
        return gate.request(
          "inbox",
          "publish",
          (reply) => server.inbox.publish(own, reply),
          repeat(own.msgId),
        );
      },
      consume: async (partition, { inFlightMax, startsMax }, take) => {
        const { starts, others } = await ask("inbox", "consume", () => server.inbox.partitions[partition]!);
        const both = [
          consume({ gate, port: "inbox", queue: starts, inFlightMax: startsMax, take }),
          consume({ gate, port: "inbox", queue: others, inFlightMax: () => inFlightMax, take }),
        ];
        return {
          stop: async () => {
            await Promise.all(both.map((one) => one.stop()));
          },
        };
      },
      schedule: (timer) => {
        const { headers } = copied({ data: nothing, headers: timer.headers });
        return ask("inbox", "schedule", () => server.inbox.timers.arm({ ...timer, headers }));
      },
      unschedule: (saga, intent) =>
        ask("inbox", "unschedule", () => server.inbox.timers.disarm(saga, intent)),
    },
    work: {
      publish: (tool, message) => {
        const own = { ...copied(message), subject: subjects.work(tool) };
        return gate.request("work", "publish", (reply) => server.work.publish(own, reply), repeat(own.msgId));
      },
      consume: async (tool, { inFlightMax, concurrencyMax }, take) => {
        const queue = await ask("work", "consume", () =>
          server.work.queue(subjects.work(tool), concurrencyMax),
        );
        return consume({ gate, port: "work", queue, inFlightMax: () => inFlightMax, take });
      },
      pause: (tool) => ask("work", "pause", () => server.work.queue(subjects.work(tool)).pause(true)),
      resume: (tool) => ask("work", "resume", () => server.work.queue(subjects.work(tool)).pause(false)),
    },
    claims: {
      create: async (key, attempt, nonce) => {
        const name = `${key}.${attempt}`;
        const claim = await gate.request<Claim>("claims", "create", (reply) =>
          server.claims.create(name, nonce, reply),
        );
        return claim.holder === nonce ? { won: true } : { won: false, ...claim };
      },
      now: () => ask("claims", "now", () => server.now()),
    },
    snapshots: {
      get: (saga, name) => ask("snapshots", "get", () => server.shelves.getSnapshot(saga, name)),
      put: (saga, data, name) => {
        const own = new Uint8Array(data);
        return ask("snapshots", "put", () => server.shelves.putSnapshot(saga, own, name));
      },
      drop: (saga) => ask("snapshots", "drop", () => server.shelves.dropSnapshots(saga)),
    },
    blobs: {
      put: (digest, bytes) => {
        const own = new Uint8Array(bytes);
        return ask("blobs", "put", () => server.shelves.putBlob(digest, own));
      },
      get: (digest) => ask("blobs", "get", () => server.shelves.getBlob(digest)),
    },
    dead: {
      publish: async (message) => {
        const own = copied(message);
        await gate.request("dead", "publish", (reply) => server.dead.publish(own, reply), repeat(own.msgId));
      },
      list: () => ask("dead", "list", () => server.dead.list()),
      get: (seq) => ask("dead", "get", () => server.dead.list().find((letter) => letter.seq === seq)),
      remove: (seq) => ask("dead", "remove", () => server.dead.remove(seq)),
    },
    live: createLive(server, gate),
    registry: {
      put: (key, data) => {
        const own = new Uint8Array(data);
        return ask("registry", "put", () => server.shelves.putDocument(key, own));
      },
      list: () => ask("registry", "list", () => server.shelves.listDocuments()),
    },
    membership: {
      beat: (host, data, ttlMs) => {
        const own = new Uint8Array(data);
        return ask("membership", "beat", () => server.shelves.beat(host, own, ttlMs));
      },
      leave: (host) => ask("membership", "leave", () => server.shelves.leave(host)),
      hosts: () => ask("membership", "hosts", () => server.shelves.hosts()),
      follow: (signal) => followCore(gate, signal, (hear) => server.shelves.watchHosts(hear)),
    },
    throttles: {
      read: (key) => ask("throttles", "read", () => server.shelves.getThrottle(key)),
      write: (key, data, revision) => {
        const own = new Uint8Array(data);
        return ask("throttles", "write", () => server.shelves.putThrottle(key, own, revision));
      },
      list: () => ask("throttles", "list", () => server.shelves.listThrottles()),
    },
    suspects: {
      get: (key) => ask("suspects", "get", () => server.shelves.getSuspect(key)),
      put: (key, data, ttlMs) => {
        const own = new Uint8Array(data);
        return ask("suspects", "put", () => server.shelves.putSuspect(key, own, ttlMs));
      },
      remove: (key, revision) => ask("suspects", "remove", () => server.shelves.removeSuspect(key, revision)),
    },
  };
}

const nothing = new Uint8Array();

/** Only what carries a Msg-Id may arrive twice: the server would take the other for two. */
const repeat = (msgId: string | undefined) => ({ mayRepeat: msgId !== undefined });

const createLedger = (server: MemoryServer, gate: ProcessGate): LedgerPort => ({
  append: (saga, message) => {
    const own = { ...copied(message), subject: subjects.ledger(saga) };
    return gate.request("ledger", "append", (reply) => server.ledger.append(own, reply), { mayRepeat: true });
  },
  last: (saga) =>
    gate.request(
      "ledger",
      "last",
      atOnce(() => server.ledger.last(saga)),
    ),
  read: (saga, afterSeq, throughSeq) =>
    gate.request(
      "ledger",
      "read",
      atOnce(() => server.ledger.read(saga, afterSeq, throughSeq)),
    ),
  list: () =>
    gate.request(
      "ledger",
      "list",
      atOnce(() => server.ledger.list()),
    ),
  purgeBefore: (saga, seq) =>
    gate.request(
      "ledger",
      "purgeBefore",
      atOnce(() => server.ledger.purgeBefore(saga, seq)),
    ),
  follow: ({ saga, afterSeq = 0, signal }) => {
    let cursor = afterSeq;
    const next = () => {
      const turns = server.ledger.after(saga, cursor);
      cursor = turns.at(-1)?.seq ?? cursor;
      return turns;
    };
    return follow(gate, signal, { next, watch: (wake) => server.ledger.watch(saga, wake) });
  },
});

/** A follower that does not keep up loses the oldest. */
const coreBacklogMax = 10_000;

const createLive = (server: MemoryServer, gate: ProcessGate): LivePort => ({
  publish: (saga, lane, data) => {
    const own = new Uint8Array(data);
    gate.post(() => server.live.publish(saga, lane, own));
  },
  follow: (saga, signal) =>
    followCore(gate, signal, (hear) => server.live.listen(saga, (lane, data) => hear({ lane, data }))),
});

/** Follows what is not stored, from the call on. */
function followCore<T>(
  gate: ProcessGate,
  signal: AbortSignal,
  listen: (hear: (heard: T) => void) => () => void,
): AsyncIterable<T> {
  let backlog: T[] = [];
  const next = () => {
    const heard = backlog;
    backlog = [];
    return heard;
  };
  const watch = (wake: () => void) =>
    listen((heard) => {
      if (!gate.isReachable()) return; // what is sent to a process that is cut off is lost
      backlog.push(heard);
      if (backlog.length > coreBacklogMax) backlog.shift();
      wake();
    });
  return follow(gate, signal, { next, watch });
}

interface Consuming {
  readonly gate: ProcessGate;
  readonly port: string;
  readonly queue: MemoryQueue;
  readonly inFlightMax: () => number;
  readonly take: (delivery: Delivery) => void;
}

/**
 * Attaches the process to the queue until it stops or crashes. Done once the server has answered: a call that
 * failed must not leave a consumption behind that no caller can stop.
 */
function consume({ gate, port, queue, inFlightMax, take }: Consuming): Consumption {
  let isStopped = false;
  const link = queue.attach({
    inFlightMax,
    isReachable: gate.isReachable,
    receive: ({ message, deliveries }) =>
      gate.reach(
        () => {
          const delivery = toDelivery(message, deliveries);
          // What was on its way when the consumption was stopped goes back, so that another may have it.
          if (isStopped) gate.post(() => queue.nak(message.seq, 0));
          else take(delivery);
        },
        { mayOvertake: true },
      ),
  });
  const detach = gate.attach(link);

  const toDelivery = (message: StoredMessage, deliveries: number): Delivery => ({
    ...message,
    deliveries,
    ack: () =>
      gate.request(
        port,
        "ack",
        atOnce(() => queue.ack(message.seq)),
      ), // MB2
    nak: (delayMs = 0) =>
      gate.request(
        port,
        "nak",
        atOnce(() => queue.nak(message.seq, delayMs)),
      ),
    working: () => gate.post(() => queue.working(message.seq)),
  });
  return {
    stop: async () => {
      isStopped = true;
      link.end();
      detach();
    },
  };
}
