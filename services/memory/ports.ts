/**
 * The ports of one process on a memory server.
 *
 * Owns: putting each call through the process's gate, and the shape of what comes back. Does not own: what a
 * call does (server.ts) or suffers (gate.ts).
 *
 * MB1 Nothing is shared with the server: what is handed over is copied when the call is made.
 */
import { parseSagaId, type SagaId } from "../../protocol/ids.ts";
import { headers, subjects } from "../../protocol/subjects.ts";
import type {
  ClaimPort,
  Consumption,
  DeadPort,
  Delivery,
  InboxPort,
  LedgerPort,
  ListingPort,
  LivePort,
  LoopPort,
  Ports,
  WorkPort,
} from "../wire/ports.ts";
import { follow } from "./follow.ts";
import type { ProcessGate } from "./gate.ts";
import { createHop, type Queued, recall, toDelivery } from "./hop.ts";
import { atOnce } from "./reply.ts";
import { type Claim, copied, type MemoryServer } from "./server.ts";

/** All ports of a process, through its gate. */
export const memoryPorts = (server: MemoryServer, gate: ProcessGate, givesWayEvery: number): Ports => ({
  ledger: createLedger(server, gate),
  inbox: createInbox(server, gate),
  work: createWork(server, gate),
  claims: createClaims(server, gate),
  dead: createDead(server, gate),
  live: createLive(server, gate),
  loop: createLoop(gate, givesWayEvery),
  listing: createListing(server, gate),
  ...createShelfPorts(server, gate),
});

/** Virtual time is not held, so every so many pieces give way, 0 for none: by their number, the same in every run of a seed. */
function createLoop({ clock }: ProcessGate, givesWayEvery: number): LoopPort {
  let pieces = 0;
  return {
    breathe: () => {
      pieces += 1;
      return givesWayEvery > 0 && pieces % givesWayEvery === 0 ? clock.sleep(0) : undefined;
    },
  };
}

/** A call that the server answers at once. */
type Ask = <T>(method: string, act: () => T) => Promise<T>;

const askAs =
  (gate: ProcessGate, port: string): Ask =>
  (method, act) =>
    gate.request(port, method, atOnce(act));

function createInbox(server: MemoryServer, gate: ProcessGate): InboxPort {
  const ask = askAs(gate, "inbox");
  const returned = new Map<number, number>();
  return {
    partitions: server.inbox.partitions.length,
    publish: (message) => {
      const own = copied(message);
      return gate.request("inbox", "publish", (reply) => server.inbox.publish(own, reply), repeat(own.msgId));
    },
    stock: () => ask("stock", () => server.inbox.stock()),
    standingStart: (saga) => ask("standingStart", () => server.inbox.standingStart(saga)),
    consume: async (partition, { inFlightMax, startsMax }, take) => {
      const { starts, others } = await ask("consume", () => server.inbox.partitions[partition]!);
      const both = [
        consume({ gate, port: "inbox", queue: starts, returned, inFlightMax: startsMax, take }),
        consume({ gate, port: "inbox", queue: others, returned, inFlightMax: mostOf(inFlightMax), take }),
      ];
      return {
        stop: async () => {
          await Promise.all(both.map((one) => one.stop()));
        },
      };
    },
    ...createHop(server.inbox, gate),
    recall,
    outstanding: async (partitions) => {
      const giveBack = await ask("outstanding", () => server.inbox.outstanding(partitions));
      return { giveBack: () => ask("giveBack", giveBack) };
    },
    schedule: (timer) => {
      const { headers } = copied({ data: nothing, headers: timer.headers });
      return ask("schedule", () => server.inbox.timers.arm({ ...timer, headers }));
    },
    unschedule: (saga, intent) => ask("unschedule", () => server.inbox.timers.disarm(saga, intent)),
  };
}

function createWork(server: MemoryServer, gate: ProcessGate): WorkPort {
  const ask = askAs(gate, "work");
  return {
    stock: () => ask("stock", () => server.work.stock()),
    waiting: (before) =>
      ask("waiting", () => {
        const calls = server.work.calls().filter(({ storedAt }) => storedAt < before);
        return new Set(calls.map(({ headers: fields }) => parseSagaId(fields[headers.saga] ?? "")));
      }),
    publish: (ref, message) => {
      const own = { ...copied(message), subject: subjects.work(ref) };
      return gate.request("work", "publish", (reply) => server.work.publish(own, reply), repeat(own.msgId));
    },
    open: (ref, { concurrencyMax }) =>
      ask("open", () => void server.work.queue(subjects.work(ref), concurrencyMax)),
    consume: async (ref, { inFlightMax }, take) => {
      const queue = await ask("consume", () => server.work.queue(subjects.work(ref)));
      return consume({
        gate,
        port: "work",
        queue,
        returned: new Map(),
        inFlightMax: () => inFlightMax,
        take,
      });
    },
    pause: (tool) => ask("pause", () => server.work.queues(tool).forEach((queue) => queue.pause(true))),
    resume: (tool) => ask("resume", () => server.work.queues(tool).forEach((queue) => queue.pause(false))),
  };
}

