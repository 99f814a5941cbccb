/**
 * Stay: why a saga whose definition says that it moves by itself does not go on under the one that starts go to. Kept beside
 * its snapshot: it may be thrown away, and is then found out again.
 */
import { z } from "zod";
import { DefinitionRef } from "./event.ts";

/** The name of the entry beside a saga's snapshot. */
export const stayEntry = "stay";

/** What kept a saga where it is. */
export const Stay = z.object({
  /** The definition that it was judged by. */
  to: DefinitionRef,
  /** The first turn that would be another; absent where it is the state that the saga rested in. */
  turn: z.int().optional(),
  /** In words. */
  why: z.string(),
  /** The last turn of the ledger that was judged. */
  head: z.int(),
  /** When, milliseconds since the epoch by the host's clock. */
  at: z.number(),
});
export type Stay = z.infer<typeof Stay>;

/** The bytes of an entry; undefined of what is none. */
export function readStay(data: Uint8Array | undefined): Stay | undefined {
  if (data === undefined) return undefined;
  try {
    return Stay.safeParse(JSON.parse(text.decode(data))).data;
  } catch {
    return undefined; // It is found out again.
  }
}

const text = new TextDecoder();
