/**
 * Listening to core messages, which no stream keeps: for live.ts and membership.ts.
 *
 * NN1 A listener that does not keep up loses the oldest, never memory.
 */
import type { Msg, NatsConnection } from "@nats-io/nats-core";
import { subscribed } from "./errors.ts";

const backlogMax = 10_000;

/** Listens from the call on, not from the first item asked for. Ends with the signal, or with the connection. */
export function listen<T>(
  nc: NatsConnection,
  subject: string,
  signal: AbortSignal,
  read: (message: Msg) => T,
): AsyncIterable<T> {
  const backlog: T[] = [];
  let wake = () => {};
  const sub = subscribed(nc, subject, (error, message) => {
    if (error !== null) return;
    backlog.push(read(message));
    if (backlog.length > backlogMax) backlog.shift(); // NN1
    wake();
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
