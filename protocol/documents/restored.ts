/** Restored documents: what `restored` prints. */
import { z } from "zod";
import { SagaId } from "../ids.ts";
import { UnreadableSaga } from "./unreadable.ts";

/** A call that is open on a ledger, and may have begun unknown to it. */
export const RestoredCall = z.object({
  saga: SagaId,
  intent: z.string(),
  tool: z.string(),
  attempt: z.int().positive(),
  /** `in_doubt`: a person is asked. `probed`: the outside is asked. `again`: it goes out under its key. `read`: it is read again. */
  becomes: z.enum(["in_doubt", "probed", "again", "read"]),
});
export type RestoredCall = z.infer<typeof RestoredCall>;

/** A saga of which something beside its ledger names turns that the ledger lacks. */
export const SagaAhead = z.object({
  saga: SagaId,
  /** As many as its ledger has. */
  turns: z.int().nonnegative(),
  /** What names them, in words. */
  what: z.array(z.string()).min(1),
});
export type SagaAhead = z.infer<typeof SagaAhead>;

/** `restored`: one, at the end. Times are milliseconds since the epoch, by the server's clock. */
export const RestoredDocument = z.object({
  /** `due`: what would be done (without --yes). `said`: done. `settled`: nothing is asked about any more. */
  outcome: z.enum(["due", "said", "settled"]),
  /** What the mesh itself has noticed of the restore; absent where it has noticed nothing. */
  why: z.string().optional(),
  /** From when on calls are asked about, and of sagas begun before when; absent where the claims were kept. */
  asks: z.object({ at: z.number(), until: z.number() }).optional(),
  /** How many were looked at. */
  sagas: z.int().optional(),
  ahead: z.array(SagaAhead).optional(),
  calls: z.array(RestoredCall).optional(),
  /** Sagas whose hosts hand on again what is open. */
  nudged: z.int().optional(),
  unreadable: z.array(UnreadableSaga).optional(),
});
export type RestoredDocument = z.infer<typeof RestoredDocument>;
