/**
 * Ports: what host, worker and client need from the outside, in house words. Types only.
 *
 * Each has two implementations, services/nats (JetStream) and services/memory (the reference model), held
 * to one contract suite.
 *
 * WO1 A port's method either returns, or throws a MeshError. UNAVAILABLE means "not answered": it may or may
 *     not have happened, and the same call may be sent again. Implementations do not retry by themselves
 *     where a retry could change the meaning; services/host/append.ts and patience.ts do.
 * WO2 Nothing here decides. A port never reads a body.
 */
import type { MeshError } from "../../protocol/errors.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Headers } from "../../protocol/subjects.ts";
import type { ContractRef } from "../../protocol/tool.ts";
import type { RestoreMark } from "./restored.ts";

/** Time. Production: the server's, kept by the machine's clock. Simulation: virtual. */
export interface Clock {
  /** The time of day, milliseconds since the epoch: for what others read. It may be set, forwards or back. */
  now(): number;
  /**
   * Milliseconds since some moment of this process: for how long something takes or holds. It never goes back, and counts
   * what the process did not live through (a machine that slept, a clock set forwards): a lease ends early, never late.
   */
  elapsed(): number;
  /** Resolves after `ms`; rejects with the signal's reason when aborted. Never a durable timer. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls back after `ms`, unless taken back by the function returned. What most often never fires needs no promise. */
  after(ms: number, fire: () => void): () => void;
}

/** Chance: a number in [0, 1) and unique short texts. Seeded in the simulator. */
export interface Chance {
  random(): number;
  nonce(): string;
}

/** The event loop of this process, which long work shares with all else that goes on here. */
export interface LoopPort {
  /**
   * Asked between two pieces of long work: undefined while it may go on, else its next turn. Never rejects. In virtual
   * time no time is held, so nothing gives way unless a mesh is told to.
   */
  breathe(): Promise<void> | undefined;
}

/**
 * Whether a message may be a turn by who signed it. `unknown`: by a key that nobody named yet, which `why` is; `unsettled`:
 * that is being decided, and it may be asked again.
 */
export type Standing =
  { readonly kind: "counts" } | { readonly kind: "foreign" | "unknown" | "unsettled"; readonly why: string };

export interface StoredMessage {
  readonly subject: string;
  readonly seq: number;
  readonly headers: Headers;
  readonly data: Uint8Array;
  /** The server's time of the message, milliseconds since the epoch. A Msg-Id stands under `headers.msgId`. */
  readonly storedAt: number;
  /** Of a ledger's, where a mesh says whose signatures count (services/ledger/trust.ts): its standing now. Absent: it counts. */
  readonly standing?: () => Standing;
}

export interface Ack {
  readonly seq: number;
  /** The server knew the Msg-Id: nothing was stored now. */
  readonly duplicate: boolean;
}

/** Some of what was stored in a shard of the ledgers, signposts and what others published there too. */
export interface LedgerPiece {
  readonly shard: number;
  /** All that is stored up to this sequence was told by now. */
  readonly through: number;
  readonly messages: readonly StoredMessage[];
}

