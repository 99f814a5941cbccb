/**
 * Live: what is said on `live.<id>.<lane>` while an intent is carried out. Nobody keeps it; the ledger has what
 * was settled and does not depend on any of it.
 *
 * V1 Each piece says who says it, in which attempt, and how much was said before it: so whoever listens notices
 *    what was missed, said twice, or said by a host that has died.
 */
import { z } from "zod";
import { IntentId } from "./ids.ts";
import { Payload } from "./json.ts";

const ofAttempt = { intent: IntentId, attempt: z.int().positive() };

/** On the lane `tokens`: words of a model as they come, or that those of an attempt count no more. */
export const TokenPiece = z.object({
  ...ofAttempt,
  /** The incarnation that asks the model. */
  by: z.string(),
  kind: z.enum(["text", "thinking"]).default("text"),
  /** UTF-16 units of this kind that the attempt has said before. */
  from: z.int().nonnegative().default(0),
  piece: z.string().default(""),
  /** Why what this attempt has said is taken back: the code it ended with. */
  retracted: z.string().optional(),
});
export type TokenPiece = z.infer<typeof TokenPiece>;

/** On the lane `progress`: what a tool's body says of an attempt. */
export const ProgressNote = z.object({ ...ofAttempt, note: Payload });
export type ProgressNote = z.infer<typeof ProgressNote>;

export const lanes = { tokens: "tokens", progress: "progress" } as const;
