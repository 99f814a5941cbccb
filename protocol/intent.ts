/**
 * Intent: a recorded decision that something should be done. One schema per kind. The fold decides them, hosts write
 * them in turns and carry them out once the turn is stored.
 *
 * IN1 An intent says what to do and nothing of how it went: attempts and outcomes are events.
 * IN2 The input of a call that a model proposed stands once in the ledger, in the reply; the intent names
 *     the call. Everything else carries its input, and so does a call whose input a policy rewrote
 *     or a human changed.
 * IN3 A turn stores an intent without its id where that is its place, and without the tool's name where the reply
 *     beside it has that: turn.ts puts them back.
 */
import { z } from "zod";
import { Amounts } from "./budget.ts";
import { IntentId, SagaId } from "./ids.ts";
import { Payload } from "./json.ts";

/** What is reserved of the budget until the intent's result says what it used. */
const reserved = { budget: Amounts.optional() };

const inputOrCall = {
  input: Payload.optional(),
  call: z.string().optional(),
  /** The policy whose input this is, instead of the proposed one. */
  rewrittenBy: z.string().optional(),
};

/** Calls that this one rests on, where the definition or the model says so; else on all that was settled before. */
const resting = {
  dependsOn: z.array(z.string()).optional(),
  /** Those of them whose outputs a workflow's node read when its input was made. */
  inputFrom: z.array(z.string()).optional(),
};

/** By name: a tool that tells people of a task, or a saga that stands in for them. */
const Attendant = z.object({
  name: z.string(),
  /** What it is given besides the notice of the task (notice.ts). */
  input: Payload.optional(),
});

const lineTerms = {
  /** Names and roles of the people who are asked; empty: anyone may answer. */
  to: z.array(z.string()),
  /** How many different people must say it; 1 unless given. */
  quorum: z.int().positive().optional(),
  remindEveryMs: z.number().positive().optional(),
  notify: Attendant.optional(),
  standIn: Attendant.optional(),
};

/** One place in the line of people who are asked: who they are, how long they have, and how they are told. */
export const InLine = z.object({ ...lineTerms, withinMs: z.number() });
export type InLine = z.infer<typeof InLine>;

/** Who may answer a task, until when, and who is asked after them. `otherwise` holds after the last. */
const TaskTerms = { ...lineTerms, dueAt: z.number(), next: z.array(InLine).optional() };

/** The task before this one: its deadline passed, or a human changed the arguments. */
const After = z.object({ task: IntentId, because: z.enum(["deadline", "edit"]), by: z.string().optional() });

/** The task that an intent serves by telling people of it or standing in for them. Such an intent is no effect. */
const forTask = { for: IntentId.optional() };

/** One effect outside, by the tool of that name and under that contract: the digest of what was agreed (protocol/tool.ts). */
const tool = {
  key: z.string(),
  contract: z.string(),
  ...inputOrCall,
  ...resting,
  undoes: IntentId.optional(),
  /** It only reads: nothing of it ever stands. */
  reads: z.literal(true).optional(),
  ...forTask,
};

/** One request to a model. `request` is the digest of all that is sent. */
const model = {
  name: z.string(),
  request: z.string(),
  input: Payload.optional(),
  /** The most tokens the model may write, where that is bounded. */
  outputTokensMax: z.int().positive().optional(),
  ...reserved,
};

/**
 * A child saga. With `undoes` alone: the child of that intent, which has ended well, is to undo what it did. With
 * `starts` besides: this child is started, and what it does undoes the effect of that intent.
 */
const saga = {
  name: z.string(),
  saga: SagaId,
  ...inputOrCall,
  ...resting,
  undoes: IntentId.optional(),
  starts: z.literal(true).optional(),
  /** It stands in line: nothing of it happens, and nothing is reserved, before a step says that it begins (turn.ts). */
  inLine: z.literal(true).optional(),
  ...forTask,
  ...reserved,
};

