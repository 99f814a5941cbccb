/**
 * Letter documents: what `dead` says of dead letters.
 */
import { z } from "zod";
import { SagaId } from "../ids.ts";

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

/** One letter that `dead retry --query` means, a line each. */
export const RetriedRow = z.object({
  letter: z.int().positive(),
  saga: SagaId,
  /** `would`: nothing was sent, for want of --yes. */
  sent: z.enum(["would", "retried", "refused"]),
  /** Its code and reason; of one that was sent, that it was. */
  what: z.string(),
  /** Why it was refused. */
  because: z.string().optional(),
});
export type RetriedRow = z.infer<typeof RetriedRow>;

/** `dead retry`, `dead drop`: what was done with a letter. */
export const LetterDoneDocument = z.object({
  letter: z.int().positive(),
  done: z.enum(["retried", "dropped"]),
  subject: z.string(),
});
export type LetterDoneDocument = z.infer<typeof LetterDoneDocument>;
