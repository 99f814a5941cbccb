/**
 * Inspect document: all of a saga, as `inspect --json` prints it.
 */
import { z } from "zod";
import { Spending } from "../budget.ts";
import { DefinitionRef, Event, ParentRef } from "../event.ts";
import { IntentId, SagaId } from "../ids.ts";
import { Payload } from "../json.ts";
import { Parked } from "../parked.ts";
import { Stay } from "../stay.ts";
import { BudgetDocument, SpentDocument } from "./budget.ts";
import { ChildDocument, EffectDocument, IntentDocument } from "./intent.ts";
import { MigrationRecord } from "./migrate.ts";
import { ContextSentDocument } from "./prompt.ts";
import {
  AwaitedDocument,
  EndDocument,
  FlagDocument,
  ForkDocument,
  PausedDocument,
  SagaStatus,
} from "./saga.ts";

/** `inspect`. Times are milliseconds since the epoch by the deciding host's clock. */
export const InspectDocument = z.object({
  saga: SagaId,
  definition: DefinitionRef,
  /** The same, where the saga runs and no living host serves it: nothing happens until one does, or it is moved. */
  unserved: DefinitionRef.optional(),
  /** Why its hosts cannot take what comes for it, where they found that they cannot. Said of it as it is now. */
  parked: Parked.optional(),
  parent: ParentRef.optional(),
  fork: ForkDocument.optional(),
  input: Payload,
  status: SagaStatus,
  phase: z.enum(["running", "undoing", "ending", "ended"]),
  end: EndDocument.optional(),
  turns: z.int(),
  startedAt: z.number(),
  updatedAt: z.number(),
  hosts: z.array(z.string()),
  intents: z.array(IntentDocument),
  open: z.array(IntentId),
  /** Where its model waits. */
  awaits: AwaitedDocument.optional(),
  /** The latest attempts whose bodies threw; absent where none did. `stack` where it could be read. */
  failures: z
    .array(
      z.object({
        intent: IntentId,
        attempt: z.int(),
        turn: z.int(),
        code: z.string(),
        reason: z.string(),
        trace: z.string(),
        stack: z.string().optional(),
      }),
    )
    .optional(),
  effects: z.array(EffectDocument),
  /**
   * How many intents that are over, and effects that stand, are not told of here: the earliest ones; absent where all are. Those
   * that are open, or failed, all are.
   */
  leftOut: z.object({ intents: z.int(), effects: z.int() }).optional(),
  /** By the saga itself. */
  spent: SpentDocument,
  /** By sagas below it that have ended. */
  below: Spending.optional(),
  budget: BudgetDocument.optional(),
  /** Where it lies in its tree of sagas; absent for the root, which has no parent. */
  tree: z.object({ root: SagaId, depth: z.int() }).optional(),
  /** Its moves to other definitions, oldest first; absent where there was none. */
  migrations: z.array(MigrationRecord).optional(),
  /** Why it does not go on by itself under the definition that starts go to, which its own says it does where it can. */
  stays: Stay.optional(),
  paused: PausedDocument.optional(),
  flags: z.array(FlagDocument).optional(),
  /** In the order in which they were started. */
  children: z.array(ChildDocument).default([]),
  /** The last events. */
  events: z.array(z.object({ turn: z.int(), at: z.number(), event: Event })),
  /** The last lines that its machine logged, where its saga keeps them; absent where there is none. */
  logged: z.array(z.object({ turn: z.int(), at: z.number(), line: z.string() })).optional(),
  /** An agent's working memory. This and the next only where the ledger was folded with its definition. */
  memory: Payload.optional(),
  machine: z.object({ value: Payload, context: Payload }).optional(),
  contextSent: ContextSentDocument.optional(),
  /** Of `--at`: the last turn that is told of, and how many there are. */
  asOf: z.object({ turn: z.int(), at: z.number(), of: z.int() }).optional(),
});
export type InspectDocument = z.infer<typeof InspectDocument>;
