/**
 * Tool: the serialisable side of a tool's contract, as it stands in the registry, and the message that asks
 * a worker to perform one attempt of an intent.
 */
import { z } from "zod";
import { IntentId, SagaId } from "./ids.ts";
import { Payload } from "./json.ts";

/** What holds when nobody knows whether the effect happened. */
export const Effect = z.enum(["read", "idempotent", "probe", "once"]);
export type Effect = z.infer<typeof Effect>;

export const Retry = z.object({ attemptsMax: z.int().positive(), backoffMs: z.number().nonnegative() });
export type Retry = z.infer<typeof Retry>;

/** Body of a message on `work.<tool>`: one attempt of one intent. */
export const WorkMessage = z.object({
  saga: SagaId,
  intent: IntentId,
  attempt: z.int().positive(),
  tool: z.string(),
  key: z.string(),
  input: Payload,
  /** Milliseconds since the epoch; an earlier delivery is put back until then. */
  notBefore: z.number().optional(),
});
export type WorkMessage = z.infer<typeof WorkMessage>;
