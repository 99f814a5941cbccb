/**
 * Why document: the story of a saga, or of one intent, as `why --json` prints it.
 */
import { z } from "zod";
import { SagaStatus } from "./saga.ts";
import { DefinitionRef } from "../event.ts";
import { IntentId, SagaId } from "../ids.ts";

/** What a sentence is about. */
export const WhyTopic = z.enum([
  ...["asked", "decided", "done", "waited", "refused", "people", "budget", "signal"],
  ...["child", "host", "recovery", "doubt", "undone", "cost", "stands", "end"],
] as const);
export type WhyTopic = z.infer<typeof WhyTopic>;

/** One sentence of the story. The ledger proves it at its turn, or it says what the ledger does not tell. */
export const WhySentence = z.object({
  turn: z.int(),
  at: z.number(),
  about: WhyTopic,
  text: z.string(),
  /** The intent that it tells of, if it tells of one. */
  intent: IntentId.optional(),
});
export type WhySentence = z.infer<typeof WhySentence>;

/** `why`. */
export const WhyDocument = z.object({
  saga: SagaId,
  /** Of the story of one intent. */
  intent: IntentId.optional(),
  definition: DefinitionRef,
  status: SagaStatus,
  turns: z.int(),
  startedAt: z.number(),
  updatedAt: z.number(),
  /** In the ledger's order. */
  sentences: z.array(WhySentence),
  /** The story in a few sentences. */
  sum: z.array(WhySentence),
  /** Whether the ledger was folded with its definition. */
  folded: z.boolean(),
});
export type WhyDocument = z.infer<typeof WhyDocument>;
