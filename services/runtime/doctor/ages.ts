/** Ages: for how long what lies in a queue has lain there. Pure. */
import type { Oldest } from "../../nats/examine.ts";
import type { StoredMessage } from "../../wire/ports.ts";

/** Milliseconds: of the oldest that is not acked, and of the oldest that was never delivered. */
export function agesOf(oldest: Oldest | undefined, now: number): { oldestAgeMs?: number; lagMs?: number } {
  const age = (message: StoredMessage) => Math.max(0, Math.round(now - message.storedAt));
  return {
    ...(oldest?.unacked === undefined ? {} : { oldestAgeMs: age(oldest.unacked) }),
    ...(oldest?.undelivered === undefined ? {} : { lagMs: age(oldest.undelivered) }),
  };
}
