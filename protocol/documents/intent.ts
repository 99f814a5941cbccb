/**
 * Intent documents: what `inspect` says of each intent, effect and child of a saga.
 */
import { z } from "zod";
import { IntentId, SagaId } from "../ids.ts";
import { Intent } from "../intent.ts";
import { Payload } from "../json.ts";

/** How an intent ended: a recorded outcome, or `superseded` by a newer decision. */
export const IntentOutcome = z.enum(["succeeded", "failed", "denied", "in_doubt", "cancelled", "superseded"]);
export type IntentOutcome = z.infer<typeof IntentOutcome>;

/** One intent with its input and how it went. `turn` decided it, `settledTurn` holds its outcome, `by` observed that. */
export const IntentDocument = z.object({
  intent: Intent,
  input: Payload.optional(),
  turn: z.int(),
  attempt: z.int(),
  deferred: z.boolean(),
  /** Of a child that has not begun: its place in the line of those that wait for one, from 1. */
  inLine: z.int().positive().optional(),
  /** Absent while it is open. */
  outcome: IntentOutcome.optional(),
  output: Payload.optional(),
  reason: z.string().optional(),
  settledTurn: z.int().optional(),
  by: z.string().optional(),
});
export type IntentDocument = z.infer<typeof IntentDocument>;

/** An effect that stands: it succeeded, or is in doubt, and was not undone. */
export const EffectDocument = z.object({
  intent: IntentId,
  tool: z.string(),
  key: z.string(),
  outcome: z.enum(["succeeded", "in_doubt"]),
});
export type EffectDocument = z.infer<typeof EffectDocument>;

/** A saga that another one started; `outcome` is what the parent recorded, absent while the child runs or stands in line. */
export const ChildDocument = z.object({
  saga: SagaId,
  name: z.string(),
  intent: IntentId,
  inLine: z.int().positive().optional(),
  outcome: IntentOutcome.optional(),
  reason: z.string().optional(),
});
export type ChildDocument = z.infer<typeof ChildDocument>;