const sagaOfKey = (key: string): SagaId => parseSagaId(key.split(".", 1)[0]!);

const createClaims = (server: MemoryServer, gate: ProcessGate): ClaimPort => ({
  create: async (key, attempt, nonce) => {
    const name = `${key}.${attempt}`;
    const claim = await gate.request<Claim>("claims", "create", (reply) =>
      server.claims.create(name, nonce, reply),
    );
    return claim.holder === nonce ? { won: true } : { won: false, ...claim };
  },
  list: (saga) =>
    askAs(gate, "claims")("list", () => server.claims.list().filter((name) => name.startsWith(`${saga}.`))),
  sagas: () =>
    askAs(gate, "claims")("sagas", () => new Set(server.claims.list().map((name) => sagaOfKey(name)))),
  drop: (saga) => askAs(gate, "claims")("drop", () => server.claims.drop(saga)),
  now: () => askAs(gate, "claims")("now", () => server.now()),
});

function createDead(server: MemoryServer, gate: ProcessGate): DeadPort {
  const ask = askAs(gate, "dead");
  return {
    publish: async (message) => {
      const own = copied(message);
      await gate.request("dead", "publish", (reply) => server.dead.publish(own, reply), repeat(own.msgId));
    },
    list: () => ask("list", () => server.dead.list()),
    get: (seq) => ask("get", () => server.dead.list().find((letter) => letter.seq === seq)),
    remove: (seq) => ask("remove", () => server.dead.remove(seq)),
  };
}

type ShelfPorts = Pick<
  Ports,
  "snapshots" | "blobs" | "registry" | "membership" | "throttles" | "suspects" | "listing"
>;

/** What is kept by name (shelves.ts). */
function createShelfPorts({ shelves, inbox }: MemoryServer, gate: ProcessGate): ShelfPorts {
  const ask = <T>(port: string, method: string, act: () => T) => askAs(gate, port)(method, act);
  /** Hands over a copy (MB1). */
  const give = <T>(port: string, method: string, data: Uint8Array, act: (own: Uint8Array) => T) => {
    const own = new Uint8Array(data);
    return ask(port, method, () => act(own));
  };
  return {
    snapshots: {
      get: (saga, name) => ask("snapshots", "get", () => shelves.getSnapshot(saga, name)),
      put: (saga, data, name) =>
        give("snapshots", "put", data, (own) => shelves.putSnapshot(saga, own, name)),
      sagas: () => ask("snapshots", "sagas", () => new Set(shelves.snapshotKeys().map(sagaOfKey))),
      drop: (saga) => ask("snapshots", "drop", () => shelves.dropSnapshots(saga)),
    },
    blobs: {
      put: (digest, bytes) => give("blobs", "put", bytes, (own) => shelves.putBlob(digest, own)),
      get: (digest) => ask("blobs", "get", () => shelves.getBlob(digest)),
    },
    registry: {
      put: (key, data) => give("registry", "put", data, (own) => shelves.putDocument(key, own)),
      list: () => ask("registry", "list", () => shelves.listDocuments()),
      read: (key) => ask("registry", "read", () => shelves.readDocument(key)),
      write: (key, data, revision) =>
        give("registry", "write", data, (own) => shelves.writeDocument(key, own, revision)),
    },
    membership: {
      beat: (host, data, ttlMs) => give("membership", "beat", data, (own) => shelves.beat(host, own, ttlMs)),
      leave: (host) => ask("membership", "leave", () => shelves.leave(host)),
      remove: (host, revision) => ask("membership", "remove", () => shelves.removeHost(host, revision)),
      hosts: () => ask("membership", "hosts", () => shelves.hosts()),
      server: () => "memory",
      connection: () => (gate.isReachable() ? `memory.${gate.cuts()}` : undefined),
      isUnheard: (host) =>
        ask(
          "membership",
          "isUnheard",
          () => inbox.hops.get(host)?.isReachable?.() === false || !inbox.hops.has(host),
        ),
      follow: (signal) => followCore(gate, signal, (hear) => shelves.watchHosts(hear)),
    },
    throttles: {
      read: (key) => ask("throttles", "read", () => shelves.getThrottle(key)),
      write: (key, data, revision) =>
        give("throttles", "write", data, (own) => shelves.putThrottle(key, own, revision)),
      list: () => ask("throttles", "list", () => shelves.listThrottles()),
    },
    suspects: {
      get: (key) => ask("suspects", "get", () => shelves.getSuspect(key)),
      put: (key, data, ttlMs) => give("suspects", "put", data, (own) => shelves.putSuspect(key, own, ttlMs)),
      remove: (key, revision) => ask("suspects", "remove", () => shelves.removeSuspect(key, revision)),
    },
  };
}

