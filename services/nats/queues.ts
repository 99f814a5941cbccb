/**
 * Queues: INBOX with its consumers, and WORK, as they are made again where they are gone.
 */
import type { JetStreamManager, StreamConfig } from "@nats-io/jetstream";
import { streams } from "../../protocol/subjects.ts";
import { declareConsumer, type DeclaredConsumer, declareStream, found } from "./declare.ts";
import { translated } from "./errors.ts";
import { inputsConsumer, startsConsumer } from "./inbox.ts";
import type { Report } from "./progress.ts";
import { createRemake, laterNumbers } from "./remake.ts";
import { declareStreams } from "./streams.ts";

/** Whether a stream only holds what is on its way: an empty one in its place costs what the audit finds again. */
export const isQueue = (name: string): boolean => name === streams.inbox || name === streams.work;

/** Every consumer of INBOX: each partition has one for starts and one for all else. */
export const inboxConsumers = (partitions: number, ackWaitMs: number): DeclaredConsumer[] =>
  Array.from({ length: partitions }, (_, partition) => [
    inputsConsumer(partition, ackWaitMs),
    startsConsumer(partition, ackWaitMs),
  ]).flat();

/** What queues are made with. */
interface QueuesOptions {
  readonly partitions: number;
  /** What a stream is made anew with besides. */
  readonly anew: (name: string) => Partial<StreamConfig>;
  readonly ackWaitMs: number;
  readonly report: Report;
}

/** INBOX with its consumers, and WORK, made again where they are gone (remake.ts). */
export function queuesOf(
  jsm: JetStreamManager,
  { partitions, anew, ackWaitMs, report }: QueuesOptions,
): Record<"inbox" | "work", () => Promise<void>> {
  const declared = declareStreams({ partitions });
  const isThere = async (name: string) => (await found(name, () => jsm.streams.info(name))) !== undefined;
  const makeStream = async (name: string) => {
    for (const stream of declared.filter((one) => one.name === name))
      await declareStream(jsm, stream, { ...anew(name), ...laterNumbers() });
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
