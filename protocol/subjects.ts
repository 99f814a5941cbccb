/**
 * Subjects, streams, buckets and headers: the only place that joins or splits their names.
 *
 * SU1 Most general token first, the saga's id second, so `saga.<id>.>` is a saga's whole conversation.
 * SU2 Only the owner writes `saga.<id>.ledger`, and it is a literal subject: a compare-and-set on a wildcard
 *     is not one on a replicated stream.
 * SU3 The first shard has the names that ledgers have had always; another's number stands behind them. No subject is of two.
 */
import { MeshError } from "./errors.ts";
import { type IntentId, parseIntentId, parseSagaId, type SagaId } from "./ids.ts";
import type { ContractRef } from "./tool.ts";

/** The streams: inputs, ledgers, calls of tools, dead letters. */
export const streams = { inbox: "INBOX", ledger: "LEDGER", work: "WORK", dead: "DEAD" } as const;
/** The key-value buckets, and the object store BLOB. */
export const buckets = {
  claim: "CLAIM",
  snapshot: "SNAPSHOT",
  hosts: "HOSTS",
  throttle: "THROTTLE",
  suspect: "SUSPECT",
  registry: "REGISTRY",
  listing: "LISTING",
  blob: "BLOB",
} as const;

const behind = (shard: number): string => (shard === 0 ? "" : `.${shard}`);

/** The stream of a shard (SU3). */
export const ledgerStream = (shard: number): string =>
  shard === 0 ? streams.ledger : `${streams.ledger}_${shard}`;

/** The shard of a stream that has ledgers; undefined for any other. */
export function shardOfStream(stream: string): number | undefined {
  if (stream === streams.ledger) return 0;
  const [, shard] = /^LEDGER_([1-9]\d*)$/.exec(stream) ?? [];
  return shard === undefined ? undefined : Number(shard);
}

/** Whether a stream of this name has ledgers. */
export const isLedgerStream = (stream: string): boolean => shardOfStream(stream) !== undefined;

/** Every subject, from the ids and names in it. */
export const subjects = {
  start: (saga: SagaId) => `saga.${saga}.start`,
  signal: (saga: SagaId, name: string) => `saga.${saga}.signal.${name}`,
  result: (saga: SagaId, intent: IntentId) => `saga.${saga}.result.${intent}`,
  task: (saga: SagaId, intent: IntentId) => `saga.${saga}.task.${intent}`,
  timerTarget: (saga: SagaId, intent: IntentId) => `saga.${saga}.timer.${intent}`,
  timer: (saga: SagaId, intent: IntentId) => `timer.${saga}.${intent}`,
  timersOf: (saga: SagaId) => `timer.${saga}.*`,
  /** Of the shard (SU3); the first one unless given. */
  ledger: (saga: SagaId, shard = 0) => `saga.${saga}.ledger${behind(shard)}`,
  /** All sagas' of the shard. */
  ledgers: (shard = 0) => `saga.*.ledger${behind(shard)}`,
  /** What no saga is written on, and the first of several shards takes in: versions that know of one compare its subjects. */
  severalShards: "saga.*.ledger.0",
  work: ({ name, contract }: ContractRef) => `work.${name}.${contract}`,
  allWork: "work.*.*",
  live: (saga: SagaId, lane: string) => `live.${saga}.${lane}`,
  /** Inputs that other hosts hand on to this one, by core requests: nothing is stored. */
  hop: (host: string) => `hop.${host}`,
  dead: (source: DeadSource, id: string) => `dead.${source}.${id}`,
  inboxPartition: (partition: number) => `inbox.${partition}.>`,
  /** A partition's starts, and all its other inputs: no message is in both, and none in neither. */
  inboxStarts: (partition: number) => `inbox.${partition}.*.start`,
  /** A saga's start as it is stored: which partition it is in only the server knows. */
  inboxStartOf: (saga: SagaId) => `inbox.*.${saga}.start`,
  inboxOthers: (partition: number) => `inbox.${partition}.*.*.*`,
} as const;

/** Where a dead letter's message came from: a saga's inbox, or the work of a tool. */
export type DeadSource = "inbox" | "work";

/** Subjects INBOX takes in, one per kind of input; the ledger's own subject is not among them. */
export const inboxSubjects = ["start", "signal.*", "result.*", "task.*", "timer.*"].map(
  (rest) => `saga.*.${rest}`,
);