/** The rows of the listing, which stand on a shelf too. */
function createListing({ shelves }: MemoryServer, gate: ProcessGate): ListingPort {
  const ask = askAs(gate, "listing");
  return {
    put: (key, data, msgId) => {
      const own = new Uint8Array(data);
      return gate.request(
        "listing",
        "put",
        atOnce(() => shelves.putRow(key, own, msgId)),
        repeat(msgId),
      );
    },
    remove: (key, msgId) =>
      gate.request(
        "listing",
        "remove",
        atOnce(() => shelves.putRow(key, undefined, msgId)),
        repeat(msgId),
      ),
    standing: (keys) => ask("standing", () => keys.flatMap((key) => shelves.getRow(key) ?? [])),
    read: async function* (pattern, afterPlace) {
      yield await ask("read", () => shelves.rows(pattern, afterPlace));
    },
    holder: () => ask("holder", () => shelves.rowsHolder()),
    pin: (from) => ask("pin", () => shelves.pinRows(from)),
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
  first: (saga) =>
    gate.request(
      "ledger",
      "first",
      atOnce(() => server.ledger.after(saga, 0)[0]),
    ),
  read: (...range) =>
    gate.request(
      "ledger",
      "read",
      atOnce(() => server.ledger.read(...range)),
    ),
  list: () =>
    gate.request(
      "ledger",
      "list",
      atOnce(() => server.ledger.list()),
    ),
  end: () =>
    gate.request(
      "ledger",
      "end",
      atOnce(() => [server.ledger.end()]),
    ),
  since: async function* ([place = 0]) {
    yield await askAs(gate, "ledger")("since", () => ({
      ...{ shard: 0, through: server.ledger.end() },
      messages: server.ledger.after(undefined, place),
    }));
  },
  purgeBefore: (saga, seq) =>
    gate.request(
      "ledger",
      "purgeBefore",
      atOnce(() => server.ledger.purgeBefore(saga, seq)),
    ),
  follow: (options) => {
    const { saga, signal } = options;
    let cursor = options.saga === undefined ? 0 : (options.afterSeq ?? 0);
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
  follow: (saga, signal, only) =>
    followCore(gate, signal, (hear) =>
      server.live.listen(saga, (lane, data) => {
        if (only === undefined || lane === only) hear({ lane, data });
      }),
    ),
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

interface Consuming extends Queued {
  /** How often messages were given back unread, by their sequences. */
  readonly returned: Map<number, number>;
  readonly inFlightMax: () => number;
  readonly take: (delivery: Delivery) => void;
}

const mostOf = (most: number | (() => number)): (() => number) =>
  typeof most === "number" ? () => most : most;

/**
 * Attaches the process to the queue until it stops or crashes. Done once the server has answered: a call that
 * failed must not leave a consumption behind that no caller can stop.
 */
function consume({ gate, port, queue, returned, inFlightMax, take }: Consuming): Consumption {
  let isStopped = false;
  const link = queue.attach({
    inFlightMax,
    isReachable: gate.isReachable,
    receive: ({ message, deliveries }) =>
      gate.reach(
        () => {
          const { seq } = message;
          const unread = returned.get(seq) ?? 0;
          // What was on its way when the consumption was stopped goes back, so that another may have it; no receiver had it.
          if (!isStopped) return take(toDelivery({ gate, port, queue }, message, deliveries - unread));
          returned.set(seq, unread + 1);
          gate.post(() => queue.nak(seq, 0));
        },
        { mayOvertake: true },
      ),
  });
  const detach = gate.attach(link);
  return {
    stop: async () => {
      isStopped = true;
      link.end();
      detach();
    },
  };
}
