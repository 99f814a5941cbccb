/**
 * Notice: what a task tells of itself to a tool that notifies people, and to a saga that stands in for them.
 *
 * Such a tool or saga is given it as the member `task` of its input, beside the input that the terms name. A schema
 * without that member drops it.
 */
import { z } from "zod";
import { IntentId, SagaId } from "./ids.ts";

/** The task, as the tool or saga reads it. */
export const TaskNotice = z.object({
  /** `<saga>/<intent>`, as the command line takes it. */
  task: z.string(),
  saga: SagaId,
  intent: IntentId,
  /** The definition's name. */
  agent: z.string(),
  about: z.enum(["approval", "question", "doubt"]),
  question: z.string(),
  to: z.array(z.string()),
  quorum: z.int(),
  /** Milliseconds since the epoch. */
  dueAt: z.number(),
  /** The saga is a fork whose effects are simulated: whatever people say, nothing outside is touched. */
  simulated: z.literal(true).optional(),
  /** 0: it is told for the first time; else the number of the reminder. */
  reminder: z.int(),
  /** Of a doubt: the call that may have happened. */
  of: IntentId.optional(),
  /** Of an approval and a doubt: whose call, and the exact arguments; of an approval their digest. */
  tool: z.string().optional(),
  input: z.json().optional(),
  digest: z.string().optional(),
});
export type TaskNotice = z.infer<typeof TaskNotice>;

/** What a saga must end with that stands in for the human of an approval. For a question and a doubt its output is the answer. */
export const StandInVote = z.discriminatedUnion("vote", [
  z.object({ vote: z.literal("approve"), reason: z.string().optional() }),
  z.object({ vote: z.literal("deny"), reason: z.string().optional() }),
  z.object({ vote: z.literal("edit"), input: z.json(), reason: z.string().optional() }),
]);
export type StandInVote = z.infer<typeof StandInVote>;
