/**
 * Queues: INBOX with its consumers, and WORK, as they are made again where they are gone; and so is all else that is not
 * guarded.
 */
import type { JetStreamManager, StreamConfig } from "@nats-io/jetstream";
import { streams } from "../../protocol/subjects.ts";
import { derivedMesh, isGuarded, lostWith, seenOf } from "./identity.ts";
import { declareConsumer, type DeclaredConsumer, declareStream, found } from "./declare.ts";
import { translated } from "./errors.ts";
import { inputsConsumer, startsConsumer } from "./inbox.ts";
import type { Report } from "./progress.ts";
import { createRemake, laterNumbers, type Remaking } from "./remake.ts";
import { bucketStream, declareStreams } from "./streams.ts";

/** Whether a stream only holds what is on its way: an empty one in its place costs what the audit finds again. */
export const isQueue = (name: string): boolean => name === streams.inbox || name === streams.work;

/**
 * Where a stream that is made again begins to count (QM2 of remake.ts): a queue's numbers are known to who takes from it, and a
 * bucket's revisions to who has read it. The numbers of dead letters and blobs nobody keeps, and people type those of letters.
 */
export const numberedFrom = (name: string): Partial<StreamConfig> =>
  isQueue(name) || (name.startsWith(bucketStream("")) && !isGuarded(name)) ? laterNumbers() : {};

/** Every consumer of INBOX: each partition has one for starts and one for all else. */
export const inboxConsumers = (partitions: number, ackWaitMs: number): DeclaredConsumer[] =>
  Array.from({ length: partitions }, (_, partition) => [
    inputsConsumer(partition, ackWaitMs),
    startsConsumer(partition, ackWaitMs),
  ]).flat();

/** What queues are made with. */
interface QueuesOptions {
  readonly mesh: string;
  readonly partitions: number;
  /** What a stream is made anew with besides. */
  readonly anew: (name: string) => Partial<StreamConfig>;
  readonly ackWaitMs: number;
  readonly report: Report;
}

/**
 * Every stream but queues and what is guarded, made again where it is gone, and where LEDGER is this mesh's: beside a store
 * that lost all of it nothing begins by itself.
 */
export function othersOf(
  jsm: JetStreamManager,
  { mesh, partitions, anew, report }: Omit<QueuesOptions, "ackWaitMs">,
): NonNullable<Remaking["remake"]> {
  const infoOf = (name: string) => found(name, () => jsm.streams.info(name));
  const isOurs = async () => {
    const ledger = await infoOf(streams.ledger);
    return ledger !== undefined && (seenOf(ledger).mesh ?? derivedMesh(ledger.created)) === mesh;
  };
  const remakes = new Map(
    declareStreams({ partitions })
      .filter(({ name }) => !isGuarded(name) && !isQueue(name))
      .map((stream) => [
        stream.name,
        createRemake({
          ...{ what: stream.name, lost: lostWith[stream.name] ?? "nothing but time", report },
          isThere: async () => (await infoOf(stream.name)) !== undefined || !(await isOurs()),
          make: async () => {
            await declareStream(jsm, stream, { ...anew(stream.name), ...numberedFrom(stream.name) });
          },
        }),
      ]),
  );
  return async (stream) => {
    await remakes.get(stream)?.();
    return remakes.has(stream);
  };
}

/** INBOX with its consumers, and WORK, made again where they are gone (remake.ts). */
export function queuesOf(
  jsm: JetStreamManager,
  { partitions, anew, ackWaitMs, report }: Omit<QueuesOptions, "mesh">,
): Record<"inbox" | "work", () => Promise<void>> {
  const declared = declareStreams({ partitions });
  const isThere = async (name: string) => (await found(name, () => jsm.streams.info(name))) !== undefined;
  const makeStream = async (name: string) => {
    for (const stream of declared.filter((one) => one.name === name))
      await declareStream(jsm, stream, { ...anew(name), ...numberedFrom(name) });
  };
  const consumers = inboxConsumers(partitions, ackWaitMs);
  const hasConsumers = async () => {
    const names = new Set<string>();
    for await (const { name } of jsm.consumers.list(streams.inbox)) names.add(name);
    return consumers.every(({ durable_name }) => names.has(durable_name));
  };
  return {
    inbox: createRemake({
      what: streams.inbox,
      isThere: async () => (await isThere(streams.inbox)) && (await translated(streams.inbox, hasConsumers)),
      make: async () => {
        await makeStream(streams.inbox);
        await Promise.all(consumers.map((consumer) => declareConsumer(jsm, streams.inbox, consumer)));
      },
      report,
    }),
    work: createRemake({
      what: streams.work,
      isThere: () => isThere(streams.work),
      make: () => makeStream(streams.work),
      report,
    }),
  };
}
