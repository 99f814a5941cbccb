/**
 * Verify document: what `verify` has checked and found.
 */
import { z } from "zod";
import { DefinitionRef } from "../event.ts";
import { IntentId, SagaId } from "../ids.ts";
import { SagaStatus } from "./saga.ts";

/** How many turns and votes are signed, by public key. */
export const SignedDocument = z.object({
  turns: z.record(z.string(), z.int()),
  turnsUnsigned: z.int(),
  votes: z.record(z.string(), z.int()),
  votesUnsigned: z.int(),
});
export type SignedDocument = z.infer<typeof SignedDocument>;

/** A message on a ledger's subject that is no turn of it. */
export const ForeignMessage = z.object({
  /** Its sequence in the stream. */
  seq: z.int(),
  /** Milliseconds since the epoch by the server's clock. */
  at: z.number(),
  bytes: z.int(),
  /** Why it is no turn. */
  why: z.string(),
  /** Its first bytes, as text; what cannot be shown is escaped. */
  begins: z.string(),
  /** Its headers, which say what their writer liked. */
  headers: z.record(z.string(), z.string()),
});
export type ForeignMessage = z.infer<typeof ForeignMessage>;

/** How many there are on a ledger's subject, and the first of them. */
export const ForeignDocument = z.object({ count: z.int(), first: z.array(ForeignMessage) });
export type ForeignDocument = z.infer<typeof ForeignDocument>;

/** `verify`. */
export const VerifyDocument = z.object({
  saga: SagaId,
  ok: z.boolean(),
  turns: z.int(),
  /** Its last turn as `TURN:HASH`, which `--expect` takes; absent where that turn cannot be read. */
  last: z.string().optional(),
  /** How the saga stands by its turns; absent where the first cannot be read. */
  standing: z
    .object({
      status: SagaStatus,
      /** The turn of its last end. */
      endedIn: z.int().optional(),
      /** The first few of what is open, and since when, in milliseconds since the epoch. */
      open: z.array(z.object({ intent: IntentId, what: z.string(), since: z.number() })),
      openCount: z.int(),
    })
    .optional(),
  /** What else was looked at for turns that are missing: a chain alone cannot tell that its end was cut off. */
  compared: z.array(z.string()).optional(),
  /** The file that was read, where it was one. */
  file: z.string().optional(),
  /** Whether the ledger was folded with its definition, too. */
  folded: z.boolean(),
  /** Why it was not, where a definition was looked for. */
  unfolded: z.string().optional(),
  /** Turns from before a move to another definition, which only that one can prove and which is not at hand. */
  unproven: z.array(z.object({ from: z.int(), to: z.int(), definition: DefinitionRef })).optional(),
  /** Absent where nothing is signed and no key was asked for. */
  signed: SignedDocument.optional(),
  /** `turn` 0: what is wrong belongs to no single turn, such as the file's first line. */
  /** What stands on the ledger's subject and is no turn; absent where nothing does. It changes nothing about the saga. */
  foreign: ForeignDocument.optional(),
  findings: z.array(z.object({ turn: z.int(), code: z.string(), what: z.string() })),
});
export type VerifyDocument = z.infer<typeof VerifyDocument>;
