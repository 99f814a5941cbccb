/**
 * The server of a memory mesh: every stream and bucket, in one process and in virtual time.
 *
 * Owns: putting together what the mesh stands on, in the shapes of one server or of three. Called by ports.ts
 * alone, for all processes; it never sees which process calls. Left out: power loss, limits of size other than a
 * message's.
 *
 * SV1 Whatever a caller hands over is copied: a process may use its buffer again.
 * SV2 An input's partition is the server's to find, by a hash of its saga's id.
 */
import { MeshError } from "../../protocol/errors.ts";
import { minOf } from "../../protocol/extremes.ts";
import { limits } from "../../protocol/limits.ts";
import type { SagaId } from "../../protocol/ids.ts";
import {
  type Headers,
  inboxSubjects,
  parseInboxSubject,
  parseWorkSubject,
  sagaOfLedger,
  subjects,
} from "../../protocol/subjects.ts";
import type { Ack, InboxStock, StoredMessage } from "../wire/ports.ts";
import type { VirtualClock } from "./clock.ts";
import { calm, createWeather, hashText, seededChance, type Weather } from "./faults.ts";
import { createLog, type MemoryLog } from "./log.ts";
import { createQueue, type MemoryQueue } from "./queue.ts";
import type { Reply } from "./reply.ts";
import { createShelves, type Shelves } from "./shelves.ts";
import { createStream, type MemoryStream, type Storing } from "./stream.ts";
import { createTimers, type MemoryTimers } from "./timers.ts";

export interface MemoryServerOptions {
  readonly clock: VirtualClock;
  /** One server, or three that replicate. */
  readonly replicas: 1 | 3;
  /** What goes wrong on the server's side; calm if left out. */
  readonly weather?: Weather;
  /** Default 4: enough to tell partitions apart. */
  readonly partitions?: number;
  readonly duplicateWindowMs?: number;
}

export interface Claim {
  readonly holder: string;
  readonly claimedAt: number;
}

/** Tells a host of an input with its queue; `answer` is called with whether it was taken, or never. */
export interface Hear {
  (handed: HandedOver, answer: (isTaken: boolean) => void): void;
  /** False while its process is cut off: to the server nobody listens then. Always true unless given. */
  isReachable?(): boolean;
}

/** An input on its way from one host to another. */
export interface HandedOver {
  readonly message: StoredMessage;
  readonly deliveries: number;
  readonly queue: MemoryQueue;
  readonly meant: string;
}

export interface MemoryServer {
  readonly replicas: 1 | 3;
  /** `setBack`: an older copy of it is put in place of it. */
  readonly ledger: MemoryLog & {
    append(message: Storing, reply: Reply<Ack>): void;
    lastSeq(): number;
  };
  readonly inbox: {
    /** What begins a saga waits apart from what reaches one. */
    readonly partitions: readonly { readonly starts: MemoryQueue; readonly others: MemoryQueue }[];
    publish(message: Storing, reply: Reply<Ack>): void;
    /** The saga's newest start that is not acked. */
    standingStart(saga: SagaId): StoredMessage | undefined;
    stock(): InboxStock;
    /** Gives back what is out of these partitions by then and still when it is called. */
    outstanding(partitions: readonly number[]): () => void;
    readonly timers: MemoryTimers;
    /** Hosts that hear what is handed on to them, by name. */
    readonly hops: Map<string, Hear>;
  };
  readonly work: {
    publish(message: Storing, reply: Reply<Ack>): void;
    /** The queue of the subject; a bound, where given, is set for all who take from it. */
    queue(subject: string, concurrencyMax?: number): MemoryQueue;
    /** Those of a tool, whichever the contract. */
    queues(tool: string): MemoryQueue[];
    /** When the oldest call of each contract was stored. */
    stock(): Map<string, number>;
    /** Every call that is stored. */
    calls(): StoredMessage[];
  };
  readonly claims: {
    create(name: string, nonce: string, reply: Reply<Claim>): void;
    list(): string[];
    /** Takes away those of a saga. */
    drop(saga: SagaId): void;
    /** An older copy of them, of this time, is put in place of them. */
    setBack(at: number): void;
  };
  readonly dead: {
    publish(message: Storing, reply: Reply<Ack>): void;
    list(): StoredMessage[];
    remove(seq: number): void;
  };
  readonly shelves: Shelves;
  /** Core messages: the processes that listen now hear them. Returns the end of listening. */
  readonly live: {
    publish(saga: SagaId, lane: string, data: Uint8Array): void;
    listen(saga: SagaId, hear: (lane: string, data: Uint8Array) => void): () => void;
  };
  /** The server's time. */
  now(): number;
  /** While full, nothing is stored: STORAGE_FULL. */
  setFull(isFull: boolean): void;
  /** Takes all that is stored there away, as one who deletes the stream that holds it: timers with the inputs, or alone. */
  lose(what: "inbox" | "work" | "timers"): void;
  /** What is not done yet: inputs and work not acked, timers armed. */
  open(): { inbox: number; work: number; timers: number };
}

