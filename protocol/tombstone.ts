/**
 * Tombstone: what is left in LEDGER of a saga whose turns were archived. The last message of its subject.
 *
 * TB1 It is appended by the same compare-and-set as a turn, right after the last turn that the archive holds. So
 *     no turn can come between the archive and the tombstone, and none can follow it: a host that still holds the
 *     saga is fenced by it.
 * TB2 `prev` is the hash of the last turn's bytes, so an archive can be proved to be the one that the tombstone names.
 * TB3 It holds all that is needed to answer an input as before: the saga's input and parent, how it
 *     ended, and of which intents a late result would still say something new.
 */
import { z } from "zod";
import { DefinitionRef, ParentRef } from "./event.ts";
import { Effects } from "./fork.ts";
import { IntentId, SagaId } from "./ids.ts";
import { Payload } from "./json.ts";

/** How an archived saga ended, as its `end` intent says. */
export const ArchivedEnd = z.object({
  status: z.enum(["completed", "failed", "cancelled"]),
  output: Payload.optional(),
  reason: z.string().optional(),
  code: z.string().optional(),
  standing: z.array(z.string()),
});
export type ArchivedEnd = z.infer<typeof ArchivedEnd>;

/** The message. `sagamesh archive` writes it; hosts, clients and every reader of a ledger take it for the saga. */
export const Tombstone = z.object({
  v: z.literal(1),
  type: z.literal("tombstone"),
  saga: SagaId,
  /** Milliseconds since the epoch by the clock of the server. */
  archivedAt: z.number(),
  /** Who archived it, as the command was told. */
  by: z.string(),
  /** The archive's file name, without its folder. */
  file: z.string(),
  /** Turns in the archive. */
  turns: z.int().positive(),
  prev: z.string(),
  definition: DefinitionRef,
  parent: ParentRef.optional(),
  /** Where it was forked from, for a fork. */
  fork: z.object({ saga: SagaId, turn: z.int(), effects: Effects.optional() }).optional(),
  inputDigest: z.string(),
  startedAt: z.number(),
  endedAt: z.number(),
  end: ArchivedEnd,
  /** Intents without a recorded success, by what was recorded: a late result may correct it. */
  unsettled: z.record(IntentId, z.enum(["in_doubt", "failed", "cancelled"])),
});
export type Tombstone = z.infer<typeof Tombstone>;

/** What the header `Saga-Event` says on a tombstone, and on no turn. */
export const tombstoneEvent = "archived";
