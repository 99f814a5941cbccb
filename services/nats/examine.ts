/**
 * Examining a mesh for doctor: what lies in its streams and buckets, without making anything.
 *
 * Owns: reading on a connection of any kind, also to a server that sagamesh would refuse. Does not own: what is
 * wrong with what was found.
 *
 * XM1 Every part is read by itself. What cannot be read is undefined, and its error is told: the rest still helps.
 * XM2 A stream that goes or comes while the parts are read makes them contradict each other: then all is read again.
 */
import type { JetStreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import type { MeshError } from "../../protocol/errors.ts";
import { SagaId } from "../../protocol/ids.ts";
import { arbiterOf } from "../../protocol/shards.ts";
import {
  buckets,
  isLedgerStream,
  ledgerStream,
  parseWorkSubject,
  streams,
  subjects,
} from "../../protocol/subjects.ts";
import type { StoredMessage } from "../wire/ports.ts";
import { type Entry, openBucket } from "./bucket.ts";
import { translated } from "./errors.ts";
import { readCensus } from "./census.ts";
import { type MeshHealth, readHealth } from "./health.ts";
import { type Standing, standingOf } from "./identity.ts";
import { headOf, newestOfLeader, nextOfLeader, readRange } from "./read.ts";
import { createRequests } from "./requests.ts";
import { serverLimitReached, writeErrorOf } from "./storage.ts";
import { bucketStream } from "./streams.ts";
import { managerOf } from "./manager.ts";

/** XM2: streams that come and go for longer are told as they were seen. */
const looksMax = 3;
/** Newest messages of DEAD that are read; how many there are is told by the stream. */
const lettersMax = 1_000;

/** The oldest message of a queue that is not acked, and the oldest that was never delivered. */
export interface Oldest {
  readonly unacked: StoredMessage | undefined;
  readonly undelivered: StoredMessage | undefined;
  /** Of an input that came back: its saga has a ledger, or its start stands, or it was never started; not known without LEDGER. */
  readonly saga?: "begun" | "stored" | "unknown";
}

/** The work of one contract. */
export interface Backlog extends Oldest {
  readonly name: string;
  readonly messages: number;
}

export interface Examination {
  readonly health: MeshHealth | undefined;
  /** Whether the streams are the whole of one mesh; undefined where one of them does not answer. */
  readonly standing?: Standing;
  /** The server's present time. */
  readonly now: number;
  /** Why the server stores nothing, or not in every stream; none where it does. */
  readonly full: readonly MeshError[];
  readonly hosts: readonly Entry[] | undefined;
  readonly registry: readonly Entry[] | undefined;
  readonly throttles: readonly Entry[] | undefined;
  readonly letters: readonly StoredMessage[] | undefined;
  /** By partition, and by contract of a tool; of these also those that have work and no consumer. */
  readonly inbox: ReadonlyMap<string, Oldest>;
  readonly work: ReadonlyMap<string, Backlog>;
  /** What could not be read, and why. */
  readonly failures: readonly MeshError[];
}

/** Reads all there is. Throws nothing but what aborting throws. */
export async function examineMesh(nc: NatsConnection): Promise<Examination> {
  for (let look = 1; ; look++) {
    const examined = await examineOnce(nc);
    if (look === looksMax || !(await hasChanged(nc, examined))) return examined;
  }
}

/** XM2. Only what could not be read makes one ask. */
async function hasChanged(nc: NatsConnection, { health, failures }: Examination): Promise<boolean> {
  if (failures.length === 0 || health === undefined) return false;
  const statesOf = (all: MeshHealth) => all.streams.map(({ name, state }) => `${name} ${state}`).join();
  return readHealth(nc).then(
    (now) => statesOf(now) !== statesOf(health),
    () => false,
  );
}

async function examineOnce(nc: NatsConnection): Promise<Examination> {
  const failures: MeshError[] = [];
  const tried = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await translated("JetStream", read);
    } catch (error) {
      failures.push(error as MeshError); // Of `translated`.
      return undefined;
    }
  };
  const jsm = await tried(() => managerOf(nc));
  const health = jsm && (await tried(() => readHealth(nc)));
  const nothing = { now: Date.now(), inbox: new Map(), work: new Map(), failures, full: [] };
  if (jsm === undefined || health === undefined) return { ...nothing, health, ...noBuckets };
  const requests = createRequests(nc);
  try {
    const context = { requests, jsm };
    const bucket = (name: string) =>
      isThere(health, bucketStream(name)) ? tried(() => openBucket(context, name).list()) : undefined;
    return {
      health,
      ...(await standingIn(context, health)),
      now: Date.now() - (health.clockOffsetMs ?? 0),
      full: (await tried(() => fullOf(nc, requests, health))) ?? [],
      hosts: await bucket(buckets.hosts),
      registry: await bucket(buckets.registry),
      throttles: await bucket(buckets.throttle),
      letters: isThere(health, streams.dead) ? await tried(() => newestLetters(context)) : undefined,
      inbox: (await tried(() => oldestInputs(jsm, health))) ?? new Map<string, Oldest>(),
      work: isThere(health, streams.work)
        ? ((await tried(() => backlog(jsm, health))) ?? new Map())
        : new Map(),
      failures,
    };
  } finally {
    requests.close();
  }
}

