/**
 * Plan documents: a workflow as a model or a person wrote it down, and what is wrong with one.
 *
 * PD1 A plan is data. What it runs it names; it holds no code, and no pattern that could take for ever to match.
 * PD2 A draft is read as far as it goes. What is missing and what is wrong are findings with a place, so that all of
 *     them are told at once.
 */
import { z } from "zod";
import { Name } from "../ids.ts";
import { type Json, Payload } from "../json.ts";
import { limits } from "../limits.ts";
import { Condition } from "../workflow.ts";

const Says = z.string().min(1).max(limits.reasonLengthMax);
const Scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const types = ["object", "array", "string", "number", "integer", "boolean", "null"] as const;

/** The part of JSON Schema that a plan may use (PD1). Members that an object does not name are allowed. */
export interface PlainSchema {
  readonly type?: (typeof types)[number] | undefined;
  readonly description?: string | undefined;
  readonly enum?: readonly (string | number | boolean | null)[] | undefined;
  readonly const?: string | number | boolean | null | undefined;
  readonly properties?: Readonly<Record<string, PlainSchema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly items?: PlainSchema | undefined;
  readonly anyOf?: readonly PlainSchema[] | undefined;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
}

export const PlainSchema: z.ZodType<PlainSchema> = z.lazy(() =>
  z.strictObject({
    type: z.enum(types).optional(),
    description: z.string().max(limits.reasonLengthMax).optional(),
    enum: z.array(Scalar).min(1).optional(),
    const: Scalar.optional(),
    properties: z.record(z.string(), PlainSchema).optional(),
    required: z.array(z.string()).optional(),
    items: PlainSchema.optional(),
    anyOf: z.array(PlainSchema).min(1).optional(),
    minItems: z.int().nonnegative().optional(),
    maxItems: z.int().nonnegative().optional(),
    minLength: z.int().nonnegative().optional(),
    maxLength: z.int().nonnegative().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
  }),
);

/** A part that agents or people play in the plan. */
const PlanRole = z.strictObject({ name: Name, does: Says });

/** What the plan is for, or what must hold whatever it does. `validators` name those of the application that check it. */
const PlanGoal = z.strictObject({ name: Name, says: Says });
const PlanConstraint = z.strictObject({ name: Name, says: Says, validators: z.array(Name).optional() });

/** What must hold of an output, besides that it came; judged as a condition is. */
const PlanCheck = z.strictObject({
  is: Name,
  at: z.string().max(limits.pointerLengthMax).optional(),
  value: Payload.optional(),
});
export type PlanCheck = z.infer<typeof PlanCheck>;

/** The agent that does the work of a node or an edge that runs nothing by name, as data. */
const PlanAgent = z.strictObject({
  /** A model of the application. */
  model: Name,
  instructions: z.string().min(1).max(limits.planAgentCharactersMax),
  tools: z.array(Name).default([]),
  output: PlainSchema,
  /** Decisions of its model at most. */
  steps: z.int().positive().max(limits.planAgentStepsMax).default(limits.planAgentSteps),
});
export type PlanAgent = z.infer<typeof PlanAgent>;

/**
 * What undoes a node or an edge: a call whose input is a template of `input`, `output`, `key` and `outcome`; `itself`,
 * where the tool or agent says what undoes it, or changes nothing; or a point of no return, with the reason.
 */
const PlanUndo = z.union([
  z.strictObject({ run: Name, input: Payload }),
  z.strictObject({ by: z.literal("itself") }),
  z.strictObject({ pointOfNoReturn: Says }),
]);
export type PlanUndo = z.infer<typeof PlanUndo>;

/** On an edge that runs nothing: the runtime carries what crosses it. */
const ByRuntime = z.strictObject({ by: z.literal("runtime") });