export function createMemoryServer(options: MemoryServerOptions): MemoryServer {
  const { clock, replicas, partitions = 4, duplicateWindowMs = limits.duplicateWindowMs } = options;
  const weather = options.weather ?? createWeather(clock, seededChance(0, "server"), calm);
  let full = false;
  let remadeAt: number | undefined;
  const isFull = () => full;
  const stream = (
    take: (message: StoredMessage) => void,
    headOf?: (subject: string) => number,
  ): MemoryStream =>
    createStream({ clock, weather, replicas, duplicateWindowMs, isFull, take, ...(headOf && { headOf }) });

  const log = createLog(clock, replicas, weather);
  const ledger = stream(
    (message) => log.add(message),
    (subject) => log.headSeq(sagaOfLedger(subject)),
  );

  const append = (message: Storing, reply: Reply<Ack>) => {
    const head =
      message.expectedSeq === undefined ? undefined : log.deposedHead(sagaOfLedger(message.subject));
    if (head === undefined) return ledger.store(message, reply);
    // A deposed leader finds no replica to store with, so it refuses or is silent.
    const code = head === message.expectedSeq ? "UNAVAILABLE" : "WRONG_SEQUENCE";
    reply({ error: new MeshError(code, `${message.subject}: a deposed leader has ${head}`) });
  };

  const { partitionQueues, standingStart, queueOf, inputs } = createPartitions(clock, weather, partitions);
  const inbox = stream(
    (message) => queueOf(message.subject).add(message),
    (subject) => queueOf(subject).newest(subject)?.seq ?? 0,
  );
  const publishInput = (message: Storing, reply: Reply<Ack>) => {
    if (!isInput(message.subject)) return reply({ error: untaken(message.subject) });
    inbox.store({ ...message, subject: storedSubject(message.subject, partitions) }, reply);
  };
  const timers = createTimers(clock, weather.chance.fork("timers"), ({ saga, intent, headers }) =>
    publishInput({ subject: subjects.timerTarget(saga, intent), data: new Uint8Array(), headers }, () => {}),
  );

  const workQueues = createWorkQueues(() => createQueue(clock, weather, limits.workAckWaitMs));
  const work = stream((message) => workQueues.queue(message.subject).add(message));

  let deadLetters: StoredMessage[] = [];
  const dead = stream((message) => deadLetters.push(message));

  return {
    replicas,
    ledger: { ...log, ...numberedBack(log, ledger), append },
    inbox: {
      ...{ partitions: partitionQueues, publish: publishInput, standingStart, timers, hops: new Map() },
      outstanding: (partitions) => outstandingIn(partitions.map((one) => partitionQueues[one]!)),
      stock: () => ({ ...stockOf(inputs(), partitionQueues), timers: timers.armed(), remadeAt }),
    },
    work: { publish: work.store, ...workQueues },
    claims: createClaims(stream),
    dead: {
      publish: dead.store,
      list: () => [...deadLetters],
      remove: (seq) => void (deadLetters = deadLetters.filter((letter) => letter.seq !== seq)),
    },
    shelves: createShelves(clock, isFull),
    live: createLive(),
    now: () => clock.now(),
    setFull: (isNowFull) => void (full = isNowFull),
    lose: (what) => {
      if (what !== "work") timers.lose();
      if (what === "inbox") remadeAt = clock.now();
      for (const queue of { inbox: inputs(), work: workQueues.all(), timers: [] }[what]) queue.lose();
    },
    open: () => ({
      inbox: sizeOf(inputs()),
      work: sizeOf(workQueues.all()),
      timers: timers.size(),
    }),
  };
}

