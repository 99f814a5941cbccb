/**
 * What happens to a connection, for callers with requests or deliveries under way on it.
 *
 * The client drops what was handed to it and not yet sent when a connection is lost: publishes, acks and
 * requests alike, without a word. So every caller that waits for an answer is told.
 */
import { type NatsConnection, PermissionViolationError, type Status } from "@nats-io/nats-core";

export interface ConnectionWatch {
  onLost?(): void;
  onBack?(): void;
  /** The server refused a publish or a subscription by its permissions. */
  onRefused?(violation: PermissionViolationError): void;
}

/** Watches until the returned function is called or the connection is closed. */
export function watchConnection(nc: NatsConnection, watch: ConnectionWatch): () => void {
  // The iterator is the client's queue, which can be stopped from outside; its type does not say so.
  const status = nc.status() as AsyncIterable<Status> & { stop(): void };
  void (async () => {
    for await (const event of status) {
      if (event.type === "disconnect" || event.type === "close") watch.onLost?.();
      if (event.type === "reconnect") watch.onBack?.();
      if (event.type === "error" && event.error instanceof PermissionViolationError)
        watch.onRefused?.(event.error);
    }
  })();
  return () => status.stop();
}
