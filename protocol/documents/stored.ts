/**
 * Stored documents: what commands print that send one message and end.
 */
import { z } from "zod";
import { IntentId, SagaId } from "../ids.ts";
import { ForkDocument } from "./saga.ts";

/** `start`: the start is stored. */
export const StartedDocument = z.object({ saga: SagaId, name: z.string() });
export type StartedDocument = z.infer<typeof StartedDocument>;

/** `fork`: the start is stored. */
export const ForkedDocument = StartedDocument.extend({ fork: ForkDocument });
export type ForkedDocument = z.infer<typeof ForkedDocument>;

/** `signal`, `cancel`, `settle`, `approve`, `deny`, `edit`, `answer`: the message is stored. */
export const SentDocument = z.object({
  saga: SagaId,
  sent: z.enum(["signal", "result", "vote"]),
  /** The signal, or the vote. */
  name: z.string().optional(),
  intent: IntentId.optional(),
});
export type SentDocument = z.infer<typeof SentDocument>;

/** `link`: a URL of the gateway. */
export const LinkDocument = z.object({ url: z.string(), saga: SagaId, expiresAt: z.number() });
export type LinkDocument = z.infer<typeof LinkDocument>;