const untaken = (subject: string): MeshError =>
  new MeshError("UNAVAILABLE", `${subject}: no stream takes this subject`);

/** A ledger that is set back numbers its messages from there again. */
const numberedBack = (log: MemoryLog, { setBack, lastSeq }: MemoryStream) => ({
  lastSeq,
  setBack: (seq: number) => {
    log.setBack(seq);
    setBack(seq);
  },
});

/** The queues of work, each from when its subject is first spoken of. */
function createWorkQueues(create: () => MemoryQueue) {
  const queues = new Map<string, MemoryQueue>();
  return {
    queue: (subject: string, concurrencyMax?: number): MemoryQueue => {
      const queue = queues.get(subject) ?? create();
      queues.set(subject, queue);
      if (concurrencyMax !== undefined) queue.bound(concurrencyMax);
      return queue;
    },
    queues: (tool: string): MemoryQueue[] =>
      [...queues].filter(([subject]) => parseWorkSubject(subject).name === tool).map(([, queue]) => queue),
    all: (): MemoryQueue[] => [...queues.values()],
    calls: () => [...queues.values()].flatMap((queue) => queue.all()),
    stock: () =>
      new Map(
        [...queues].flatMap(([subject, queue]) => {
          const times = queue.all().map(({ storedAt }) => storedAt);
          return times.length === 0 ? [] : [[parseWorkSubject(subject).contract, minOf(times)] as const];
        }),
      ),
  };
}

/** The inbox's queues, two for each partition. */
function createPartitions(clock: VirtualClock, weather: Weather, partitions: number) {
  const queue = () => createQueue(clock, weather, limits.inboxAckWaitMs);
  const partitionQueues = Array.from({ length: partitions }, () => ({ starts: queue(), others: queue() }));
  /** Of a subject as it is stored. */
  const queueOf = (stored: string): MemoryQueue => {
    const [, partition, , kind] = stored.split(".");
    return partitionQueues[Number(partition)]![kind === "start" ? "starts" : "others"];
  };
  const standingStart = (saga: SagaId) => {
    const stored = storedSubject(subjects.start(saga), partitions);
    return queueOf(stored).newest(stored);
  };
  const inputs = () => partitionQueues.flatMap(({ starts, others }) => [starts, others]);
  return { partitionQueues, queueOf, standingStart, inputs };
}

function outstandingIn(partitions: ReturnType<typeof createPartitions>["partitionQueues"]): () => void {
  const all = partitions
    .flatMap(({ starts, others }) => [starts, others])
    .map((queue) => ({ queue, seqs: queue.out() }));
  return () => {
    for (const { queue, seqs } of all) for (const seq of seqs.splice(0)) queue.nak(seq, 0);
  };
}

const sizeOf = (queues: readonly MemoryQueue[]): number =>
  queues.reduce((sum, queue) => sum + queue.size(), 0);

const inputPatterns = inboxSubjects.map((pattern) => pattern.split("."));

