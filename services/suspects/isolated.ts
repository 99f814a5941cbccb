/**
 * Isolated: a child's end of the channel. Deliveries are made of what the parent says, and settled by telling it.
 */
import { describeError } from "../../protocol/errors.ts";
import { every } from "../process/every.ts";
import type { Log } from "../process/log.ts";
import type { Clock, Delivery } from "../wire/ports.ts";
import type { FromChild, Handed, ToChild } from "./child.ts";

/** What takes suspects in a child: a host or a worker. */
export interface Isolated {
  offer(key: string, delivery: Delivery): void;
  leave(key: string): void;
  /** Settles what these died of; acks or gives back each of them. */
  setAside(key: string, deliveries: readonly Delivery[]): Promise<void>;
  beat(): void;
}

const aliveMs = 1_000;

/** Does what the parent says, to what serves; and says that it lives. Returns the hearing of one message. */
export function obey(
  { clock, log, say }: { clock: Clock; log: Log; say: (message: FromChild) => void },
  isolated: Isolated,
): (message: ToChild) => void {
  const untilItsProcessEnds = new AbortController().signal;
  void every({ clock, log, signal: untilItsProcessEnds }, aliveMs, "saying that it lives", () =>
    say({ type: "alive" }),
  );
  const delivered = (key: string, handed: Handed): Delivery => ({
    ...handed,
    ack: async () => say({ type: "ack", key, seq: handed.seq }),
    nak: async (delayMs) =>
      say({ type: "nak", key, seq: handed.seq, ...(delayMs === undefined ? {} : { delayMs }) }),
    working: () => undefined, // The parent does.
  });
  return (message) => {
    switch (message.type) {
      case "offer":
        return isolated.offer(message.key, delivered(message.key, message.handed));
      case "leave":
        return isolated.leave(message.key);
      case "beat":
        return isolated.beat();
      case "setAside": {
        const { key } = message;
        isolated
          .setAside(
            key,
            message.handed.map((handed) => delivered(key, handed)),
          )
          .catch((error: unknown) => {
            log.error({ err: error, suspect: key }, "suspect not set aside");
            say({ type: "excused", reason: describeError(error) });
          })
          .finally(() => say({ type: "quiet", key }));
      }
    }
  };
}
