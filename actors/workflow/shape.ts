/** Workflow shape: what `defineWorkflow` takes, as a schema, for authors whose editor does not tell them. */
import { z } from "zod";
import { aCallable, aFunction, anObject, aPolicy, aSaga, aSchema, signalSchemas } from "../contract/given.ts";
import { pinNames } from "../validators/context.ts";

/** What `defineValidator`, or one of those that put validators together, made. */
const validators = z.array(
  z.custom<object>(
    (value) => aSaga.safeParse(value).success && "traits" in (value as object),
    "expected what defineValidator made",
  ),
);
const stages = {
  before: validators.optional(),
  output: validators.optional(),
  commit: validators.optional(),
};
const augment = z.object({
  units: z.record(z.string(), z.number()),
  under: z.array(z.string()).optional(),
  times: z.number().optional(),
  over: z.enum(["reject", "ask"]).optional(),
});
const pinned = z.partialRecord(z.enum(pinNames), z.json());
const functions = z.record(z.string(), aFunction);

/** One transaction. Conditions are read where they are understood. */
const node = z.object({
  run: aCallable,
  description: z.string().optional(),
  input: aFunction.optional(),
  after: z.array(z.string()).optional(),
  when: z.looseObject({}).optional(),
  join: z.enum(["all", "any"]).optional(),
  compensation: z.object({ run: aCallable, input: aFunction }).optional(),
  pointOfNoReturn: z.literal(true).optional(),
  optional: z.literal(true).optional(),
  log: aSchema.optional(),
  validators: z.object(stages).optional(),
});

/** What `defineWorkflow` takes. Budget, terms, edges and what may be augmented are read where they are understood. */
export const WorkflowShape = z.object({
  name: z.string(),
  version: z.number(),
  description: z.string().optional(),
  input: aSchema,
  output: aSchema.optional(),
  result: aFunction.optional(),
  nodes: z.record(z.string(), node),
  edges: z.array(z.looseObject({})).optional(),
  predicates: functions.optional(),
  signals: signalSchemas.optional(),
  on: functions.optional(),
  onFailure: z.enum(["end", "replan"]).optional(),
  replansMax: z.number().optional(),
  atEnd: z.enum(["undo", "keep"]).optional(),
  replanner: aCallable.optional(),
  uses: z.array(aCallable).optional(),
  openForMs: z.union([z.number(), aFunction], "expected a number or a function").optional(),
  policies: z.array(aPolicy).optional(),
  budget: anObject.optional(),
  content: z.json().optional(),
  validators: z.object({ plan: validators.optional(), ...stages }).optional(),
  augment: augment.optional(),
  whenUndecided: z.enum(["reject", "ask", "accept"]).optional(),
  ask: anObject.optional(),
  pinned: pinned.optional(),
  moves: z.enum(["pinned", "auto"]).optional(),
});

/** What stands in for what must be there. */
export const workflowInstead = {
  ...{ name: "unnamed", version: 1, input: z.json(), nodes: {} },
} as never; // Of no workflow's own types, and never served.
