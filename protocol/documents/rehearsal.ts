/** Rehearsal document: what recorded sagas would do under definitions that no host serves yet. */
import { z } from "zod";
import { Closing } from "../closing.ts";
import { DefinitionRef } from "../event.ts";
import { SagaId } from "../ids.ts";
import { Intent } from "../intent.ts";
import { ReplayRunDocument } from "./replay.ts";
import { UnreadableSaga } from "./unreadable.ts";

/**
 * One saga. `moves`: it lives, and would go on under the new definition. `same`: it has ended, or has that definition, and
 * all is decided as it was. `stays`: all is decided as it was, but the state it rests in keeps it where it is. `differs`:
 * something would have been decided otherwise. `unfoldable`: that cannot be found out.
 */
export const RehearsedSaga = z.object({
  saga: SagaId,
  from: DefinitionRef.optional(),
  to: DefinitionRef.optional(),
  verdict: z.enum(["moves", "same", "stays", "differs", "unfoldable"]),
  /** Requests to models that would have been others: the prompt, the tools or their order differ. */
  requestsDiffer: z.int().optional(),
  /** The first turn that would be another. */
  turn: z.int().optional(),
  expected: z.union([Intent, Closing]).optional(),
  got: z.union([Intent, Closing]).optional(),
  /** The reason in words; of `unfoldable` with its code. */
  why: z.string().optional(),
});
export type RehearsedSaga = z.infer<typeof RehearsedSaga>;

/** `deployments rehearse`. */
export const RehearsalDocument = z.object({
  query: z.string(),
  seed: z.string(),
  /** Sagas that the query means, and how many of them were looked at. */
  meant: z.int(),
  sampled: z.int(),
  /** What was changed in each definition that they have, in words; absent where the registry does not know the old one. */
  definitions: z.array(
    z.object({ from: DefinitionRef, to: DefinitionRef, sagas: z.int(), changed: z.string().optional() }),
  ),
  counts: z.record(RehearsedSaga.shape.verdict, z.int()),
  /** Of what keeps sagas from moving: each kind of reason once, with the first saga that has it; the most frequent first. */
  kinds: z.array(
    z.object({ verdict: RehearsedSaga.shape.verdict, why: z.string(), sagas: z.int(), first: RehearsedSaga }),
  ),
  sagas: z.array(RehearsedSaga),
  /** With `--was`: the same sagas run anew under the new definitions, with the recorded replies. */
  replay: ReplayRunDocument.optional(),
  failedOn: z.array(z.string()).optional(),
  /** Sagas that cannot be read: whether the query means them nobody knows. */
  unreadable: z.array(UnreadableSaga).optional(),
});
export type RehearsalDocument = z.infer<typeof RehearsalDocument>;
