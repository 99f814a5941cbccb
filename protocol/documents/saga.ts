/**
 * Saga documents: a saga in one line of `ls`, and how one ended.
 */
import { z } from "zod";
import { Amounts } from "../budget.ts";
import { DefinitionRef, ParentRef } from "../event.ts";
import { Effects } from "../fork.ts";
import { SagaId } from "../ids.ts";
import { Payload } from "../json.ts";
import { Parked } from "../parked.ts";

/** How a saga stands. */
export const SagaStatus = z.enum(["running", "completed", "failed", "cancelled"]);

/** `start --wait`, `tail`: how the saga ended. */
export const EndDocument = z.object({
  saga: SagaId,
  status: SagaStatus.exclude(["running"]),
  output: Payload.optional(),
  code: z.string().optional(),
  reason: z.string().optional(),
  standing: z.array(z.string()),
});
export type EndDocument = z.infer<typeof EndDocument>;

/** Where a fork comes from, and how it goes on. Without `effects` it has not left its origin yet. */
export const ForkDocument = z.object({
  saga: SagaId,
  turn: z.int(),
  effects: Effects.optional(),
  /** In place of the definition's. */
  model: z.string().optional(),
  instructions: z.string().optional(),
});

/** Since when a saga is paused, who asked for it and why. */
export const PausedDocument = z.object({ at: z.number(), by: z.string(), reason: z.string().optional() });

/** What the outside says is wrong with a saga, until a `resume` acknowledges it. */
export const FlagDocument = z.object({
  reason: z.string(),
  severity: z.enum(["low", "medium", "high"]).optional(),
  by: z.string(),
  at: z.number(),
});

/** What an agent waits for. */
export const AwaitedDocument = z.object({
  /** Absent: any signal that its definition declares. */
  signals: z.array(z.string()).optional(),
  /** When it goes on without one, milliseconds since the epoch. */
  until: z.number().optional(),
});
export type AwaitedDocument = z.infer<typeof AwaitedDocument>;

/** `ls`: one line per saga. */
export const SagaRow = z.object({
  saga: SagaId,
  name: z.string(),
  version: z.int(),
  hash: z.string(),
  /** What it was started with, where it was moved to another definition since. */
  startedAs: DefinitionRef.optional(),
  status: SagaStatus,
  turns: z.int(),
  startedAt: z.number(),
  updatedAt: z.number(),
  /** What a running saga waits for, for example `tool pay`, `question`, `signal note until 2026-11-22 09:00:00`. */
  waitsFor: z.array(z.string()),
  /** Its definition, where it runs and no living host serves that: nothing happens until one does, or it is moved. */
  unserved: DefinitionRef.optional(),
  /** Why its hosts cannot take what comes for it, where they found that they cannot. */
  parked: Parked.optional(),
  parent: ParentRef.optional(),
  fork: ForkDocument.optional(),
  /** By the saga and all below it that has ended. */
  used: Amounts.optional(),
  /** Of its budget; absent where nothing is bounded. */
  limits: Amounts.optional(),
  paused: PausedDocument.optional(),
  /** Those that no `resume` has acknowledged. */
  flags: z.array(FlagDocument).optional(),
  /** The file's name, once its turns were archived; the rest is what its tombstone says. */
  archived: z.string().optional(),
  /** Why the ledger cannot be read. Where it is set, the rest of the row means nothing. */
  fault: z.string().optional(),
});
export type SagaRow = z.infer<typeof SagaRow>;