/** A node of the first draft: what it is for, before its agent, its log and what undoes it are asked for. */
export const NodeProfile = z.strictObject({
  name: Name,
  role: Name,
  does: Says,
  /** A tool, agent or saga of the application; without it an agent of the plan does it. */
  run: Name.optional(),
  /** Its input as a template (`$ref`); the workflow's own unless given. */
  input: Payload.optional(),
  when: Condition.optional(),
  join: z.enum(["all", "any"]).optional(),
  optional: z.literal(true).optional(),
  /** What of its output must hold, or it has failed. */
  success: z.array(PlanCheck).optional(),
  /** Goals and constraints that it serves. */
  covers: z.array(Name).optional(),
});
export type NodeProfile = z.infer<typeof NodeProfile>;

/** An edge of the first draft: what crosses it, and when. */
export const EdgeProfile = z.strictObject({
  from: Name,
  to: Name,
  does: Says,
  when: Condition.optional(),
  /** What happens on the way from one to the other; without it, nothing but what the edge's agent does. */
  run: Name.optional(),
  input: Payload.optional(),
});
export type EdgeProfile = z.infer<typeof EdgeProfile>;

/** What is asked of each node once the graph stands. */
export const NodeSpecs = z.strictObject({ agent: PlanAgent.optional(), compensation: PlanUndo });
/** What is asked of each edge once the graph stands. */
export const EdgeSpecs = z.strictObject({
  agent: z.union([ByRuntime, PlanAgent]).optional(),
  compensation: PlanUndo,
});

const node = z.strictObject({ ...NodeProfile.shape, log: PlainSchema, ...NodeSpecs.shape });
const edge = z.strictObject({ ...EdgeProfile.shape, log: PlainSchema, ...EdgeSpecs.shape });

const names = {
  name: Name,
  version: z.int().positive().default(1),
  description: z.string().max(limits.reasonLengthMax).optional(),
};

/** What a plan is about: the answer to its first question. */
export const PlanFrame = z.strictObject({
  ...names,
  goals: z.array(PlanGoal).min(1).max(limits.nodesMax),
  constraints: z.array(PlanConstraint).max(limits.nodesMax).default([]),
  roles: z.array(PlanRole).min(1).max(limits.nodesMax),
  /** Of the workflow's input; anything unless given. */
  input: PlainSchema.optional(),
});

/** A plan that has all it must have. */
export const Plan = z.strictObject({
  v: z.literal(1),
  ...PlanFrame.shape,
  nodes: z.array(node).min(1).max(limits.nodesMax),
  edges: z.array(edge).max(limits.edgesMax).default([]),
});
export type Plan = z.infer<typeof Plan>;

/** A plan in the making, or one that is handed in: what it must have may still be missing (PD2). */
export const Draft = z.strictObject({
  v: z.literal(1),
  ...PlanFrame.partial().shape,
  nodes: z
    .array(node.partial({ log: true, compensation: true }))
    .max(limits.nodesMax)
    .default([]),
  edges: z
    .array(edge.partial({ log: true, compensation: true }))
    .max(limits.edgesMax)
    .default([]),
});
export type Draft = z.infer<typeof Draft>;
/** A node of a draft. */
export type DraftNode = Draft["nodes"][number];
/** An edge of a draft. */
export type DraftEdge = Draft["edges"][number];

/** Something the application has that a plan may name. The schemas are JSON Schema. */
const Offered = z.object({ name: Name, description: z.string(), input: Payload, output: Payload });

/** All that a plan may name, as the planner is shown it. */
export const PlanCatalogue = z.object({
  tools: z.array(
    Offered.extend({
      effect: z.enum(["read", "idempotent", "probe", "once"]),
      /** What undoes it by its own contract: a tool, or `point_of_no_return`. */
      undoneBy: z.string().optional(),
    }),
  ),
  agents: z.array(Offered.extend({ kind: z.string() })),
  models: z.array(z.string()),
  predicates: z.array(z.string()),
  validators: z.array(z.object({ name: Name, description: z.string() })).default([]),
});
export type PlanCatalogue = z.infer<typeof PlanCatalogue>;

