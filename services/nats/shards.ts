/**
 * Shards as the streams tell of them: how many there are, in the metadata of each.
 *
 * SJ1 How many a mesh was made with is said by every shard, and is taken from any: were it lost, ledgers would be looked for
 *     where they are not. A mesh that says nothing has one.
 * SJ2 LEDGER is asked first. Only where it is gone is looked who else takes ledgers in.
 */
import type { JetStreamManager, StreamInfo } from "@nats-io/jetstream";
import type { Census } from "../../protocol/census.ts";
import { maxOf } from "../../protocol/extremes.ts";
import { SagaId } from "../../protocol/ids.ts";
import { oneShard, type Shards } from "../../protocol/shards.ts";
import { ledgerStream, shardOfStream, streams, subjects } from "../../protocol/subjects.ts";
import { found, streamsOf } from "./declare.ts";
import { translated } from "./errors.ts";
import { streamNames } from "./streams.ts";

/** What the metadata of a mesh's ledger streams says where there are several. */
const shardKeys = { all: "sagamesh.shards", arbiters: "sagamesh.shards.first" } as const;

/** As the metadata of each shard has it; nothing of one shard, as ever. */
export const shardsTold = ({ all, arbiters }: Shards): Record<string, string> =>
  all === 1 ? {} : { [shardKeys.all]: String(all), [shardKeys.arbiters]: String(arbiters) };

/** What a stream says; undefined for one that says nothing. */
export function readShards(metadata: Record<string, string> | undefined): Shards | undefined {
  const all = Number(metadata?.[shardKeys.all]);
  const arbiters = Number(metadata?.[shardKeys.arbiters]);
  const isSaid = Number.isInteger(all) && Number.isInteger(arbiters) && arbiters > 0 && arbiters <= all;
  return isSaid ? { all, arbiters } : undefined;
}

/** The streams of a mesh that are there, and how many shards it has. */
export interface Found {
  readonly there: StreamInfo[];
  /** Undefined where there is no ledger stream that could tell. */
  readonly shards: Shards | undefined;
}

/** Looks. Throws UNAVAILABLE. */
export async function findStreams(jsm: JetStreamManager, census: Census | undefined): Promise<Found> {
  const there = await streamsOf(jsm, streamNames(oneShard));
  const first = there.find(({ config }) => config.name === streams.ledger);
  const counted = Object.keys(census?.streams ?? {}).flatMap((name) => shardOfStream(name) ?? []);
  const isAlone = counted.every((shard) => shard === 0);
  if (first !== undefined && isAlone && readShards(first.config.metadata) === undefined)
    return { there, shards: oneShard };
  const others = first === undefined ? await otherShards(jsm) : []; // SJ2
  const told = readShards(first?.config.metadata)?.all ?? 1;
  const all = maxOf(
    [...counted, ...others].map((shard) => shard + 1),
    told,
  );
  const names = Array.from({ length: all - 1 }, (_, shard) => ledgerStream(shard + 1));
  const more = await streamsOf(jsm, names);
  const said = [...there, ...more].flatMap(({ config }) => readShards(config.metadata) ?? []);
  const [one] = said; // SJ1
  if (one === undefined) return { there: [...there, ...more], shards: undefined };
  return { there: [...there, ...more], shards: { ...one, all: maxOf(said.map((each) => each.all)) } };
}

async function otherShards(jsm: JetStreamManager): Promise<number[]> {
  const names = await found("ledger streams", async () => {
    const taking: string[] = [];
    for await (const name of jsm.streams.names("saga.*.ledger.*")) taking.push(name);
    return taking;
  });
  return (names ?? []).flatMap((name) => shardOfStream(name) ?? []);
}

/** What a shard holds. */
export interface Held {
  /** Of each saga how many messages there are; what else lies there is no saga's. */
  readonly messages: ReadonlyMap<SagaId, number>;
  /** What the shard says of how many there are. */
  readonly told: Shards | undefined;
}

/** Looks into a shard. Throws UNAVAILABLE, and as the server says it where the shard is gone. */
export async function heldIn(jsm: JetStreamManager, shard: number): Promise<Held> {
  const stream = ledgerStream(shard);
  const options = { subjects_filter: subjects.ledgers(shard) };
  const { config, state } = await translated(stream, () => jsm.streams.info(stream, options));
  const messages = Object.entries(state.subjects ?? {}).flatMap(([subject, count]) => {
    const saga = SagaId.safeParse(subject.split(".")[1]).data;
    return saga === undefined ? [] : [[saga, count] as const];
  });
  return { messages: new Map(messages), told: readShards(config.metadata) };
}

/** How many shards the mesh has now, by LEDGER alone. Throws UNAVAILABLE; undefined where it is gone. */
export async function shardsNow(jsm: JetStreamManager): Promise<Shards | undefined> {
  const info = await found(streams.ledger, () => jsm.streams.info(streams.ledger));
  return info && (readShards(info.config.metadata) ?? oneShard);
}