export interface LedgerPort {
  /**
   * One compare-and-set on the saga's literal subject: stored only if the subject's last sequence is
   * `expectedSeq` (0: none). Throws WRONG_SEQUENCE (10071), WRITE_IN_FLIGHT (10164), STORAGE_FULL, TOO_LARGE,
   * UNAVAILABLE, and MESH_INCOMPLETE while the ledger is not the one that this process began on.
   */
  append(saga: SagaId, message: { data: Uint8Array; headers: Headers; expectedSeq: number }): Promise<Ack>;
  /**
   * The last message on the saga's subject as the leader has it, or undefined. A turn, unless somebody else published there:
   * services/ledger/chain.ts tells.
   */
  last(saga: SagaId): Promise<StoredMessage | undefined>;
  /** The first one, likewise: a first turn, a tombstone whose turns were purged, or what somebody else published. */
  first(saga: SagaId): Promise<StoredMessage | undefined>;
  /**
   * The messages on the saga's subject with sequence > `afterSeq`, in order, up to and with `throughSeq`: all of them, or the first
   * ones, so many at most and at least one if there is one.
   */
  read(saga: SagaId, afterSeq: number, throughSeq: number, most?: number): Promise<StoredMessage[]>;
  /**
   * Follows messages as they are stored, a saga's from after `afterSeq`; of every saga where none is named, each saga's in their
   * order. Ends with the signal.
   */
  follow(
    options:
      { saga: SagaId; afterSeq?: number; signal: AbortSignal } | { saga?: undefined; signal: AbortSignal },
  ): AsyncIterable<StoredMessage>;
  /**
   * What was stored on all ledgers after these places, one for each shard (`end`), up to where they end as this begins: in pieces,
   * each shard's in its order. Every shard has one at least. Throws UNAVAILABLE.
   */
  since(places: readonly number[]): AsyncIterable<LedgerPiece>;
  /** Ids of all sagas on whose ledger's subject something is stored, with how many messages. */
  list(): Promise<{ saga: SagaId; turns: number }[]>;
  /**
   * Removes the saga's messages before the sequence `seq`, for good: the one of it and all after it stay, and so does the
   * sequence that the next append must name, unless nothing is left. Again is free. Nothing else can be removed of a
   * ledger: single messages the server keeps (`deny_delete`), so that no turn is ever taken from its end. Throws UNAVAILABLE.
   */
  purgeBefore(saga: SagaId, seq: number): Promise<void>;
  /** The sequence of the newest message in each shard, in their order, as its leader has it; 0 before the first. Throws UNAVAILABLE. */
  end(): Promise<readonly number[]>;
}

/** Whose signatures count in the mesh, as this process knows it. */
export interface TrustPort {
  /** Of what it goes by; 0: nothing was ever said. */
  revision(): number;
  /** What keeps this process from appending what bears this signature, or none; undefined: nothing does. */
  refusal(publicKey: string | undefined): MeshError | undefined;
  /** Reads it anew. Throws UNAVAILABLE. */
  learn(): Promise<void>;
}

export interface Delivery extends StoredMessage {
  /** How often it was delivered, this time included. */
  readonly deliveries: number;
  ack(): Promise<void>;
  /** Gives it back, to be delivered again after the delay. */
  nak(delayMs?: number): Promise<void>;
  /** Prolongs the lease. Best effort. */
  working(): void;
}

/** An input that another host handed on. Its settling is the receiver's, wherever it was delivered first. */
export interface HandedOn {
  readonly delivery: Delivery;
  /** What its sender says it is for, as it was given. */
  readonly meant: string;
}

/** A running consumption. `stop` takes no more and resolves when the source is quiet; held deliveries stay the caller's. */
export interface Consumption {
  stop(): Promise<void>;
}

/** What an inbox holds at one moment, by name alone. */
export interface InboxStock {
  /** Sagas with an input that is stored and not acked: waiting to be taken, or the lease of the host that has the saga. */
  readonly sagas: ReadonlySet<SagaId>;
  /** Those of them of which a start is stored. */
  readonly starts: ReadonlySet<SagaId>;
  /** Timers that are armed, as `<saga>.<intent>`. */
  readonly timers: ReadonlySet<string>;
  /** When the stream was made anew after a loss, milliseconds since the epoch; undefined: never. */
  readonly remadeAt?: number | undefined;
}

/** Inputs that were delivered and not settled at one moment, whichever processes have them. */
export interface Outstanding {
  /**
   * Has those that are still not settled delivered again, counted, to the hosts that consume their partitions then. What was
   * delivered for the first time after that moment is left alone. Throws UNAVAILABLE, and may then be asked for again.
   */
  giveBack(): Promise<void>;
}

