/**
 * Memory: an agent's working memory as a host kept it beside the ledger, with the turn after which it was so: for a console that has
 * no definition to fold the ledger by (state.ts), and for who looks often.
 *
 * EJ1 What was kept counts only if the ledger has its turn with this very hash: a ledger that was set back has another memory.
 */
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { MemoryDocument } from "./documents.ts";
import { folded } from "./folding.ts";
import type { Reading } from "./readings.ts";

/** A memory as a host kept it: after which turn, by its hash. */
export interface Remembered {
  readonly turn: number;
  readonly hash: string;
  /** Undefined of a saga that has none. */
  readonly memory: Json | undefined;
}

/** Undefined where no host has kept its state. Throws UNAVAILABLE. */
export type Remembering = (saga: SagaId) => Promise<Remembered | undefined>;

export function memoryOf(
  { turns, head }: Pick<Reading, "turns" | "head">,
  found: Remembered | undefined,
): MemoryDocument {
  const of = turns.length;
  if (found === undefined)
    return { of, why: "no host has kept its state yet; one does after some ten turns, when it rests" };
  // EJ1. A turn names the hash of the one before it.
  const hash = found.turn === head.turn ? head.hash : turns[found.turn]?.prev;
  if (hash !== found.hash) return { of, why: "the state that a host kept is not of this ledger" };
  if (found.memory === undefined) return { of, why: "it has no memory" };
  return { of, turn: found.turn, memory: folded(found.memory) };
}
