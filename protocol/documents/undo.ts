/**
 * Undo document: what `undo --offline` prints with --json.
 */
import { z } from "zod";
import { IntentId, SagaId } from "../ids.ts";
import { Payload } from "../json.ts";

/** A compensation: foreseen, or of the ledger. */
const UndoStep = z.object({
  /** The effect, and what it did. */
  undoes: IntentId,
  effect: z.string(),
  /** The tool or the saga that undoes it. */
  compensation: z.string(),
  /** Foreseen ones of one round run beside each other. */
  round: z.int().positive().optional(),
  /** Of a foreseen one: what it is given, and who performs it: `here` this command. */
  input: Payload.optional(),
  performer: z.enum(["here", "worker", "saga"]).optional(),
  /** Of one that was carried out: its own intent. */
  intent: IntentId.optional(),
});
export type UndoStep = z.infer<typeof UndoStep>;

/** One saga. */
export const UndoDocument = z.object({
  saga: SagaId,
  /** `would`: nothing was done, for want of --yes. `undone`: the saga has ended. `waits`: for what is `open`. */
  did: z.enum(["would", "undone", "waits"]),
  status: z.string(),
  /** Why it may be undone beside its hosts: nothing serves it, it was set aside, it was begun so, or it was forced. */
  because: z.enum(["unserved", "set_aside", "begun", "forced"]),
  steps: z.array(UndoStep),
  /** What stands and would or does go on standing. */
  standing: z.array(
    z.object({
      intent: IntentId,
      tool: z.string(),
      key: z.string(),
      outcome: z.enum(["succeeded", "in_doubt"]),
    }),
  ),
  /** What is waited for: calls of workers, children, people. */
  open: z.array(z.object({ intent: IntentId, kind: z.string(), what: z.string() })),
});
export type UndoDocument = z.infer<typeof UndoDocument>;
