/**
 * Send: one message, sent until the server has stored it.
 */
import { encodeBody } from "./messages.ts";
import { patiently } from "./patience.ts";
import type { Clock, Ports } from "./ports.ts";

export interface SendDeps {
  readonly ports: Pick<Ports, "blobs">;
  readonly clock: Clock;
  /** Ends it: what was sent may or may not be stored then. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Encodes the body, what is too large for a message apart, and publishes it until acked. Rejects only when aborted, or
 * for what no repetition helps. After a crash in the middle it may be stored and sent again: `publish` gives a Msg-Id.
 */
export async function send(
  { ports, clock, signal }: SendDeps,
  body: unknown,
  publish: (data: Uint8Array, contentType: string) => Promise<unknown>,
): Promise<void> {
  const forever = { patienceMs: Number.POSITIVE_INFINITY, signal };
  const { data, contentType } = await patiently(clock, () => encodeBody(ports.blobs, body), forever);
  await patiently(clock, () => publish(data, contentType), forever);
}
