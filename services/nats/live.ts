/**
 * LivePort on core NATS: sent to whoever listens now, kept by nobody.
 *
 * V1 A follower that does not keep up loses the oldest, never memory.
 */
import type { NatsConnection } from "@nats-io/nats-core";
import { subjects } from "../../protocol/subjects.ts";
import type { LivePort } from "../ports.ts";

interface LiveMessage {
  readonly lane: string;
  readonly data: Uint8Array;
}

const backlogMax = 10_000;

export const createLive = (nc: NatsConnection): LivePort => ({
  publish: (saga, lane, data) => {
    // Best effort: a closed connection loses tokens and nothing else.
    if (!nc.isClosed() && !nc.isDraining()) nc.publish(subjects.live(saga, lane), data);
  },
  follow: (saga, signal) => listen(nc, subjects.live(saga, "*"), signal),
});

/** Listens from the call on, not from the first message asked for. Ends with the signal. */
function listen(nc: NatsConnection, subject: string, signal: AbortSignal): AsyncIterable<LiveMessage> {
  const backlog: LiveMessage[] = [];
  let wake = () => {};
  const sub = nc.subscribe(subject, {
    callback: (error, message) => {
      if (error !== null) return;
      backlog.push({ lane: message.subject.slice(subject.length - 1), data: message.data });
      if (backlog.length > backlogMax) backlog.shift(); // V1
      wake();
    },
  });
  const stop = () => {
    signal.removeEventListener("abort", stop);
    if (!sub.isClosed()) sub.unsubscribe();
    wake();
  };
  signal.addEventListener("abort", stop);
  void sub.closed.then(stop);
  if (signal.aborted) stop();
  return (async function* () {
    try {
      for (;;) {
        const next = backlog.shift();
        if (next !== undefined) yield next;
        else if (signal.aborted || sub.isClosed()) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      stop();
    }
  })();
}
