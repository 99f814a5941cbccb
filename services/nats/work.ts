/**
 * WorkPort on the stream WORK: one durable consumer per tool and contract, shared by all workers that serve it.
 *
 * WK1 The consumer's bound on un-acked messages is how much of the contract is out over the whole mesh, so the
 *     worker that starts last with a bound of its own sets it for all. A worker without one leaves it as it is. That
 *     several contracts of a tool stay below its bound together is the throttle's matter.
 */
import { AckPolicy, DeliverPolicy, type JetStreamManager } from "@nats-io/jetstream";
import { nanos, type NatsConnection } from "@nats-io/nats-core";
import { isMeshError } from "../../protocol/errors.ts";
import { SagaId } from "../../protocol/ids.ts";
import {
  consumers,
  headers,
  parseWorkConsumer,
  parseWorkSubject,
  streams,
  subjects,
} from "../../protocol/subjects.ts";
import type { ContractRef } from "../../protocol/tool.ts";
import type { WorkPort } from "../wire/ports.ts";
import { declareConsumer, type DeclaredConsumer, found } from "./declare.ts";
import { translated } from "./errors.ts";
import type { Report } from "./progress.ts";
import { publish } from "./publish.ts";
import { createReturned, startPull } from "./pull.ts";
import { nextOfLeader } from "./read.ts";
import { createRemake } from "./remake.ts";
import type { Requests } from "./requests.ts";
import { whileStarting } from "./start-up.ts";

export interface WorkContext {
  readonly nc: NatsConnection;
  readonly jsm: JetStreamManager;
  readonly requests: Requests;
  readonly ackWaitMs: number;
  /** Makes the stream again if it is gone. */
  readonly remake: () => Promise<void>;
  readonly report: Report;
}

export const createWork = (context: WorkContext): WorkPort => {
  const { nc, jsm, requests, ackWaitMs, remake, report } = context;
  const stream = streams.work;
  const eachOf = async (tool: string, act: (consumer: string) => Promise<unknown>) => {
    for (const consumer of await consumersOf(context, tool)) await translated(tool, () => act(consumer));
  };
  return {
    stock: () => workStock(jsm),
    waiting: (before) => translated(stream, () => sagasOfCalls(jsm, before)),
    publish: async (ref, message) => {
      try {
        return await publish(requests, { ...message, subject: subjects.work(ref), stream });
      } catch (error) {
        // A mesh without workers has only its hosts to notice.
        if (isMeshError(error, "UNAVAILABLE")) void remake();
        throw error;
      }
    },
    // A worker that starts in the middle of an election waits for it.
    open: (ref, { concurrencyMax }) =>
      whileStarting(`the queue of ${ref.name}`, () => prepareConsumer(context, ref, concurrencyMax), {
        report,
      }),
    consume: async (ref, { inFlightMax, whenGone }, take) => {
      const consumer = consumers.work(ref);
      const isThere = async () =>
        (await found(consumer, () => jsm.consumers.info(stream, consumer))) !== undefined;
      const make = async () => {
        await remake();
        await whenGone?.();
      };
      const remakeBoth = createRemake({ what: `the queue of ${ref.name}`, isThere, make, report });
      const bounds = { inFlightMax: () => inFlightMax, leaseMs: ackWaitMs };
      const pulled = { stream, consumer, ...bounds, returned: createReturned() };
      return startPull(nc, { ...pulled, remake: remakeBoth, report }, take);
    },
    pause: (tool) => eachOf(tool, (consumer) => jsm.consumers.pause(stream, consumer, forGood())),
    resume: (tool) => eachOf(tool, (consumer) => jsm.consumers.resume(stream, consumer)),
  };
};

/** When the oldest call of each contract was stored. */
export const workStock = (jsm: JetStreamManager): Promise<Map<string, number>> =>
  translated(streams.work, () => oldestCalls(jsm));

async function oldestCalls(jsm: JetStreamManager): Promise<Map<string, number>> {
  const { state } = await jsm.streams.info(streams.work, { subjects_filter: ">" });
  const oldest = new Map<string, number>();
  for (const subject of Object.keys(state.subjects ?? {})) {
    const range = { stream: streams.work, subject, afterSeq: 0, throughSeq: Number.POSITIVE_INFINITY };
    const first = await nextOfLeader(jsm, range);
    if (first !== undefined) oldest.set(parseWorkSubject(subject).contract, first.storedAt);
  }
  return oldest;
}

/** Oldest first, to the first that is younger: few wait so long. */
async function sagasOfCalls(jsm: JetStreamManager, before: number): Promise<Set<SagaId>> {
  const sagas = new Set<SagaId>();
  for (let afterSeq = 0; ;) {
    const range = { stream: streams.work, subject: ">", afterSeq, throughSeq: Number.POSITIVE_INFINITY };
    const next = await nextOfLeader(jsm, range);
    if (next === undefined || next.storedAt >= before) return sagas;
    const saga = SagaId.safeParse(next.headers[headers.saga]).data;
    if (saga !== undefined) sagas.add(saga);
    afterSeq = next.seq;
  }
}

/** The server pauses until a time; there is none by which a person can be relied on to be back. */
const forGood = (): Date => new Date(Date.now() + 100 * 365 * 86_400_000);

/** The consumers of a tool, whichever its contract. */
const consumersOf = ({ jsm }: WorkContext, tool: string): Promise<string[]> =>
  translated(tool, async () => {
    const names: string[] = [];
    for await (const { name } of jsm.consumers.list(streams.work))
      if (parseWorkConsumer(name)?.name === tool) names.push(name);
    return names;
  });

/** The consumer behind a contract, its concurrency apart. `ackWaitMs` is how long a silent worker keeps a call. */
export const contractConsumer = (ref: ContractRef, ackWaitMs: number): DeclaredConsumer => ({
  durable_name: consumers.work(ref),
  filter_subject: subjects.work(ref),
  ack_policy: AckPolicy.Explicit,
  deliver_policy: DeliverPolicy.All,
  ack_wait: nanos(ackWaitMs),
  max_deliver: -1,
});

async function prepareConsumer(
  { jsm, ackWaitMs, report }: WorkContext,
  ref: ContractRef,
  concurrencyMax: number | undefined,
): Promise<void> {
  const name = consumers.work(ref);
  const declared = contractConsumer(ref, ackWaitMs);
  const first = { ...declared, max_ack_pending: concurrencyMax ?? -1 };
  const { max_ack_pending } = await declareConsumer(jsm, streams.work, first, declared);
  if (concurrencyMax === undefined || max_ack_pending === concurrencyMax) return;
  report(`tool ${ref.name}: at most ${concurrencyMax} at once from now on, not ${max_ack_pending}`); // WK1
  await translated(name, () => jsm.consumers.update(streams.work, name, { max_ack_pending: concurrencyMax }));
}