/** The stream's transform: the server partitions by saga, clients never compute a partition. */
export const inboxTransform = (partitions: number) => ({
  src: "saga.*.>",
  dest: `inbox.{{partition(${partitions},1)}}.{{wildcard(1)}}.>`,
});

/** The durable consumers by name. */
export const consumers = {
  inbox: (partition: number) => `inbox-${partition}`,
  starts: (partition: number) => `starts-${partition}`,
  work: ({ name, contract }: ContractRef) => `work-${name}-${contract}`,
} as const;

/** The contract of `work.<tool>.<contract>`. Throws BAD_MESSAGE for anything else. */
export function parseWorkSubject(subject: string): ContractRef {
  const [work, name = "", contract = "", ...more] = subject.split(".");
  if (work === "work" && name !== "" && contract !== "" && more.length === 0) return { name, contract };
  throw new MeshError("BAD_MESSAGE", `"${subject}" is not the subject of a tool's calls`);
}

/** The contract of `work-<tool>-<contract>`, of which the tool's name may hold a "-"; undefined for anything else. */
export function parseWorkConsumer(consumer: string): ContractRef | undefined {
  const [, name, contract] = /^work-(.+)-([^-]+)$/.exec(consumer) ?? [];
  return name === undefined || contract === undefined ? undefined : { name, contract };
}

/** Where an input is addressed: its saga and what kind of input it is. */
export type Address =
  | { readonly kind: "start"; readonly saga: SagaId }
  | { readonly kind: "signal"; readonly saga: SagaId; readonly name: string }
  | { readonly kind: "result" | "task" | "timer"; readonly saga: SagaId; readonly intent: IntentId };

/**
 * Reads `saga.<id>.<kind>…` or its stored form `inbox.<p>.<id>.<kind>…`. Throws BAD_MESSAGE or BAD_ID for
 * anything else.
 */
export function parseInboxSubject(subject: string): Address {
  const tokens = subject.split(".");
  const [id = "", kind = "", rest = "", ...more] = tokens[0] === "inbox" ? tokens.slice(2) : tokens.slice(1);
  const saga = parseSagaId(id);
  if (more.length === 0 && kind === "start" && rest === "") return { kind, saga };
  if (more.length === 0 && kind === "signal" && rest !== "") return { kind, saga, name: rest };
  if (more.length === 0 && (kind === "result" || kind === "task" || kind === "timer"))
    return { kind, saga, intent: parseIntentId(rest) };
  throw new MeshError("BAD_MESSAGE", `"${subject}" is not the subject of an input`);
}

/** The partition of an input as it is stored: `inbox.<p>.<id>.<kind>…`. */
export const partitionOf = (subject: string): number => Number(subject.split(".")[1]);

/** The saga of `saga.<id>.ledger`, in whichever shard. */
export const sagaOfLedger = (subject: string): SagaId => parseSagaId(subject.split(".")[1] ?? "");

/** The shard of `saga.<id>.ledger.<shard>`; the first where none stands there. */
export const shardOfLedger = (subject: string): number => Number(subject.split(".")[3] ?? 0);

/** Short headers on every message, so that the `nats` CLI tells the story without decoding a body. */
export const headers = {
  saga: "Saga-Id",
  turn: "Saga-Turn",
  event: "Saga-Event",
  intent: "Saga-Intent",
  agent: "Saga-Agent",
  definition: "Saga-Definition",
  attempt: "Saga-Attempt",
  /** Of a result: what its call is called under, whatever its intent's id (actors/kernel/address.ts). */
  key: "Saga-Key",
  from: "Saga-From",
  reason: "Saga-Reason",
  origin: "Saga-Origin",
  msgId: "Nats-Msg-Id",
  /** What the server compared when it stored the message: the sequence of the one before it on its subject, 0 for none. */
  expectedSeq: "Nats-Expected-Last-Subject-Sequence",
  contentType: "Content-Type",
  /** W3C: of a start, the span that it is started from; of a call, the call's own; of a turn, its place in its saga's trace. */
  trace: "traceparent",
  signature: "Saga-Signature",
  /** Of a signpost: the shard that has the saga's turns (services/nats/homes.ts). */
  shard: "Saga-Shard",
} as const;

/** Header fields of a message by name; one value each. */
export type Headers = Readonly<Record<string, string>>;
