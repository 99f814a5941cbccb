/**
 * Letter documents: what `dead` says of dead letters.
 */
import { z } from "zod";

/** `dead ls`, `dead show`; with `body` only where one letter is shown. */
export const LetterDocument = z.object({
  /** Its number, by which `dead show`, `retry` and `drop` name it. */
  letter: z.int().positive(),
  source: z.enum(["inbox", "work"]),
  /** Where it was sent. */
  subject: z.string(),
  code: z.string(),
  reason: z.string(),
  at: z.number(),
  saga: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.string().optional(),
});
export type LetterDocument = z.infer<typeof LetterDocument>;

/** `dead retry`, `dead drop`: what was done with a letter. */
export const LetterDoneDocument = z.object({
  letter: z.int().positive(),
  done: z.enum(["retried", "dropped"]),
  subject: z.string(),
});
export type LetterDoneDocument = z.infer<typeof LetterDoneDocument>;
