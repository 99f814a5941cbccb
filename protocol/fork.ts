/**
 * Fork: a new saga that shares the first turns of another, its origin.
 *
 * FK1 The shared turns are copied into the fork's own ledger, so it is whole without its origin; the lineage in its
 *     start says which saga decided them. The turn after them holds the event `forked`, from which on the fork is
 *     itself.
 */
import { z } from "zod";
import { shortDigestOf } from "./digest.ts";
import { IntentId, SagaId } from "./ids.ts";
import { Payload } from "./json.ts";
import { Result } from "./result.ts";

/**
 * What becomes of effects after the fork. `live`: performed. `simulated`: nothing outside is touched, and a call is
 * answered as the origin's ledger has it, or by a stand-in. `forbidden`: refused.
 */
export const Effects = z.enum(["live", "simulated", "forbidden"]);
export type Effects = z.infer<typeof Effects>;

/** Where a fork comes from. Its turns up to `turn` are the origin's; `head` is the hash of the last one's bytes there. */
export const Lineage = z.object({
  saga: SagaId,
  turn: z.int().positive(),
  head: z.string(),
  /** Digest of what was asked for: the same fork asked for twice is one. */
  order: z.string(),
  /** Of an origin that was a fork itself: whose turns came first, and up to which, oldest first. */
  before: z.array(z.object({ saga: SagaId, turn: z.int().positive() })).optional(),
});
export type Lineage = z.infer<typeof Lineage>;

/** The model and instructions that a fork or a replay asks with, in place of the definition's. */
export interface Variant {
  readonly model?: string;
  readonly instructions?: string;
}

/** What the start of a fork asks for. The client writes it; the host copies the turns it names. */
export const ForkOrder = z.object({
  saga: SagaId,
  turn: z.int().positive(),
  head: z.string(),
  effects: Effects.default("simulated"),
  /** Asked from then on in place of the definition's model. */
  model: z.string().min(1).max(200).optional(),
  /** In place of an agent's instructions. */
  instructions: z.string().optional(),
  /** Of intents that are open at that turn, in place of what the origin recorded: tools, children, and decisions. */
  results: z.array(z.object({ intent: IntentId, result: Result })).optional(),
  /** Signals that the fork hears first, in this order. */
  signals: z.array(z.object({ name: z.string(), data: Payload })).optional(),
});
export type ForkOrder = z.infer<typeof ForkOrder>;

/** The digest by which two orders are the same fork. */
export const digestOfOrder = (order: ForkOrder): string => shortDigestOf(order);

/** The mark in `by` of a result that was not performed: the origin's intent that answered, or `sample`. */
export const simulatedBy = (intent?: IntentId): string => `simulated:${intent ?? "sample"}`;

/** The origin's intent that such a mark names. */
export function answeredIn(by: string): IntentId | undefined {
  const [mark, intent] = by.split(":");
  const read = mark === "simulated" ? IntentId.safeParse(intent) : undefined;
  return read?.data;
}
