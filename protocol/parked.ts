/**
 * Parked: why a saga's hosts cannot take what comes for it, as the last of them found out. Kept beside its snapshot: it may be
 * thrown away, and is then found out again.
 */
import { z } from "zod";

/** The name of the entry beside a saga's snapshot. */
export const parkedEntry = "parked";

/** What a host could not do, and what helps. */
export const Parked = z.object({
  /** Of an error of sagamesh; INTERNAL of any other. */
  code: z.string(),
  /** What happened, in words. */
  reason: z.string(),
  /** What to do, for a person. */
  remedy: z.string(),
  /** When it was found out last, milliseconds since the epoch by the host's clock. */
  at: z.number(),
  /** The place in the stream of the last message on its ledger then; 0 where it has none, for its start cannot be taken. */
  seq: z.int(),
});
export type Parked = z.infer<typeof Parked>;

/** The bytes of an entry; undefined of what is none. */
export function readParked(data: Uint8Array | undefined): Parked | undefined {
  if (data === undefined) return undefined;
  try {
    return Parked.safeParse(JSON.parse(text.decode(data))).data;
  } catch {
    return undefined; // It is found out again.
  }
}

const text = new TextDecoder();
