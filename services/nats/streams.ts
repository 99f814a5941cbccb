/**
 * The streams and buckets sagamesh stands on: what each is for, and how it must be configured.
 *
 * Owns: the declarations. Does not own: making and comparing them (declare.ts). Pure.
 *
 * NT1 INBOX and WORK are queues: an ack deletes. Nothing else may, so they have no limit by age, count or
 *     bytes; schedules forbid `discard: new`, and a limit would evict acked inputs and far timers first.
 * NT2 LEDGER is the only truth: no turn can be deleted on its own or pushed out by a newer one.
 * NT3 Everything that is read in ranges allows direct reads; a reader that needs the newest asks the leader.
 */
import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from "@nats-io/jetstream";
import { nanos } from "@nats-io/nats-core";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { partitionsDefault } from "../../protocol/partitions.ts";
import { oneShard, type Shards } from "../../protocol/shards.ts";
import {
  buckets,
  type DeadSource,
  inboxSubjects,
  inboxTransform,
  isLedgerStream,
  ledgerStream,
  streams,
  subjects,
} from "../../protocol/subjects.ts";

/** A stream's configuration with the fields that count; what is not named may be as the operator likes. */
export type Declared = Partial<StreamConfig> & { readonly name: string; readonly subjects: string[] };

/** Where INBOX says how many partitions it has, for hosts that join and for people who look. */
export const partitionsKey = "sagamesh.partitions";

/** What a mesh is made with. */
export interface Plan {
  readonly partitions: number;
  /** One unless given. */
  readonly shards?: Shards | undefined;
  /** Undefined: one when created, and whatever there is when joining. */
  readonly replicas?: number | undefined;
}

/** Every stream of a mesh. */
export const declareStreams = (options: Plan): Declared[] =>
  [
    inbox(options.partitions),
    ...ledgers(options.shards ?? oneShard),
    work,
    dead,
    bucket(buckets.claim),
    bucket(buckets.snapshot),
    bucket(buckets.registry),
    bucket(buckets.throttle),
    { ...bucket(buckets.suspect), allow_msg_ttl: true },
    { ...bucket(buckets.hosts), allow_msg_ttl: true },
    { ...bucket(buckets.listing), allow_msg_ttl: true },
    blobs,
  ].map((stream) =>
    options.replicas === undefined ? stream : { ...stream, num_replicas: options.replicas },
  );

const inbox = (partitions: number): Declared => ({
  name: streams.inbox,
  description: "inputs of sagas, partitioned by saga, and their armed timers",
  subjects: [...inboxSubjects, allTimers],
  subject_transform: inboxTransform(partitions),
  metadata: { [partitionsKey]: String(partitions) },
  allow_msg_schedules: true,
  ...queue,
});

/** The schedules of all sagas: a wildcard is no saga's id, but stands where one does. */
const allTimers = subjects.timersOf("*" as SagaId);

const unlimited = { max_age: 0, max_msgs: -1, max_bytes: -1, max_msgs_per_subject: -1 } as const;
const onDisk = { storage: StorageType.File } as const;

const queue = {
  ...onDisk,
  ...unlimited, // NT1
  retention: RetentionPolicy.Workqueue,
  discard: DiscardPolicy.Old,
  duplicate_window: nanos(limits.duplicateWindowMs),
} as const;

/** A shard of `shards.all`. What several shards say of themselves is on each: any of them may be lost. */
export const ledger = (shard: number, shards: Shards): Declared => ({
  ...onDisk,
  name: ledgerStream(shard),
  description: "one subject per saga, one message per turn: the record of everything",
  subjects: [subjects.ledgers(shard), ...(shard === 0 && shards.all > 1 ? [subjects.severalShards] : [])],
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New, // NT2
  deny_delete: true,
  max_age: 0,
  max_msgs_per_subject: -1,
  allow_direct: true,
});

const ledgers = (shards: Shards): Declared[] =>
  Array.from({ length: shards.all }, (_, shard) => ledger(shard, shards));

const work: Declared = {
  name: streams.work,
  description: "intents for workers, one subject per tool and contract",
  subjects: [subjects.allWork],
  ...queue,
};

const dead: Declared = {
  ...onDisk,
  name: streams.dead,
  description: "messages set aside, with the reason",
  subjects: ["inbox", "work"].map((source) => subjects.dead(source as DeadSource, "*")),
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  max_age: 0,
  allow_direct: true,
  duplicate_window: nanos(limits.duplicateWindowMs),
};

/** The stream behind a bucket, as the `nats` CLI and every other client look for it. */
export const bucketStream = (name: string): string => `KV_${name}`;
/** The subject of an entry; a wildcard for all of them. */
export const entrySubject = (name: string, key: string): string => `$KV.${name}.${key}`;
/** Where an entry is sent while its bucket takes nothing but what fills it; stored under its own subject. */
export const fillingSubject = (name: string, key: string): string => `rebuild.${entrySubject(name, key)}`;
/** The key of an entry's subject. */
export const entryKey = (name: string, subject: string): string => subject.slice(`$KV.${name}.`.length);

const bucket = (name: string): Declared => ({
  ...onDisk,
  name: bucketStream(name),
  subjects: [entrySubject(name, ">")],
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  max_age: 0,
  max_msgs_per_subject: 1,
  allow_rollup_hdrs: true,
  deny_delete: true,
  allow_direct: true,
});

/** The stream behind the object store. */
export const blobStream = `OBJ_${buckets.blob}`;
/** Where the object store keeps an object's bytes, in chunks. */
export const chunkSubject = (objectId: string): string => `$O.${buckets.blob}.C.${objectId}`;

const blobs: Declared = {
  ...onDisk,
  name: blobStream,
  subjects: [chunkSubject(">"), `$O.${buckets.blob}.M.>`],
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  max_age: 0,
  allow_rollup_hdrs: true,
  allow_direct: true,
};

/** Whether a stream of this name is a mesh's. */
export const isOfMesh = (name: string): boolean => isLedgerStream(name) || usual.has(name);

/** Of all of them. No number of partitions changes them. */
export const streamNames = (shards: Shards): string[] =>
  declareStreams({ partitions: partitionsDefault, shards }).map(({ name }) => name);

const usual: ReadonlySet<string> = new Set(streamNames(oneShard));
