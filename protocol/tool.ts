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

/** A contract of a tool: the tool's name, and the digest of what was agreed (actors/contract/contract-digest.ts). */
export interface ContractRef {
  readonly name: string;
  readonly contract: string;
}

/** A tool as people name it: `post`, and of a later version `post@2`. */
export const toolLabel = ({ name, version }: { readonly name: string; readonly version: number }): string =>
  version === 1 ? name : `${name}@${version}`;

/** Body of a message on `work.<tool>.<contract>`: one attempt of one intent. Hosts write it, workers perform it. */
export const WorkMessage = z.object({
  saga: SagaId,
  intent: IntentId,
  attempt: z.int().positive(),
  tool: z.string(),
  /** Of the contract that it is to be performed under. */
  contract: z.string(),
  key: z.string(),
  input: Payload,
  /** Milliseconds since the epoch; a worker that gets it earlier puts it back until then. */
  notBefore: z.number().optional(),
  /**
   * When this attempt was decided, milliseconds since the epoch: who wins a claim for what was decided long ago asks the ledger
   * whether it is asked for still. Hosts of former versions leave it out; that is taken for long ago.
   */
  decidedAt: z.number().optional(),
});
export type WorkMessage = z.infer<typeof WorkMessage>;
