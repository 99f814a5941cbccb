/**
 * State document: one of the three dimensions of a saga's state at a turn, as `inspect --state --json` prints it.
 */
import { z } from "zod";
import { IntentOutcome } from "./intent.ts";
import { IntentId, SagaId } from "../ids.ts";
import { Payload } from "../json.ts";
import { JudgedBy } from "../verdict.ts";
import { Condition } from "../workflow.ts";

/** The three sides of a saga's state that `inspect --state` shows. */
export const dimensions = ["application", "operation", "dependency"] as const;
/** One of them. */
export type Dimension = (typeof dimensions)[number];

const common = { saga: SagaId, turn: z.int(), at: z.number(), of: z.int() };

/**
 * An effect that was not undone, at this turn. `stands`: and is to. `undoing`: a plan undoes it, or will as soon as what
 * rests on it is undone. `stuck`: undoing it failed or was refused. `in doubt`: it may not have happened at all.
 */
const Standing = z.object({
  intent: IntentId,
  /** Of a workflow's node; the call a model made. */
  node: z.string().optional(),
  call: z.string().optional(),
  name: z.string(),
  key: z.string(),
  how: z.enum(["stands", "undoing", "stuck", "in doubt"]),
  /** The open task about it; of no names: it is for anyone. */
  task: z.object({ intent: IntentId, to: z.array(z.string()), dueAt: z.number() }).optional(),
});

/** What the application is about: entities, memory, and the turns to which it can be taken back. */
export const ApplicationState = z.object({
  ...common,
  dimension: z.literal("application"),
  input: Payload,
  /** All that was done and not undone, also by what is no node of a workflow. */
  standing: z.array(Standing),
  /** What has committed and was not undone, by node or by intent: as its log has it, else its output. */
  entities: z.record(z.string(), Payload),
  memory: Payload.optional(),
  /** The latest data of each signal, and what the outside said of nodes. */
  signals: z.record(z.string(), Payload),
  changes: z.record(z.string(), Payload),
  /** After each of these turns something had committed: `inspect --at` shows that state, `fork --from` goes on from it. */
  checkpoints: z.array(z.object({ turn: z.int(), at: z.number(), committed: z.array(z.string()) })),
});
export type ApplicationState = z.infer<typeof ApplicationState>;

/**
 * Whether a transaction can be or was undone. `none`: nothing undoes it, or it did nothing. `registered`: it stands, and
 * what undoes it is known. `stuck`: undoing it failed, and a human is asked or has left it as it is.
 */
export const Recovery = z.enum(["none", "registered", "undoing", "undone", "stuck"]);

const Transaction = z.object({
  transaction: IntentId,
  /** Of a workflow's node; the call a model made. */
  node: z.string().optional(),
  call: z.string().optional(),
  agent: z.string(),
  kind: z.enum(["tool", "saga"]),
  name: z.string(),
  input: Payload.optional(),
  output: Payload.optional(),
  attempts: z.int(),
  outcome: z.union([IntentOutcome, z.literal("open")]),
  reason: z.string().optional(),
  startedAt: z.number(),
  settledAt: z.number().optional(),
  /** What the model said beside the call. */
  reasoning: z.string().optional(),
  undoes: IntentId.optional(),
  /** Registered in the turn that recorded the success. */
  compensation: z.object({ name: z.string(), input: Payload }).optional(),
  recovery: Recovery,
});

/** What ran: with what, why, how it went, and what undoes it. */
export const OperationState = z.object({
  ...common,
  dimension: z.literal("operation"),
  transactions: z.array(Transaction),
});
export type OperationState = z.infer<typeof OperationState>;

/** The whole verdict stands in the ledger, in the result of the validator's call. */
const NodeVerdict = z.object({
  validator: z.string(),
  stage: z.string(),
  verdict: z.enum(["accept", "reject", "augment", "feedback", "undecided"]),
  by: JudgedBy,
  /** What the validator was shown, tokens. */
  tokens: z.int(),
  reason: z.string().optional(),
});

const Satisfied = z.enum(["yes", "no", "open"]);

/** What rests on what, whether it may start, and on which evidence that was decided. */
export const DependencyState = z.object({
  ...common,
  dimension: z.literal("dependency"),
  nodes: z.array(
    z.object({
      node: z.string(),
      status: z.string(),
      condition: Condition,
      satisfied: Satisfied,
      /** The commits that satisfied it when it began. */
      evidence: z.array(z.object({ node: z.string(), call: z.string().optional() })),
      /** The commits that its input was made of. */
      reads: z.array(z.object({ node: z.string(), call: z.string().optional() })).optional(),
      reason: z.string().optional(),
      /** What validators said of the run that it is about, in order. */
      verdicts: z.array(NodeVerdict).optional(),
    }),
  ),
  /** `of`: the condition names it, or the input of the last run read it, or both. */
  edges: z.array(
    z.object({
      ...{ from: z.string(), to: z.string(), satisfied: Satisfied },
      of: z.array(z.enum(["condition", "data"])),
    }),
  ),
  /** Effects that stand, and the calls each rests on; without them, on all that was settled before it. */
  effects: z.array(
    z.object({ intent: IntentId, call: z.string().optional(), dependsOn: z.array(z.string()).optional() }),
  ),
});
export type DependencyState = z.infer<typeof DependencyState>;

/** `inspect --state DIMENSION`. `turn` is the last that is told of, `of` how many the ledger has. */
export const StateDocument = z.discriminatedUnion("dimension", [
  ApplicationState,
  OperationState,
  DependencyState,
]);
export type StateDocument = z.infer<typeof StateDocument>;