export interface InboxPort {
  readonly partitions: number;
  /**
   * Stores an input on its subject; with `expectedSeq` 0 only if none stands there that is not acked. Throws UNAVAILABLE,
   * STORAGE_FULL, TOO_LARGE; with `expectedSeq` also WRONG_SEQUENCE, WRITE_IN_FLIGHT and DUPLICATE_IN_FLIGHT.
   */
  publish(message: {
    subject: string;
    data: Uint8Array;
    headers: Headers;
    msgId?: string;
    expectedSeq?: 0;
  }): Promise<Ack>;
  /** What it holds now, as the leader has it: one question, however much there is. Throws UNAVAILABLE. */
  stock(): Promise<InboxStock>;
  /** The newest start of the saga that is stored and not acked, as the leader has it. */
  standingStart(saga: SagaId): Promise<StoredMessage | undefined>;
  /**
   * Delivers the partition's inputs to `take`, which must not throw. At most `inFlightMax` are un-acked at once,
   * and as many starts as `startsMax` says at the time: what begins a saga waits apart from what reaches one.
   */
  consume(
    partition: number,
    options: { inFlightMax: number | (() => number); startsMax: () => number },
    take: (delivery: Delivery) => void,
  ): Promise<Consumption>;
  /**
   * Hands a delivery of this inbox on to another host, with a word of what it is meant for. Nothing is stored: it stays
   * un-acked, and its lease ends like any other. True: that host has it now; it settles and prolongs it, and the caller's
   * place for it is free. False: it was not taken, and is the caller's still. Throws UNAVAILABLE where that is not known;
   * then the caller lets its lease end, for the other host may have it.
   */
  handOn(host: string, delivery: Delivery, meant: string): Promise<boolean>;
  /**
   * Hears what is handed on to this host. `take` says at once whether it takes it, and must not throw. While nothing is
   * heard, and after `stop`, nothing is taken.
   */
  receive(host: string, take: (handed: HandedOn) => boolean): Promise<Consumption>;
  /**
   * What was delivered of these partitions and is not settled, to be given back in the name of a host that died. Nothing
   * happens until that is asked for. Throws UNAVAILABLE.
   */
  outstanding(partitions: readonly number[]): Promise<Outstanding>;
  /**
   * What, called later, has a delivery of this inbox that was given back with a delay delivered at once. It keeps nothing of the
   * message, and is best effort: not heard, the delay ends by itself. To be called before then alone: afterwards it would
   * take the message from whoever has it. Undefined for what no inbox delivered here.
   */
  recall(delivery: Delivery): (() => void) | undefined;
  /**
   * Arms, or replaces, the durable timer of an intent. When due, the server stores an empty message with the
   * headers on `saga.<id>.timer.<intent>`.
   */
  schedule(timer: { saga: SagaId; intent: IntentId; dueAt: number; headers: Headers }): Promise<void>;
  /** Disarms one intent's timer, or all of the saga's. A timer that is not armed is no error. */
  unschedule(saga: SagaId, intent?: IntentId): Promise<void>;
}

export interface WorkPort {
  /** When the oldest call that is stored under each contract was stored; of a contract without calls nothing. Throws UNAVAILABLE. */
  stock(): Promise<ReadonlyMap<string, number>>;
  /** The sagas of calls that were stored before a time, by the server's clock, taken or not. Throws UNAVAILABLE. */
  waiting(before: number): Promise<ReadonlySet<SagaId>>;
  publish(ref: ContractRef, message: { data: Uint8Array; headers: Headers; msgId: string }): Promise<Ack>;
  /** Creates the contract's queue if need be; `concurrencyMax` bounds what is out of it at once over the whole mesh. */
  open(ref: ContractRef, options: { concurrencyMax?: number | undefined }): Promise<void>;
  /** Takes from a queue that is open. `whenGone` opens it again where it is found gone; until then nothing is taken. */
  consume(
    ref: ContractRef,
    options: { inFlightMax: number; whenGone?: () => Promise<void> },
    take: (delivery: Delivery) => void,
  ): Promise<Consumption>;
  /**
   * No worker is given a call of the tool, under whichever contract, until it is resumed; calls that run go on. Only
   * queues that are open now: who opens another sees to it (services/throttle/pause.ts).
   */
  pause(tool: string): Promise<void>;
  resume(tool: string): Promise<void>;
}

