/**
 * Live: what is said on `live.<id>.<lane>` while an intent is carried out. It is never stored; the
 * ledger has what was settled and depends on none of this.
 *
 * LV1 Each piece names the host that says it, the attempt, and how much was said before it. So a listener notices
 *     what it missed, what was said twice, and what a host said that has died since.
 */
import { z } from "zod";
import { IntentId } from "./ids.ts";
import { Payload } from "./json.ts";

const ofAttempt = { intent: IntentId, attempt: z.int().positive() };

/** On the lane `tokens`, from the host that asks: words of a model as they come, or that those of an attempt are void. */
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

/** On the lane `progress`, from the worker or host that performs: what a tool's body says of an attempt. */
export const ProgressNote = z.object({ ...ofAttempt, note: Payload });
export type ProgressNote = z.infer<typeof ProgressNote>;

/**
 * Last tokens of the subjects `live.<id>.<lane>`. `end` comes from the host whose turn ended the saga, with the turn's
 * number: a client that waits then reads the ledger, and looks there now and then in case it was lost.
 */
export const lanes = { tokens: "tokens", progress: "progress", end: "end" } as const;
