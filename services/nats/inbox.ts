/**
 * InboxPort on the stream INBOX.
 *
 * The server puts a saga's inputs into a partition by its id, and turns schedules into inputs when they fall
 * due. Two durable consumers per partition, one for starts and one for all else, are shared by all hosts: a flood
 * of starts waits in the stream while signals and results go by.
 *
 * NI1 A timer is a stored message with a date, one per subject: arming again replaces, purging disarms. It
 *     survives any process and the server's restart, fires once, and up to half a second late.
 * NI2 The message a timer leaves behind has no Msg-Id: the server strips it. Its subject names the intent.
 * NI3 An expectation is compared with what is stored under the subject's own partition; an ack takes that away again. One
 *     server looks at it before the Msg-Id, so a repeat of a start that stands is refused; three take it for the duplicate
 *     that it is.
 */
import { AckPolicy, DeliverPolicy, type JetStreamManager } from "@nats-io/jetstream";
import { nanos, type NatsConnection } from "@nats-io/nats-core";
import { consumers, streams, subjects } from "../../protocol/subjects.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { InboxPort, InboxStock } from "../wire/ports.ts";
import type { DeclaredConsumer } from "./declare.ts";
import { recall } from "./delivery.ts";
import { translated } from "./errors.ts";
import { natsHeaders } from "./headers.ts";
import { createHop } from "./hop.ts";
import { seenOf } from "./identity.ts";
import { outstandingOf } from "./outstanding.ts";
import type { Report } from "./progress.ts";
import { publish } from "./publish.ts";
import { createReturned, startPull } from "./pull.ts";
import { newestOfLeader } from "./read.ts";
import type { Requests } from "./requests.ts";

export interface InboxContext {
  readonly nc: NatsConnection;
  readonly jsm: JetStreamManager;
  readonly requests: Requests;
  readonly partitions: number;
  readonly ackWaitMs: number;
  /** Makes the stream and its consumers again if they are gone. */
  readonly remake: () => Promise<void>;
  readonly report: Report;
}

const nothing = new Uint8Array();

export const createInbox = (context: InboxContext): InboxPort => {
  const { nc, jsm, requests, partitions, ackWaitMs, remake, report } = context;
  const stream = streams.inbox;
  const returned = createReturned();
  const pulled = { stream, leaseMs: ackWaitMs, returned, remake, report };
  return {
    partitions,
    publish: (message) => publish(requests, { ...message, stream }), // NI3
    stock: () => inboxStock(jsm),
    standingStart: (saga) => newestOfLeader(jsm, stream, subjects.inboxStartOf(saga)),
    consume: async (partition, { inFlightMax, startsMax }, take) => {
      const pull = (consumer: string, most: () => number) =>
        startPull(nc, { ...pulled, consumer, inFlightMax: most }, take);
      const pulls = [
        pull(consumers.starts(partition), startsMax),
        pull(consumers.inbox(partition), typeof inFlightMax === "number" ? () => inFlightMax : inFlightMax),
      ];
      return {
        stop: async () => {
          await Promise.all(pulls.map((one) => one.stop()));
        },
      };
    },
    ...createHop(nc),
    recall: (delivery) => recall(nc, delivery),
    outstanding: (partitions) => outstandingOf({ nc, jsm }, partitions),
    schedule: async ({ saga, intent, dueAt, headers }) => {
      const control = {
        [natsHeaders.schedule]: `@at ${new Date(dueAt).toISOString()}`,
        [natsHeaders.scheduleTarget]: subjects.timerTarget(saga, intent),
      };
      await publish(requests, {
        subject: subjects.timer(saga, intent),
        stream,
        data: nothing,
        headers,
        control,
      }); // NI1
    },
    unschedule: async (saga, intent) => {
      const filter = intent === undefined ? subjects.timersOf(saga) : subjects.timer(saga, intent);
      await translated(filter, () => jsm.streams.purge(stream, { filter }));
    },
  };
};

/** What INBOX holds. */
export async function inboxStock(jsm: JetStreamManager): Promise<InboxStock> {
  const stream = streams.inbox;
  const info = await translated(stream, () => jsm.streams.info(stream, { subjects_filter: ">" }));
  return { ...stockOf(Object.keys(info.state.subjects ?? {})), remadeAt: seenOf(info).remadeAt };
}

/** Of the subjects under which something is stored: `inbox.<p>.<saga>.…` and `timer.<saga>.<intent>`. */
function stockOf(stored: readonly string[]): InboxStock {
  const sagas = new Set<SagaId>();
  const starts = new Set<SagaId>();
  const timers = new Set<string>();
  for (const subject of stored) {
    const [kind, first = "", second = "", what] = subject.split(".");
    if (kind === "timer") {
      timers.add(`${first}.${second}`);
      continue;
    }
    const saga = second as SagaId; // Compared with ids, and none itself until then.
    sagas.add(saga);
    if (what === "start") starts.add(saga);
  }
  return { sagas, starts, timers };
}

/** A partition's consumers: every input of its sagas until it is acked, however often it takes. */
export const inputsConsumer = (partition: number, ackWaitMs: number): DeclaredConsumer =>
  consumerOf(consumers.inbox(partition), subjects.inboxOthers(partition), ackWaitMs);

export const startsConsumer = (partition: number, ackWaitMs: number): DeclaredConsumer =>
  consumerOf(consumers.starts(partition), subjects.inboxStarts(partition), ackWaitMs);

const consumerOf = (name: string, filter: string, ackWaitMs: number): DeclaredConsumer => ({
  durable_name: name,
  filter_subject: filter,
  ack_policy: AckPolicy.Explicit,
  deliver_policy: DeliverPolicy.All,
  ack_wait: nanos(ackWaitMs),
  max_deliver: -1,
  // Held inputs are the leases of running sagas; a bound here would stop the partition's other sagas.
  max_ack_pending: -1,
});