const isInput = (subject: string): boolean => {
  const tokens = subject.split(".");
  return inputPatterns.some(
    (pattern) =>
      pattern.length === tokens.length && pattern.every((token, at) => token === "*" || token === tokens[at]),
  );
};

const stockOf = (
  inputs: readonly MemoryQueue[],
  partitions: readonly { readonly starts: MemoryQueue }[],
): Pick<InboxStock, "sagas" | "starts"> => ({
  sagas: sagasIn(inputs),
  starts: sagasIn(partitions.map(({ starts }) => starts)),
});

const sagasIn = (queues: readonly MemoryQueue[]): Set<SagaId> =>
  new Set(queues.flatMap((queue) => queue.all().map(({ subject }) => parseInboxSubject(subject).saga)));

/** SV2: `saga.<id>.<rest>` becomes `inbox.<partition>.<id>.<rest>`, the stream's own transform. */
const storedSubject = (subject: string, partitions: number): string => {
  const [, id = "", ...rest] = subject.split(".");
  const own = subjects.inboxPartition(hashText(id) % partitions);
  return own.replace(">", [id, ...rest].join("."));
};

/** A claim is a compare-and-set on a subject without a message; the holder's nonce is found there. */
function createClaims(
  stream: (take: (message: StoredMessage) => void, headOf: (subject: string) => number) => MemoryStream,
) {
  const heads = new Map<string, number>();
  const claims = new Map<string, Claim>();
  let age = ""; // Of the copy: what stood under a name before it was put in place stands in no one's way.
  const { store } = stream(
    ({ subject, seq, headers, storedAt }) => {
      heads.set(subject, seq);
      claims.set(subject.split(" ")[0]!, { holder: headers[nonceHeader]!, claimedAt: storedAt });
    },
    (subject) => heads.get(subject) ?? 0,
  );
  return {
    create: (name: string, nonce: string, reply: Reply<Claim>) => {
      if (age !== "" && claims.has(name)) return reply({ value: claims.get(name)! });
      const message = { subject: name + age, data: new Uint8Array(), headers: { [nonceHeader]: nonce } };
      store({ ...message, msgId: `${name}${age}.${nonce}`, expectedSeq: 0 }, (outcome) => {
        const claim = claims.get(name);
        if ("error" in outcome && outcome.error.code !== "WRONG_SEQUENCE") reply(outcome);
        else if (claim !== undefined)
          reply({ value: claim }); // stored now, before, or by another: it is there
        else reply({ error: new MeshError("UNAVAILABLE", `claim ${name} was refused and is not there`) });
      });
    },
    list: () => [...claims.keys()],
    drop: (saga: SagaId) => {
      for (const all of [claims, heads])
        for (const name of all.keys()) if (name.startsWith(`${saga}.`)) all.delete(name);
    },
    setBack: (at: number) => {
      age += " ";
      for (const [name, { claimedAt }] of claims) if (claimedAt > at) claims.delete(name);
    },
  };
}

const nonceHeader = "Nonce";

function createLive() {
  const listeners = new Map<SagaId, Set<(lane: string, data: Uint8Array) => void>>();
  return {
    publish: (saga: SagaId, lane: string, data: Uint8Array) => {
      for (const hear of listeners.get(saga) ?? []) hear(lane, data);
    },
    listen: (saga: SagaId, hear: (lane: string, data: Uint8Array) => void) => {
      const own = listeners.get(saga) ?? new Set();
      listeners.set(saga, own.add(hear));
      return () => void own.delete(hear);
    },
  };
}

/** SV1, and one line for each header's value: a line break would end the field. */
export const copied = <T extends { data: Uint8Array; headers: Headers }>(message: T): T => ({
  ...message,
  data: new Uint8Array(message.data),
  headers: Object.fromEntries(
    Object.entries(message.headers).map(([name, value]) => [name, value.replaceAll(/[\r\n]+/g, " ")]),
  ),
});
