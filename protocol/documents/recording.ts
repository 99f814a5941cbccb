/**
 * Recording document: what a bundle says of a conversation that was recorded elsewhere, and what `import` prints.
 */
import { z } from "zod";
import { DefinitionRef } from "../event.ts";
import { Name, SagaId } from "../ids.ts";
import { Payload } from "../json.ts";

/** An agent as far as a recording tells of it: data, from which every reader makes the same definition. */
export const RecordedAgent = z.object({
  v: z.literal(1),
  name: Name,
  /** As the recording names it. */
  model: z.string(),
  instructions: z.string(),
  tools: z.array(
    z.object({
      name: Name,
      description: z.string(),
      /** JSON Schema of the input, as the recording has it, or inferred. */
      schema: z.record(z.string(), Payload),
      /** Recorded calls do not fit the schema: models are shown it, and no input is judged by it. */
      unchecked: z.literal(true).optional(),
    }),
  ),
});
export type RecordedAgent = z.infer<typeof RecordedAgent>;

/** The shape of a recorded file: requests and replies of Anthropic's API, or plain chat messages. */
export const RecordingFormat = z.enum(["anthropic", "messages"]);
export type RecordingFormat = z.infer<typeof RecordingFormat>;

/** Where a ledger was made from. */
export const RecordedFrom = z.object({
  file: z.string(),
  /** The conversation's place in the file, from 1. */
  conversation: z.int().positive(),
  format: RecordingFormat,
  /** What the recording says of itself beside the conversation: its task, its trial, how it was judged. */
  about: z.record(z.string(), Payload).optional(),
  /** What the recording lacked and was assumed, and what of it is not in the ledger. */
  notes: z.array(z.string()),
});
export type RecordedFrom = z.infer<typeof RecordedFrom>;

/** `import`: one line per conversation. */
export const ImportDocument = z.object({
  /** Absent where there is nothing to import, for the reason. */
  saga: SagaId.optional(),
  /** The file that was written. */
  bundle: z.string().optional(),
  reason: z.string().optional(),
  definition: DefinitionRef.optional(),
  status: z.enum(["running", "completed", "failed", "cancelled"]).optional(),
  turns: z.int().optional(),
  recording: RecordedFrom,
});
export type ImportDocument = z.infer<typeof ImportDocument>;