/** With `for`: a reminder of that task. */
const timer = { dueAt: z.number(), ...forTask };

/** A question to people. */
const task = {
  about: z.enum(["question", "approval", "doubt", "stuck", "budget"]),
  of: IntentId.optional(),
  question: z.string(),
  ...inputOrCall,
  otherwise: Payload.optional(),
  ...TaskTerms,
  /**
   * Of an approval: the tool that is called, and the digest of the exact call: the contract that it is called under, and
   * its arguments as the tool's schema reads them.
   */
  tool: z.string().optional(),
  digest: z.string().optional(),
  after: After.optional(),
};

/**
 * `to` is the definition that the receiver is believed to have; one of the sender's own children needs none. `key` is what the
 * receiver knows a repeat by; without it that is made of the intent's id.
 */
const signal = {
  key: z.string().optional(),
  saga: SagaId,
  name: z.string(),
  to: z.string().optional(),
  data: Payload.optional(),
  call: z.string().optional(),
};

/** Because of a flag the saga takes nothing more until a `resume`. Closed in the turn that decides it. */
const pause = { by: z.string(), reason: z.string() };

/** A call that was refused before it became any other intent. Closed in the turn that decides it. */
const denied = {
  name: z.string(),
  code: z.string(),
  reason: z.string(),
  ...forTask,
};

/**
 * The next attempt of an earlier intent, whose id it has; performed not before the time given. `ask` names the
 * model that stands in for the intent's own.
 */
const retry = {
  id: IntentId,
  attempt: z.int().min(2),
  notBefore: z.number(),
  ask: z.string().optional(),
};

/** How the saga ended. */
const end = {
  status: z.enum(["completed", "failed", "cancelled"]),
  output: Payload.optional(),
  reason: z.string().optional(),
  code: z.string().optional(),
  /**
   * Effects that succeeded or are in doubt and were not undone: `<tool> <key>`. For a saga that completed only
   * those in doubt: the others are what it was for.
   */
  standing: z.array(z.string()),
  /** A parent is told of it: it is open until that message is stored. Without it, closed in the turn that decides it. */
  tells: z.literal(true).optional(),
};

/** The kinds of intents. `id` and `toolName` are the two members that a turn may leave out (IN3). */
const kinds = <Id extends z.ZodType, ToolName extends z.ZodType>(id: Id, toolName: ToolName) =>
  [
    z.object({ kind: z.literal("tool"), id, name: toolName, ...tool }),
    z.object({ kind: z.literal("model"), id, ...model }),
    z.object({ kind: z.literal("saga"), id, ...saga }),
    z.object({ kind: z.literal("timer"), id, ...timer }),
    z.object({ kind: z.literal("task"), id, ...task }),
    z.object({ kind: z.literal("signal"), id, ...signal }),
    z.object({ kind: z.literal("pause"), id, ...pause }),
    z.object({ kind: z.literal("denied"), id, ...denied }),
    z.object({ kind: z.literal("retry"), ...retry }),
    z.object({ kind: z.literal("end"), id, ...end }),
  ] as const;

/** One intent, by its `kind`. */
export const Intent = z.discriminatedUnion("kind", kinds(IntentId, z.string()));
export type Intent = z.infer<typeof Intent>;
/** What an intent asks for. */
export type IntentKind = Intent["kind"];
/** The intent of one kind. */
export type IntentOf<K extends IntentKind> = Extract<Intent, { kind: K }>;

/** Whether it undoes an effect: as a call, or as the saga that is told to undo what it did. */
export const isUndoing = (
  intent: Intent,
): intent is (IntentOf<"tool"> | IntentOf<"saga">) & { readonly undoes: IntentId } =>
  (intent.kind === "tool" || intent.kind === "saga") && intent.undoes !== undefined;

/** An intent as a turn stores it (IN3). */
export const StoredIntent = z.discriminatedUnion("kind", kinds(IntentId.optional(), z.string().optional()));
export type StoredIntent = z.infer<typeof StoredIntent>;
