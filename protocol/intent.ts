/**
 * Intent: a recorded decision that something should be done. One schema per kind.
 *
 * N1 An intent says what to do and nothing of how it went: attempts and outcomes are events.
 * N2 The input of a call that a model proposed stands once in the ledger, in the reply; the intent names
 *    the call. Everything else carries its input, and so does a call that a policy rewrote: that is what holds.
 * N3 A turn stores an intent without its id where that is its place, and without the tool's name where the reply
 *    beside it has that: turn.ts puts them back.
 */
import { z } from "zod";
import { IntentId, SagaId } from "./ids.ts";
import { Payload } from "./json.ts";

const inputOrCall = {
  input: Payload.optional(),
  call: z.string().optional(),
  /** The policy whose input this is, instead of the proposed one. */
  rewrittenBy: z.string().optional(),
};

/** Who may answer a task, until when, and what holds if nobody does. */
const TaskTerms = { to: z.array(z.string()), dueAt: z.number(), quorum: z.int().positive().optional() };

/** The kinds of intents. `id` and `toolName` are the two members that a turn may leave out (N3). */
const kinds = <Id extends z.ZodType, ToolName extends z.ZodType>(id: Id, toolName: ToolName) =>
  [
    z.object({
      kind: z.literal("tool"),
      id,
      name: toolName,
      key: z.string(),
      ...inputOrCall,
      undoes: IntentId.optional(),
    }),
    /** `request` is the digest of all that is sent. */
    z.object({
      kind: z.literal("model"),
      id,
      name: z.string(),
      request: z.string(),
      input: Payload.optional(),
    }),
    /** With `undoes`: that child, which has ended well, is to undo what it did. */
    z.object({
      kind: z.literal("saga"),
      id,
      name: z.string(),
      saga: SagaId,
      ...inputOrCall,
      undoes: IntentId.optional(),
    }),
    z.object({ kind: z.literal("timer"), id, dueAt: z.number() }),
    z.object({
      kind: z.literal("task"),
      id,
      about: z.enum(["question", "approval", "doubt", "stuck"]),
      of: IntentId.optional(),
      question: z.string(),
      ...inputOrCall,
      otherwise: Payload.optional(),
      ...TaskTerms,
    }),
    /** `to` is the definition that a saga of another is believed to have; its own children need none. */
    z.object({
      kind: z.literal("signal"),
      id,
      saga: SagaId,
      name: z.string(),
      to: z.string().optional(),
      data: Payload.optional(),
      call: z.string().optional(),
    }),
    /** The saga itself takes nothing more until a `resume`, because of a flag: closed from the start. */
    z.object({ kind: z.literal("pause"), id, by: z.string(), reason: z.string() }),
    /** A call that was refused before it became anything else: closed from the start. */
    z.object({ kind: z.literal("denied"), id, name: z.string(), code: z.string(), reason: z.string() }),
    /**
     * The next attempt of an earlier intent, whose id it has; performed not before the time given. `ask` names the
     * model that stands in for the intent's own.
     */
    z.object({
      kind: z.literal("retry"),
      id: IntentId,
      attempt: z.int().min(2),
      notBefore: z.number(),
      ask: z.string().optional(),
    }),
    z.object({
      kind: z.literal("end"),
      id,
      status: z.enum(["completed", "failed", "cancelled"]),
      output: Payload.optional(),
      reason: z.string().optional(),
      code: z.string().optional(),
      /**
       * Effects that succeeded or are in doubt and were not undone: `<tool> <key>`. Of a saga that completed those
       * in doubt alone: the others are its purpose.
       */
      standing: z.array(z.string()),
    }),
  ] as const;

export const Intent = z.discriminatedUnion("kind", kinds(IntentId, z.string()));
export type Intent = z.infer<typeof Intent>;
export type IntentKind = Intent["kind"];
export type IntentOf<K extends IntentKind> = Extract<Intent, { kind: K }>;

/** An intent as a turn stores it (N3). */
export const StoredIntent = z.discriminatedUnion("kind", kinds(IntentId.optional(), z.string().optional()));
export type StoredIntent = z.infer<typeof StoredIntent>;