/** Whether the server has this stream, and told of it. */
export const isThere = (health: MeshHealth | undefined, name: string): boolean =>
  health?.streams.some((one) => one.name === name && one.state === "there") === true;

/** Whether each stream of ledgers is there. */
export const hasLedgers = (health: MeshHealth | undefined): boolean =>
  health !== undefined &&
  health.streams.every(({ name, state }) => !isLedgerStream(name) || state === "there");

/** Asked of each stream: of several on one disk some may have failed to write, and others not yet. */
async function fullOf(
  nc: NatsConnection,
  requests: Context["requests"],
  health: MeshHealth,
): Promise<MeshError[]> {
  const there = health.streams.filter(({ state }) => state === "there");
  const [limit, ...failed] = await Promise.all([
    serverLimitReached(nc),
    ...there.map(({ name }) => writeErrorOf(requests, name)),
  ]);
  return [limit, ...failed].flatMap((one) => one ?? []);
}

const noBuckets = { hosts: undefined, registry: undefined, throttles: undefined, letters: undefined };

/** What is silent may be anything. */
async function standingIn(
  context: Context,
  { streams: all, shards }: MeshHealth,
): Promise<{ standing?: Standing }> {
  if (all.some(({ state }) => state === "silent")) return {};
  const seen = all.flatMap((one) => one.seen ?? []);
  return { standing: standingOf(seen, await readCensus(context), shards) };
}

type Context = Parameters<typeof readRange>[0];

async function newestLetters(context: Context): Promise<StoredMessage[]> {
  const { lastSeq } = await headOf(context.jsm, streams.dead);
  const afterSeq = Math.max(0, lastSeq - lettersMax);
  return readRange(context, { stream: streams.dead, subject: ">", afterSeq, throughSeq: lastSeq });
}

async function oldestInputs(jsm: JetStreamManager, health: MeshHealth): Promise<Map<string, Oldest>> {
  const all = new Map<string, Oldest>();
  for (const { name, missing, waiting, held, redelivered, deliveredSeq } of health.partitions) {
    if (!missing && waiting === 0 && held === 0) continue;
    const subject = subjects.inboxPartition(Number(name));
    const oldest = await oldestOf(jsm, streams.inbox, subject, waiting > 0 ? deliveredSeq : undefined);
    const { unacked } = oldest;
    const isBack = redelivered > 0 && unacked !== undefined;
    const isToldApart = isBack && hasLedgers(health);
    all.set(name, isToldApart ? { ...oldest, ...(await sagaOf(jsm, unacked.subject, health)) } : oldest);
  }
  return all;
}

async function sagaOf(
  jsm: JetStreamManager,
  subject: string,
  { shards }: Pick<MeshHealth, "shards">,
): Promise<Pick<Oldest, "saga">> {
  const read = SagaId.safeParse(subject.split(".")[2]);
  if (!read.success) return {};
  const saga = read.data;
  const arbiter = arbiterOf(saga, shards);
  if ((await newestOfLeader(jsm, ledgerStream(arbiter), subjects.ledger(saga, arbiter))) !== undefined)
    return { saga: "begun" };
  const start = await newestOfLeader(jsm, streams.inbox, subjects.inboxStartOf(saga));
  return { saga: start === undefined ? "unknown" : "stored" };
}

async function oldestOf(
  jsm: JetStreamManager,
  stream: string,
  subject: string,
  deliveredSeq: number | undefined,
): Promise<Oldest> {
  const after = (afterSeq: number) =>
    nextOfLeader(jsm, { stream, subject, afterSeq, throughSeq: Number.POSITIVE_INFINITY });
  return {
    unacked: await after(0),
    undelivered: deliveredSeq === undefined ? undefined : await after(deliveredSeq),
  };
}

/** Work by contract. The stream's own count also knows of contracts that no worker ever served. */
async function backlog(jsm: JetStreamManager, health: MeshHealth): Promise<Map<string, Backlog>> {
  const { state } = await jsm.streams.info(streams.work, { subjects_filter: ">" });
  const all = new Map<string, Backlog>();
  for (const [subject, messages] of Object.entries(state.subjects ?? {})) {
    const { name, contract } = parseWorkSubject(subject);
    const consumer = health.tools.find((one) => one.contract === contract);
    const isWaiting = consumer !== undefined && consumer.waiting > 0;
    const oldest = await oldestOf(jsm, streams.work, subject, isWaiting ? consumer.deliveredSeq : undefined);
    all.set(contract, { ...oldest, name, messages });
  }
  return all;
}
