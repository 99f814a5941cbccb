/**
 * Following a stream: what is stored and what will be, in order, each message once.
 *
 * Owns: an ephemeral consumer that the server pushes from, and making it anew. Used by ledger.ts.
 *
 * The client's ordered consumer waits for its server to come back when that dies, because a consumer on a
 * dead server is offline and not gone; for a follower of a mesh that lives on, this is for ever. Here silence
 * is enough to begin anew elsewhere.
 *
 * NW1 The consumer numbers its deliveries. A number left out, a message of the server that is no heartbeat, or
 *     silence ends the feed; the next one starts after the last message that came whole.
 * NW2 The server stops sending when its flow control request is not answered, and it is answered in turn: a
 *     slow reader holds a window of messages and no more.
 * NW3 However the reader leaves its loop, the subscription and the consumer are given back.
 * NW4 A stream that goes less far than what was read of it, as soon as no deposed leader can be the cause, or has another
 *     message where the last was read, has lost its end or was put back: of what is stored there nothing would be told.
 */
import { AckPolicy, DeliverPolicy, type JetStreamManager } from "@nats-io/jetstream";
import { createInbox, type Msg, nanos, type NatsConnection } from "@nats-io/nats-core";
import { MeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { StoredMessage } from "../wire/ports.ts";
import { parseAckSubject } from "./ack-subject.ts";
import { subscribed, toMeshError, translated } from "./errors.ts";
import { decodeHeaders, natsHeaders } from "./headers.ts";
import { sleep } from "./sleep.ts";

const heartbeatMs = 1_000;
const silenceMaxMs = 2_500;
const retryDelayMs = 250;
const lookAgainMs = 1_000;
/** The same time as the server tells it in two ways. */
const clockRoundingMs = 2;
/** A reader that vanished without a word costs the server a small consumer for this long. */
const idleMs = 30_000;

export interface FollowContext {
  readonly nc: NatsConnection;
  readonly jsm: JetStreamManager;
}

export interface Followed {
  readonly stream: string;
  /** May hold wildcards. */
  readonly subject: string;
  readonly afterSeq: number;
  readonly signal: AbortSignal;
}

/**
 * Ends without an error when the signal is aborted. Throws only what waiting does not mend: LEDGER_BEHIND (NW4), and that the
 * connection is closed (UNAVAILABLE) or asking is refused.
 */
export async function* follow(context: FollowContext, followed: Followed): AsyncGenerator<StoredMessage> {
  const { signal } = followed;
  let { afterSeq } = followed;
  let isNew = true;
  let readAt = 0;
  while (!signal.aborted) {
    if (!isNew) await assertNotBehind(context, { ...followed, afterSeq }, readAt);
    isNew = false;
    if (signal.aborted) return;
    const feed = await openFeed(context, { ...followed, afterSeq });
    try {
      for (let batch = await feed.next(); batch !== undefined; batch = await feed.next())
        for (const item of batch) {
          if (signal.aborted) return;
          if ("answer" in item)
            await translated(followed.subject, async () => context.nc.publish(item.answer)); // NW2
          else {
            ({ seq: afterSeq, storedAt: readAt } = item);
            yield item;
          }
        }
    } finally {
      feed.close(); // NW3
    }
    await sleep(retryDelayMs, signal);
  }
}

/** NW4. Resolves also when the signal is aborted. Throws LEDGER_BEHIND. */
async function assertNotBehind(
  { jsm }: FollowContext,
  { stream, afterSeq, signal }: Followed,
  readAt: number,
): Promise<void> {
  const believeAt = performance.now() + limits.deposedMsMax;
  const unanswered = () => undefined; // Or not there: the feed finds that out.
  const behind = (what: string) =>
    new MeshError("LEDGER_BEHIND", `stream ${stream} ${what}, and this reader has read up to ${afterSeq}`);
  while (!signal.aborted) {
    const info = await jsm.streams.info(stream).catch(unanswered);
    if (info === undefined) return;
    const lastSeq = info.state.last_seq;
    if (lastSeq >= afterSeq) {
      const there = await jsm.streams.getMessage(stream, { seq: afterSeq }).catch(unanswered);
      if (there && readAt > 0 && Math.abs(there.time.getTime() - readAt) > clockRoundingMs)
        throw behind(`has another message ${afterSeq}`);
      return;
    }
    if (performance.now() >= believeAt) throw behind(`goes up to message ${lastSeq}`);
    await sleep(lookAgainMs, signal);
  }
}

/** A message, or where the server wants to be told that the ones before it are dealt with. */
type Item = StoredMessage | { readonly answer: string };

interface Feed {
  /** What has come since; undefined when the feed has ended. */
  next(): Promise<Item[] | undefined>;
  close(): void;
}

async function openFeed(
  { nc, jsm }: FollowContext,
  { stream, subject, afterSeq, signal }: Followed,
): Promise<Feed> {
  let backlog: Item[] = [];
  let isEnded = false;
  let delivered = 0;
  let heardAt = performance.now();
  let wake = () => {};
  const end = () => {
    isEnded = true;
    wake();
  };

  const onMessage = (message: Msg) => {
    heardAt = performance.now();
    const { status, fields } = decodeHeaders(message);
    if (status === 0) {
      const place = parseAckSubject(message.reply ?? "");
      if (place.delivery !== delivered + 1) return end(); // NW1
      delivered = place.delivery;
      const { seq, storedAt } = place;
      backlog.push({ subject: message.subject, seq, headers: fields, data: message.data, storedAt });
    } else if (status !== 100 || Number(fields[natsHeaders.lastDelivery] ?? delivered) !== delivered)
      return end(); // NW1
    else {
      // A flow control request, or a heartbeat that reminds of one.
      const answer = message.reply || fields[natsHeaders.stalled];
      if (!answer) return;
      backlog.push({ answer });
    }
    wake();
  };

  const inbox = createInbox();
  const sub = subscribed(nc, inbox, (error, message) => (error === null ? onMessage(message) : end()));
  const config = pushTo(inbox, subject, afterSeq);
  const watchdog = setInterval(() => {
    if (performance.now() - heardAt > silenceMaxMs) end(); // NW1
  }, heartbeatMs);
  signal.addEventListener("abort", end);

  const close = () => {
    clearInterval(watchdog);
    signal.removeEventListener("abort", end);
    if (!sub.isClosed() && !nc.isClosed()) sub.unsubscribe();
    // Best effort: a consumer that cannot be deleted now goes by itself when it is idle.
    if (!nc.isClosed()) void jsm.consumers.delete(stream, config.name).catch(() => {});
  };
  try {
    await translated(subject, () => jsm.consumers.add(stream, config));
    heardAt = performance.now();
  } catch (error) {
    const failure = toMeshError(error, subject);
    if (nc.isClosed() || !failure.retriable) {
      close();
      throw failure;
    }
    end();
  }
  return {
    close,
    next: async () => {
      if (backlog.length === 0 && !isEnded) await new Promise<void>((resolve) => (wake = resolve));
      const batch = backlog;
      backlog = [];
      return batch.length > 0 ? batch : undefined;
    },
  };
}

/** An ephemeral consumer that pushes to `inbox`, and goes by itself once its reader has been silent for a while. */
const pushTo = (inbox: string, subject: string, afterSeq: number) => ({
  name: inbox.slice(inbox.lastIndexOf(".") + 1),
  deliver_subject: inbox,
  deliver_policy: DeliverPolicy.StartSequence,
  opt_start_seq: afterSeq + 1,
  filter_subject: subject,
  ack_policy: AckPolicy.None,
  max_deliver: 1,
  mem_storage: true,
  num_replicas: 1,
  flow_control: true,
  idle_heartbeat: nanos(heartbeatMs),
  inactive_threshold: nanos(idleMs),
});
