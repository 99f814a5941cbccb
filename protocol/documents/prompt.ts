/**
 * Prompt documents: what a model was sent, rebuilt from the ledger.
 */
import { z } from "zod";
import { IntentId, SagaId } from "../ids.ts";
import { Payload } from "../json.ts";

/** What the model's last request contained. Only where the ledger was folded with its definition. */
export const ContextSentDocument = z.object({
  intent: IntentId,
  turn: z.int(),
  about: z.enum(["decision", "summary", "call"]),
  model: z.string(),
  /** In the request. */
  messages: z.int(),
  /** That there were until then. */
  conversation: z.int(),
  /** `estimated`: of the request's bytes, instructions and tools included. `reported`: by the provider, of the prompt. */
  tokens: z.object({ estimated: z.int(), reported: z.int().optional() }),
  /** What the context policy left out: messages dropped, and messages of which longer results are references. */
  cut: z
    .object({
      dropped: z.int(),
      shortened: z.int(),
      /** A summary stands for so many of the first messages. */
      summarized: z.int().optional(),
      /** Why what was dropped last has no summary, as a code. */
      unsummarized: z.string().optional(),
    })
    .optional(),
  /** Whether the recorded digests say that it was this request. */
  proved: z.boolean(),
});
export type ContextSentDocument = z.infer<typeof ContextSentDocument>;

/** `inspect --prompt`: the request of one call of a model, rebuilt from the ledger, and whether it was that. */
export const PromptDocument = z.object({
  saga: SagaId,
  turn: z.int(),
  intent: IntentId,
  /** `summary`: what a context policy asked for. `call`: of a machine, not of an agent. */
  about: z.enum(["decision", "summary", "call"]),
  /** The model that was asked, as the application names it. */
  model: z.string(),
  /** As the model port was given it. */
  request: Payload,
  /** From before the call, over all that the request follows from. */
  digest: z.object({ recorded: z.string(), recomputed: z.string() }),
  /** Of the request itself, recorded with the reply; only where less than the conversation was sent. */
  sent: z.object({ recorded: z.string().optional(), recomputed: z.string().optional() }).optional(),
  /** The digests are equal. Where `sent` is not recorded yet, by the first alone. */
  proved: z.boolean(),
});
export type PromptDocument = z.infer<typeof PromptDocument>;
