/**
 * Stored documents: what commands print that send one message and end.
 */
import { z } from "zod";
import { DefinitionRef } from "../event.ts";
import { IntentId, SagaId } from "../ids.ts";
import { Parked } from "../parked.ts";
import { ForkDocument } from "./saga.ts";
import { Simulated } from "./task.ts";

/** `start`: the start is stored. */
export const StartedDocument = z.object({
  saga: SagaId,
  name: z.string(),
  /** What it begins with, by what hosts serve and people declared when it was stored. Absent where no host serves any. */
  definition: DefinitionRef.optional(),
  /** The same, where no host serves it now: the start waits for one. */
  unserved: DefinitionRef.optional(),
});
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
  simulated: Simulated.optional(),
  /** The saga's definition, where no living host serves it: what is stored waits for one. */
  unserved: DefinitionRef.optional(),
  /** Why its hosts cannot take what comes for it, if they cannot. */
  parked: Parked.optional(),
});
export type SentDocument = z.infer<typeof SentDocument>;

/** One saga that `cancel --query` means, a line each. */
export const CancelledRow = z.object({
  saga: SagaId,
  name: z.string(),
  /** `would`: nothing was sent, for want of --yes. */
  sent: z.enum(["would", "signal", "refused"]),
  /** Why it was refused. */
  because: z.string().optional(),
});
export type CancelledRow = z.infer<typeof CancelledRow>;

/** `link`: a URL of the gateway. */
export const LinkDocument = z.object({ url: z.string(), saga: SagaId, expiresAt: z.number() });
export type LinkDocument = z.infer<typeof LinkDocument>;