/** What is wrong with a plan, each with what to do about it in `says`. */
export const PlanFaultCode = z.enum([
  // The form
  "NOT_A_PLAN",
  "TOO_LARGE",
  "DUPLICATE",
  // The graph
  "EMPTY",
  "CYCLE",
  "NO_ROOT",
  "UNREACHABLE",
  "DANGLING",
  "CONDITION_INVALID",
  // Names
  "ROLE_UNKNOWN",
  "RUN_UNKNOWN",
  "MODEL_UNKNOWN",
  "REF_UNKNOWN",
  "NAME_UNUSABLE",
  // Schemas
  "INPUT_UNFIT",
  "LOG_UNFIT",
  "SCHEMA_INVALID",
  "MAY_MISFIT",
  "MAY_EXCEED",
  // What each node and each edge must have
  "LOG_MISSING",
  "AGENT_MISSING",
  "COMPENSATION_MISSING",
  "COMPENSATION_INVALID",
  // What the plan is for
  "GOAL_UNSERVED",
  "CONSTRAINT_UNCOVERED",
  "CHECK_VOID",
  "CHECK_WEAK",
]);
export type PlanFaultCode = z.infer<typeof PlanFaultCode>;

/** `at` is a JSON pointer into the plan. */
export const PlanFinding = z.object({ code: PlanFaultCode, at: z.string(), says: z.string() });
export type PlanFinding = z.infer<typeof PlanFinding>;

/**
 * Of some runs only, so that a plan that has them runs: people are told of them. Of those that are not mended while it is
 * made a plan cannot say more (`PlainSchema` knows no format, a tool's bounds are the tool's).
 */
export const planWarnings: ReadonlySet<PlanFaultCode> = new Set([
  "MAY_MISFIT",
  "MAY_EXCEED",
  "CHECK_VOID",
  "CHECK_WEAK",
]);
/** Those of them that a planner is asked to mend. */
export const planMended: ReadonlySet<PlanFaultCode> = new Set(["MAY_MISFIT", "CHECK_VOID"]);

/** A constraint and what fails where it does not hold, each in one line. */
export const PlanCover = z.object({ constraint: z.string(), says: z.string(), by: z.array(z.string()) });
export type PlanCover = z.infer<typeof PlanCover>;

/** What planning asks for, step by step. `graph` and `whole` ask for what is wrong to be mended. */
export const PlanStep = z.enum(["roles", "nodes", "edges", "graph", "logs", "agents", "whole"]);
export type PlanStep = z.infer<typeof PlanStep>;

/** `plan`: a plan was made. Where none could be, the saga fails with a `PlanRefusal`. */
export const PlannedDocument = z.object({
  saga: z.string(),
  plan: Plan,
  /** How often something had to be mended. */
  rounds: z.int(),
  /** Where it was written, if anywhere. */
  file: z.string().optional(),
  /** The same words had planned it before: no model was asked. */
  earlier: z.literal(true).optional(),
  /** What checks each of its constraints. */
  checks: z.array(PlanCover).optional(),
  /** What may go wrong in some runs. */
  warnings: z.array(PlanFinding).optional(),
});
export type PlannedDocument = z.infer<typeof PlannedDocument>;

/** Why a plan is refused, or why planning gave up. */
export const PlanRefusal = z.object({
  code: z.literal("PLAN_INVALID"),
  because: z.string(),
  /** Of a planning: how often it was mended, and what would have been asked next. */
  rounds: z.int().optional(),
  step: PlanStep.optional(),
  findings: z.array(PlanFinding),
  /** Where more were found than are listed. */
  found: z.int(),
});
export type PlanRefusal = z.infer<typeof PlanRefusal>;

/** An edge as findings and specs name it. */
export const edgeKey = ({ from, to }: { readonly from: string; readonly to: string }): string =>
  `${from}->${to}`;

/** JSON Schema of a plan, for the editors and models that write one. */
export const planSchema = (): Json =>
  z.toJSONSchema(Plan, { io: "input", unrepresentable: "any" }) as unknown as Json;
