/** What a host says of itself in HOSTS: with each heartbeat, and at once when it changes. */
import { z } from "zod";

export const HostEntry = z.object({
  /** The partitions it consumes. */
  partitions: z.array(z.int().nonnegative()),
  /** It is ending: it takes nothing more, and whatever it still settles is no reason to wait for it. */
  draining: z.boolean(),
  /** When it began, milliseconds since the epoch by its own clock. */
  since: z.number(),
});
export type HostEntry = z.infer<typeof HostEntry>;

export const encodeHostEntry = (entry: HostEntry): Uint8Array =>
  new TextEncoder().encode(JSON.stringify(entry));

/** Undefined where it cannot be read: a host of another version, or somebody's mistake. */
export function decodeHostEntry(data: Uint8Array): HostEntry | undefined {
  try {
    return HostEntry.parse(JSON.parse(new TextDecoder().decode(data)));
  } catch {
    return undefined; // Placement is for speed only: who cannot be understood is not waited for.
  }
}