export interface ClaimPort {
  /**
   * Creates the claim, which stays until its saga's are dropped. True if this call (or its own lost answer: same nonce) created it; else
   * the holder's nonce and the server's time of the claim. Throws UNAVAILABLE, WRITE_IN_FLIGHT,
   * DUPLICATE_IN_FLIGHT, and MESH_INCOMPLETE while the claims that were are gone, after which the same call may be made
   * again.
   */
  create(
    key: string,
    attempt: number,
    nonce: string,
  ): Promise<{ won: true } | { won: false; holder: string; claimedAt: number }>;
  /** The claims of a saga's effects and answers: `<saga>.<intent>.…`, each with its attempt behind it. Throws UNAVAILABLE. */
  list(saga: SagaId): Promise<string[]>;
  /** Every saga that has one. One question, of as many bytes as there are claims. Throws UNAVAILABLE. */
  sagas(): Promise<ReadonlySet<SagaId>>;
  /** Takes away all of a saga that was archived (services/archive/left.ts). Again is free. Throws UNAVAILABLE. */
  drop(saga: SagaId): Promise<void>;
  /** The server's present time as well as it can be known, for comparing with `claimedAt`. */
  now(): Promise<number>;
}

/** A saga's snapshot, and what belongs to it under names of its own. The last write of each counts. */
export interface SnapshotPort {
  get(saga: SagaId, name?: string): Promise<Uint8Array | undefined>;
  /** Throws TOO_LARGE, STORAGE_FULL, UNAVAILABLE. */
  put(saga: SagaId, data: Uint8Array, name?: string): Promise<void>;
  /** Every saga that has one, or something beside where one would be. One question. Throws UNAVAILABLE. */
  sagas(): Promise<ReadonlySet<SagaId>>;
  /** Removes the saga's snapshot and all that stands beside it. Again is free. Throws UNAVAILABLE. */
  drop(saga: SagaId): Promise<void>;
}

export interface BlobPort {
  /** Stores bytes under their digest; storing the same again is free. */
  put(digest: string, bytes: Uint8Array): Promise<void>;
  /** Throws LEDGER_BROKEN if nothing is stored under the digest. */
  get(digest: string): Promise<Uint8Array>;
}

export interface DeadPort {
  publish(message: { subject: string; data: Uint8Array; headers: Headers; msgId: string }): Promise<void>;
  /** All letters, the oldest first. */
  list(): Promise<StoredMessage[]>;
  get(seq: number): Promise<StoredMessage | undefined>;
  /** Takes a letter away for good; one that is not there is no error. */
  remove(seq: number): Promise<void>;
}

/** Best effort, never stored: tokens, progress, and that there is an end. */
export interface LivePort {
  publish(saga: SagaId, lane: string, data: Uint8Array): void;
  /** Listens from the call on, to every lane unless one is named. Ends with the signal, or with the connection. */
  follow(saga: SagaId, signal: AbortSignal, lane?: string): AsyncIterable<{ lane: string; data: Uint8Array }>;
}

export interface RegistryPort {
  /** Stores a document under its kind, name and content hash; the same again is free. */
  put(key: string, data: Uint8Array): Promise<void>;
  list(): Promise<{ key: string; data: Uint8Array }[]>;
  /** The document as the leader has it, or undefined. */
  read(key: string): Promise<{ data: Uint8Array; revision: number } | undefined>;
  /**
   * Writes a document that changes, if its revision still is this (0: none), and returns its new one, which is higher.
   * Throws WRONG_SEQUENCE, WRITE_IN_FLIGHT, STORAGE_FULL, UNAVAILABLE.
   */
  write(key: string, data: Uint8Array, revision: number): Promise<number>;
}

export interface ThrottlePort {
  /** The entry as the leader has it, or undefined. */
  read(key: string): Promise<{ data: Uint8Array; revision: number } | undefined>;
  /**
   * Writes the entry if its revision still is this (0: none). Throws WRONG_SEQUENCE, WRITE_IN_FLIGHT,
   * STORAGE_FULL, UNAVAILABLE.
   */
  write(key: string, data: Uint8Array, revision: number): Promise<void>;
  list(): Promise<{ key: string; data: Uint8Array }[]>;
}

/** Notes on messages that were delivered before and are taken again. The last write of each counts. */
export interface SuspectPort {
  /** The note as the leader has it, or undefined. */
  get(key: string): Promise<{ data: Uint8Array; revision: number } | undefined>;
  /** Writes it, and returns its revision. It vanishes by itself after `ttlMs`. Throws STORAGE_FULL, UNAVAILABLE. */
  put(key: string, data: Uint8Array, ttlMs: number): Promise<number>;
  /** Takes it away, unless a newer one stands there. Again is free. Throws UNAVAILABLE. */
  remove(key: string, revision: number): Promise<void>;
}

