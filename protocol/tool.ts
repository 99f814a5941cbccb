/**
 * Tool: the serialisable side of a tool's contract, as it stands in the registry, and the message that asks
 * a worker to perform one attempt of an intent.
 */
import { z } from "zod";
import { IntentId, SagaId } from "./ids.ts";
import { Payload } from "./json.ts";

/**
 * A tool's effect class: what is done when it is unknown whether the effect happened. `read`: run again. `idempotent`:
 * run again with the same key, by which the outside recognises it. `probe`: the tool first asks the outside whether it
 * happened. `once`: never run again; the result is `in_doubt`.
 */
export const Effect = z.enum(["read", "idempotent", "probe", "once"]);
export type Effect = z.infer<typeof Effect>;

/**
 * How often a call is attempted in all, and the pause before the second attempt in milliseconds. The pause doubles with
 * each further attempt, up to `retryBackoffMaxMs`.
 */
export const Retry = z.object({ attemptsMax: z.int().positive(), backoffMs: z.number().nonnegative() });
export type Retry = z.infer<typeof Retry>;

/** Body of a message on `work.<tool>`: one attempt of one intent. Hosts write it, workers perform it. */
export const WorkMessage = z.object({
  saga: SagaId,
  intent: IntentId,
  attempt: z.int().positive(),
  tool: z.string(),
  key: z.string(),
  input: Payload,
  /** Milliseconds since the epoch; a worker that gets it earlier puts it back until then. */
  notBefore: z.number().optional(),
});
export type WorkMessage = z.infer<typeof WorkMessage>;
