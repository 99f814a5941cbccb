/**
 * Live document: what `tail --tokens --json` prints between turns.
 */
import { z } from "zod";
import { IntentId } from "../ids.ts";
import { Payload } from "../json.ts";

/** `tail --tokens --json`, between turns: words of a model, what became of them, and notes of tools. */
export const LiveDocument = z.object({
  live: z.discriminatedUnion("type", [
    z.object({
      type: z.literal("token"),
      intent: IntentId,
      attempt: z.int(),
      kind: z.enum(["text", "thinking"]),
      piece: z.string(),
    }),
    z.object({ type: z.literal("missed"), intent: IntentId, attempt: z.int(), characters: z.int() }),
    z.object({ type: z.literal("retracted"), intent: IntentId, attempt: z.int(), because: z.string() }),
    z.object({
      type: z.literal("settled"),
      intent: IntentId,
      turn: z.int(),
      text: z.string(),
      /** What of the text was not shown. */
      rest: z.string(),
    }),
    z.object({ type: z.literal("progress"), intent: IntentId, attempt: z.int(), note: Payload }),
  ]),
});
export type LiveDocument = z.infer<typeof LiveDocument>;
