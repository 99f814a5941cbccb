/**
 * Health: what the server has of the mesh: streams, partitions and tools as they are, beside what they should be.
 * Reads only; nothing is created. For people who look, and for metrics.
 */
import type { ConsumerInfo, JetStreamManager, StreamInfo } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { describeError } from "../../protocol/errors.ts";
import { minOf } from "../../protocol/extremes.ts";
import { limits } from "../../protocol/limits.ts";
import { partitionsDefault } from "../../protocol/partitions.ts";
import { oneShard, type Shards } from "../../protocol/shards.ts";
import { consumers, parseWorkConsumer, streams } from "../../protocol/subjects.ts";
import type { ContractRef } from "../../protocol/tool.ts";
import { type Difference, differences, found } from "./declare.ts";
import { type Seen, seenOf } from "./identity.ts";
import { inputsConsumer, startsConsumer } from "./inbox.ts";
import { findStreams, shardsNow } from "./shards.ts";
import { declareStreams, partitionsKey } from "./streams.ts";
import { contractConsumer } from "./work.ts";
import { managerOf } from "./manager.ts";

export interface Peer {
  readonly server: string;
  /** It has all that the leader has. */
  readonly current: boolean;
  /** The leader has not heard of it for some time. */
  readonly offline: boolean;
}

export interface StreamHealth {
  readonly name: string;
  readonly state: "there" | "missing" | "silent";
  /** Why nothing is known of a silent one. */
  readonly why?: string;
  readonly messages: number;
  readonly bytes: number;
  readonly lastSeq: number;
  readonly replicas: number;
  readonly differences: readonly Difference[];
  /** What it says of its mesh; of one that is there. */
  readonly seen?: Seen;
  /** Of a cluster: the server that leads, and the others that hold a copy. */
  readonly leader?: string;
  readonly peers: readonly Peer[];
}

export interface ConsumerHealth {
  /** The partition, or the consumer. */
  readonly name: string;
  readonly missing: boolean;
  /** Stored and not delivered yet. */
  readonly waiting: number;
  /** Delivered and not acked. */
  readonly held: number;
  readonly redelivered: number;
  /** A process asks for messages now. */
  readonly pulled: boolean;
  readonly paused: boolean;
  /** Up to where messages were delivered. */
  readonly deliveredSeq: number;
  readonly differences: readonly Difference[];
}

/** The queue of one contract of a tool. */
export type WorkHealth = ConsumerHealth & ContractRef;

export interface MeshHealth {
  readonly version: string;
  readonly apiLevel: number;
  readonly streams: readonly StreamHealth[];
  readonly shards: Shards;
  readonly partitions: readonly ConsumerHealth[];
  readonly tools: readonly WorkHealth[];
  /** This machine's clock minus the server's; undefined while there is no stream to ask about. */
  readonly clockOffsetMs: number | undefined;
}

/** Asks the server about every stream and consumer. Throws UNAVAILABLE if it answers nothing at all. */
export async function readHealth(nc: NatsConnection): Promise<MeshHealth> {
  const jsm = await managerOf(nc);
  const [inbox, shards] = await Promise.all([infoOf(jsm, streams.inbox), shardsOf(jsm)]);
  const isThere = typeof inbox === "object" && !(inbox instanceof Error);
  const partitions = Number((isThere && inbox.config.metadata?.[partitionsKey]) || partitionsDefault);
  const declared = declareStreams({ partitions, shards });
  const inboxNames = Array.from({ length: partitions }, (_, partition) => String(partition));
  return {
    version: nc.info?.version ?? "unknown",
    apiLevel: nc.info?.api_lvl ?? 0,
    streams: await Promise.all(declared.map((stream) => streamHealth(jsm, stream))),
    partitions: isThere ? await partitionsOf(jsm, inboxNames) : [],
    tools: await workOf(jsm),
    shards,
    clockOffsetMs: isThere ? await clockOffset(jsm) : undefined,
  };
}

/** What LEDGER says; where it is gone, what the others do. What is silent is asked nothing more: it is told as a stream. */
async function shardsOf(jsm: JetStreamManager): Promise<Shards> {
  try {
    return (await shardsNow(jsm)) ?? (await findStreams(jsm, undefined)).shards ?? oneShard;
  } catch {
    return oneShard;
  }
}

/** The stream, or why there is nothing to see of it. */
async function infoOf(jsm: JetStreamManager, name: string): Promise<StreamInfo | Error | "missing"> {
  try {
    return (await found(name, () => jsm.streams.info(name))) ?? "missing";
  } catch (error) {
    return error as Error; // Of `found`: a MeshError. A stream without a leader is silent, the others are not.
  }
}

