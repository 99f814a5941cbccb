/**
 * Event: what a saga took in. Everything a ledger knows of the outside is one of these. Hosts write them in turns;
 * the fold and every reader of a ledger read them.
 */
import { z } from "zod";
import { ModelPrices, Spending, TreePlace } from "./budget.ts";
import { Hearing } from "./follows.ts";
import { Effects, ForkOrder, Lineage } from "./fork.ts";
import { IntentId, SagaId } from "./ids.ts";
import { Payload } from "./json.ts";
import { Result } from "./result.ts";
import { Traceparent } from "./trace.ts";

/** The definition a saga was started with, or was moved to. `hash` covers prompt, tools, schemas, configuration. */
export const DefinitionRef = z.object({ name: z.string(), version: z.int(), hash: z.string() });
export type DefinitionRef = z.infer<typeof DefinitionRef>;

/** The saga and the intent that started a child, and to which its end is a result. */
export const ParentRef = z.object({ saga: SagaId, intent: IntentId });
export type ParentRef = z.infer<typeof ParentRef>;

/** Body of a message on `saga.<id>.start`. Without a version the highest that a host serves is taken. */
export const StartMessage = z.object({
  name: z.string(),
  version: z.int().optional(),
  /** Of a child whose parent's policies hold for it: that very definition and no other of its name. */
  hash: z.string().optional(),
  input: Payload,
  parent: ParentRef.optional(),
  /** Counts only beside a parent. */
  tree: TreePlace.optional(),
  /** It is to be a fork; name, hash and input are its origin's. */
  fork: ForkOrder.optional(),
});
export type StartMessage = z.infer<typeof StartMessage>;

/**
 * What a human says of a task, from the command line, a client or a link. `by` and `as` are claims: the saga compares
 * them with the people that the task is for, and the server's permissions say who may publish votes at all.
 */
export const Vote = z.object({
  vote: z.enum(["approve", "deny", "answer", "edit"]),
  by: z.string().max(200).default("somebody"),
  /** The role in which the voter speaks. */
  as: z.string().max(200).optional(),
  /** Of the arguments that the voter was shown. Recorded with every vote on an approval. */
  digest: z.string().max(200).optional(),
  answer: Payload.optional(),
  /** The arguments that an edit puts in the place of the model's. */
  input: Payload.optional(),
  reason: z.string().optional(),
  /** By a key of the voter, over all other members and the task (signing.ts). The host checks it before it folds. */
  signature: z.string().max(200).optional(),
});
export type Vote = z.infer<typeof Vote>;

/**
 * What a saga's keys are made of: `decided`, of its decisions. Absent: of the turns in which they were written, as it
 * was for all sagas once. It holds for the whole ledger, forks of it included.
 */
export const Keys = z.literal("decided");
export type Keys = z.infer<typeof Keys>;

const resultEvent = z.object({
  type: z.literal("result"),
  intent: IntentId,
  attempt: z.int(),
  /** The incarnation that observed it. */
  by: z.string(),
  result: Result,
  /** Of a child saga's end: what it and all below it have used. */
  spent: Spending.optional(),
});

const otherEvents = [
  z.object({
    type: z.literal("start"),
    definition: DefinitionRef,
    input: Payload,
    parent: ParentRef.optional(),
    tree: TreePlace.optional(),
    /** Of the models it asks, where dollars are counted: a table of prices that changes later changes no running saga. */
    prices: ModelPrices.optional(),
    /** Of a fork; all else is as its origin was started. */
    fork: Lineage.optional(),
    keys: Keys.optional(),
    /** The same of the ids of signals to other sagas; only beside `keys`. */
    told: Keys.optional(),
    /** The trace that it was started in, where that does not follow from its parent and tree (trace.ts). */
    traceparent: Traceparent.optional(),
    ...Hearing.shape,
  }),
  /** `sentAt` is the server's time of the message; repeats are recognised by `id`. */
  z.object({
    type: z.literal("signal"),
    name: z.string(),
    data: Payload,
    id: z.string(),
    from: z.string(),
    sentAt: z.number(),
    /** The definition that the sender believes to write to; only of one saga to another. */
    to: z.string().optional(),
    /** A `cancel` that leaves the machine out, which kills the process that takes it: the runtime alone undoes and ends. */
    withoutMachine: z.literal(true).optional(),
  }),
  z.object({ type: z.literal("deferred"), intent: IntentId, attempt: z.int(), dueAt: z.number() }),
  z.object({ type: z.literal("timer"), intent: IntentId }),
  z.object({ type: z.literal("task"), intent: IntentId, id: z.string(), vote: Vote }),
  /**
   * A host proves with this event that it owns the saga before it acts on one that has open intents and nothing else
   * to append. `anew`: it takes over calls of models that an earlier owner may have begun, and whose cost may never
   * be reported.
   */
  z.object({ type: z.literal("adopted"), anew: z.literal(true).optional() }),
  /** Here a fork leaves its origin; results that it takes over follow in the same turn. */
  z.object({
    type: z.literal("forked"),
    /** Who asked for the fork. */
    by: z.string(),
    effects: Effects,
    model: z.string().optional(),
    instructions: z.string().optional(),
    /** Of the model, where dollars are counted. */
    prices: ModelPrices.optional(),
    /** Model calls whose replies follow; every other open one is asked anew. */
    answered: z.array(IntentId).optional(),
    /** Milliseconds since the last shared turn. What was to fall due is put off by as much. */
    idleMs: z.number().nonnegative(),
  }),
  /**
   * From this turn on the saga runs under another definition, which was found to decide all earlier turns as they
   * stand. `id` is the id of the signal that asked for the move, `by` its sender.
   */
  z.object({
    type: z.literal("migrated"),
    from: DefinitionRef,
    to: DefinitionRef,
    id: z.string(),
    by: z.string(),
    sentAt: z.number(),
  }),
] as const;

/** One event, by its `type`. */
export const Event = z.discriminatedUnion("type", [resultEvent, ...otherEvents]);
export type Event = z.infer<typeof Event>;
/** The event of one type. */
export type EventOf<T extends Event["type"]> = Extract<Event, { type: T }>;

/**
 * An event as a turn stores it: a result without `attempt` where it is 1, without `by` where that is the turn's
 * host, and a success as its `output` alone. turn.ts puts back what is left out.
 */
export const StoredEvent = z.discriminatedUnion("type", [
  resultEvent
    .partial({ attempt: true, by: true, result: true })
    .extend({ output: Payload.optional() })
    .refine(
      ({ result, output }) => (result === undefined) !== (output === undefined),
      "a result has either an output or a result",
    ),
  ...otherEvents,
]);
export type StoredEvent = z.infer<typeof StoredEvent>;
