/**
 * WorkPort on the stream WORK: one durable consumer per tool, shared by all its workers.
 *
 * WK1 The consumer's bound on un-acked messages is the tool's concurrency over the whole mesh, so the
 *     worker that starts last with a bound of its own sets it for all. A worker without one leaves it as it is.
 */
import { AckPolicy, DeliverPolicy, type JetStreamManager } from "@nats-io/jetstream";
import { nanos, type NatsConnection } from "@nats-io/nats-core";
import { consumers, streams, subjects } from "../../protocol/subjects.ts";
import type { WorkPort } from "../wire/ports.ts";
import { declareConsumer, type DeclaredConsumer } from "./declare.ts";
import { translated } from "./errors.ts";
import type { Report } from "./progress.ts";
import { publish } from "./publish.ts";
import { startPull } from "./pull.ts";
import type { Requests } from "./requests.ts";
import { whileStarting } from "./start-up.ts";

export interface WorkContext {
  readonly nc: NatsConnection;
  readonly jsm: JetStreamManager;
  readonly requests: Requests;
  readonly ackWaitMs: number;
  readonly report: Report;
}

export const createWork = (context: WorkContext): WorkPort => {
  const { nc, jsm, requests, ackWaitMs, report } = context;
  const stream = streams.work;
  return {
    publish: (tool, message) => publish(requests, { ...message, subject: subjects.work(tool), stream }),
    consume: async (tool, { inFlightMax, concurrencyMax }, take) => {
      // A worker that starts in the middle of an election waits for it.
      await whileStarting(`the queue of ${tool}`, () => prepareConsumer(context, tool, concurrencyMax), {
        report,
      });
      return startPull(
        nc,
        {
          stream,
          consumer: consumers.work(tool),
          inFlightMax: () => inFlightMax,
          leaseMs: ackWaitMs,
          report,
        },
        take,
      );
    },
    pause: async (tool) => {
      await prepareConsumer(context, tool, undefined);
      await translated(tool, () => jsm.consumers.pause(stream, consumers.work(tool), forGood()));
    },
    resume: async (tool) => {
      await prepareConsumer(context, tool, undefined);
      await translated(tool, () => jsm.consumers.resume(stream, consumers.work(tool)));
    },
  };
};

/** The server pauses until a time; there is none by which a person can be relied on to be back. */
const forGood = (): Date => new Date(Date.now() + 100 * 365 * 86_400_000);

/** The consumer behind a tool, its concurrency apart. `ackWaitMs` is how long a silent worker keeps a call. */
export const toolConsumer = (tool: string, ackWaitMs: number): DeclaredConsumer => ({
  durable_name: consumers.work(tool),
  filter_subject: subjects.work(tool),
  ack_policy: AckPolicy.Explicit,
  deliver_policy: DeliverPolicy.All,
  ack_wait: nanos(ackWaitMs),
  max_deliver: -1,
});

async function prepareConsumer(
  { jsm, ackWaitMs, report }: WorkContext,
  tool: string,
  concurrencyMax: number | undefined,
): Promise<void> {
  const name = consumers.work(tool);
  const declared = toolConsumer(tool, ackWaitMs);
  const first = { ...declared, max_ack_pending: concurrencyMax ?? -1 };
  const { max_ack_pending } = await declareConsumer(jsm, streams.work, first, declared);
  if (concurrencyMax === undefined || max_ack_pending === concurrencyMax) return;
  report(`tool ${tool}: at most ${concurrencyMax} at once from now on, not ${max_ack_pending}`); // WK1
  await translated(name, () => jsm.consumers.update(streams.work, name, { max_ack_pending: concurrencyMax }));
}