async function streamHealth(
  jsm: JetStreamManager,
  declared: ReturnType<typeof declareStreams>[number],
): Promise<StreamHealth> {
  const { name } = declared;
  const info = await infoOf(jsm, name);
  const nothing = { name, messages: 0, bytes: 0, lastSeq: 0, replicas: 0, differences: [], peers: [] };
  if (info === "missing") return { ...nothing, state: "missing" };
  if (info instanceof Error) return { ...nothing, state: "silent", why: describeError(info) };
  const { messages, bytes, last_seq: lastSeq } = info.state;
  const { leader, replicas: peers = [] } = info.cluster ?? {};
  return {
    name,
    state: "there",
    messages,
    bytes,
    lastSeq,
    replicas: info.config.num_replicas,
    seen: seenOf(info),
    differences: [...differences(declared, info.config)],
    ...(leader === undefined || leader === "" ? {} : { leader }),
    peers: peers.map((peer) => ({
      server: peer.name,
      current: peer.current,
      offline: (peer.offline ?? false) || isSilent(peer),
    })),
  };
}

/** A server that was killed is not called offline, only never heard of again. */
const isSilent = ({ current, active }: { current: boolean; active: number }): boolean =>
  !current && active > silentMs * 1e6;
/** Copies answer their leader every second. */
const silentMs = 5_000;

/** Each partition's two consumers as one: its health is the health of both. */
async function partitionsOf(jsm: JetStreamManager, names: readonly string[]): Promise<ConsumerHealth[]> {
  const both = await Promise.all(
    (
      [
        [consumers.inbox(0), inputsConsumer],
        [consumers.starts(0), startsConsumer],
      ] as const
    ).map(([first, declared]) =>
      consumersOf(jsm, streams.inbox, first.replace("0", ""), names, (name) =>
        declared(Number(name), limits.inboxAckWaitMs),
      ),
    ),
  );
  const [inputs, starts] = both as [ConsumerHealth[], ConsumerHealth[]];
  return inputs.flatMap((one) => {
    const other = starts.find(({ name }) => name === one.name);
    if (other === undefined) return [];
    const undelivered = [one, other]
      .filter(({ waiting }) => waiting > 0)
      .map(({ deliveredSeq }) => deliveredSeq);
    return {
      ...one,
      missing: one.missing || other.missing,
      waiting: one.waiting + other.waiting,
      held: one.held + other.held,
      redelivered: one.redelivered + other.redelivered,
      deliveredSeq: undelivered.length === 0 ? one.deliveredSeq : minOf(undelivered),
      differences: [...one.differences, ...other.differences],
    };
  });
}

/** Every contract that has a queue. A consumer of another name is not ours. */
async function workOf(jsm: JetStreamManager): Promise<WorkHealth[]> {
  const all = await consumersOf(jsm, streams.work, "", [], (consumer) => {
    const ref = parseWorkConsumer(consumer);
    return ref === undefined ? {} : contractConsumer(ref, limits.workAckWaitMs);
  });
  return all.flatMap((one) => {
    const ref = parseWorkConsumer(one.name);
    return ref === undefined ? [] : [{ ...one, ...ref }];
  });
}

/** The consumers of a stream whose names begin so, by the rest of their names; those of `expected` in any case. */
async function consumersOf(
  jsm: JetStreamManager,
  stream: string,
  prefix: string,
  expected: readonly string[],
  declared: (name: string) => object,
): Promise<ConsumerHealth[]> {
  const infos = await found(stream, async () => {
    const all: ConsumerInfo[] = [];
    for await (const info of jsm.consumers.list(stream)) all.push(info);
    return all;
  }).catch(() => undefined); // A silent stream is said once, as a stream.
  if (infos === undefined) return [];
  const there = infos
    .filter((info) => info.name.startsWith(prefix))
    .map((info) => consumerHealth(info, info.name.slice(prefix.length), declared));
  const missing = expected.filter((name) => !there.some((one) => one.name === name));
  return [...there, ...missing.map((name) => ({ ...noConsumer, name }))];
}

const noConsumer: ConsumerHealth = {
  name: "",
  missing: true,
  waiting: 0,
  held: 0,
  redelivered: 0,
  pulled: false,
  paused: false,
  deliveredSeq: 0,
  differences: [],
};

const consumerHealth = (
  info: ConsumerInfo,
  name: string,
  declared: (name: string) => object,
): ConsumerHealth => ({
  name,
  missing: false,
  waiting: info.num_pending,
  held: info.num_ack_pending,
  redelivered: info.num_redelivered,
  pulled: info.num_waiting > 0,
  paused: info.paused === true,
  deliveredSeq: info.delivered.stream_seq,
  differences: [...differences(declared(name), info.config)],
});

/** Of three looks the one that was answered fastest: half a round trip is what cannot be known. */
async function clockOffset(jsm: JetStreamManager): Promise<number | undefined> {
  let best: { took: number; offset: number } | undefined;
  for (let look = 0; look < 3; look++) {
    const [askedAt, asked] = [Date.now(), performance.now()];
    const info = await infoOf(jsm, streams.inbox);
    const took = performance.now() - asked;
    if (typeof info === "string" || info instanceof Error || info.ts === undefined) return undefined;
    if (best === undefined || took < best.took)
      best = { took, offset: askedAt + took / 2 - Date.parse(info.ts) };
  }
  return best === undefined ? undefined : Math.round(best.offset);
}