/** A row of the listing as it is stored. */
export interface StoredRow {
  readonly key: string;
  readonly data: Uint8Array;
  /** Where it stands among all rows, in the order in which they were written. */
  readonly place: number;
}

/** Rows by which sagas are found. They may be lost at any time, and are written again. */
export interface ListingPort {
  /** Writes a row, in place of the one under its key; the same Msg-Id again is free. Throws STORAGE_FULL, UNAVAILABLE. */
  put(key: string, data: Uint8Array, msgId: string): Promise<void>;
  /** Takes one away, likewise. One that is not there is no error. */
  remove(key: string, msgId: string): Promise<void>;
  /** The rows that stand under these keys, perhaps not the newest: one question. */
  standing(keys: readonly string[]): Promise<StoredRow[]>;
  /** The rows whose keys fit the pattern and that were written after the place, as they are now, in pieces, the oldest first. */
  read(pattern: string, afterPlace?: number): AsyncIterable<readonly StoredRow[]>;
  /** What holds the rows; undefined: there is nothing. Throws UNAVAILABLE. */
  holder(): Promise<RowsHolder | undefined>;
  /**
   * Puts the pin behind all that is there, from where it stands; 0: there is none. Its place. Throws WRONG_SEQUENCE where it stands
   * elsewhere, STORAGE_FULL, UNAVAILABLE.
   */
  pin(from: number): Promise<number>;
}

/** By what it is known whether the rows are those of before. */
export interface RowsHolder {
  /** Another word once it was lost and made anew. */
  readonly made: string;
  /** The place of an entry that is lost with the rows, and set back with them; perhaps not the newest. Undefined: there is none. */
  readonly pin: number | undefined;
}

export interface MembershipPort {
  /** Writes this host's entry; it vanishes by itself `ttlMs` after the last write. */
  beat(host: string, data: Uint8Array, ttlMs: number): Promise<void>;
  leave(host: string): Promise<void>;
  /** Takes the entry away as `leave` does, in another's name. False where it is not of this revision: its host has written since, or left. */
  remove(host: string, revision: number): Promise<boolean>;
  /** The live hosts now, each with the revision of its entry. */
  hosts(): Promise<{ host: string; data: Uint8Array; revision: number }[]>;
  /** The server that this process is connected to, by a name that is new with each of its starts; undefined: to none. */
  server(): string | undefined;
  /** The connection that this process has, by a name that is new with each; undefined: none. What is listened to is heard while it stays. */
  connection(): string | undefined;
  /** Whether the server says that no process hears what is handed on to this host (`InboxPort.receive`). False where nothing is said. */
  isUnheard(host: string): Promise<boolean>;
  /**
   * Beats and departures (without data) of all hosts as they happen, from the call on. Best effort: one may be
   * missed, and a host that dies says nothing; `hosts` tells. Ends with the signal.
   */
  follow(signal: AbortSignal): AsyncIterable<{ host: string; data: Uint8Array | undefined }>;
}

/** Whether the mesh takes what is new. */
export interface IntakePort {
  /**
   * Why no start, and no signal from outside, is to be stored now (STORAGE_RESERVED), as the hosts say; known for some seconds.
   * Never throws: where no host can be asked nothing is refused.
   */
  refusal(): Promise<MeshError | undefined>;
}

/** The whole of the outside that sagamesh itself stands on. Tools and models are the application's. */
export interface Ports {
  readonly ledger: LedgerPort;
  readonly inbox: InboxPort;
  readonly work: WorkPort;
  readonly claims: ClaimPort;
  readonly snapshots: SnapshotPort;
  readonly blobs: BlobPort;
  readonly dead: DeadPort;
  readonly live: LivePort;
  readonly registry: RegistryPort;
  readonly membership: MembershipPort;
  readonly throttles: ThrottlePort;
  readonly suspects: SuspectPort;
  readonly loop: LoopPort;
  /** Without it whatever is new is taken. */
  readonly intake?: IntakePort;
  /** Without it every ledger is read. */
  readonly listing?: ListingPort;
  /** Without it no signature is asked for. */
  readonly trust?: TrustPort;
  /** What was last said of a restore, as far as this process has heard. Without it nothing was. */
  readonly restored?: () => RestoreMark | undefined;
}
