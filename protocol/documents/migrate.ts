/** Migrate document: what `migrate` says of each saga, and how a move is told of one that was moved. */
import { z } from "zod";
import { Closing } from "../closing.ts";
import { DefinitionRef } from "../event.ts";
import { SagaId } from "../ids.ts";
import { Intent } from "../intent.ts";

/** One move of a saga from one definition to another. */
export const MigrationRecord = z.object({
  turn: z.int(),
  at: z.number(),
  from: DefinitionRef,
  to: DefinitionRef,
  /** The person or program that asked for it. */
  by: z.string(),
});

/** `migrate`: one line per saga. */
export const MigrateDocument = z.object({
  saga: SagaId,
  from: DefinitionRef,
  /** Absent where the application defines nothing that the saga could go on under. */
  to: DefinitionRef.optional(),
  /**
   * `can`, `cannot`: as `--dry-run` judges. `moved`: its ledger says so. `asked`: it can, the signal is stored, and no
   * host has taken it yet. `same`: there is nothing to move, for it has this definition already or has ended.
   */
  verdict: z.enum(["can", "cannot", "moved", "asked", "same"]),
  turns: z.int(),
  /** Requests to models that the new definition would have sent otherwise: the prompt, the tools or their order differ. */
  requestsDiffer: z.int().optional(),
  /** The first turn that the new definition would have decided otherwise, or 0 for the state that the saga rests in. */
  turn: z.int().optional(),
  expected: z.union([Intent, Closing]).optional(),
  got: z.union([Intent, Closing]).optional(),
  /** The reason in words. */
  why: z.string().optional(),
});
export type MigrateDocument = z.infer<typeof MigrateDocument>;
