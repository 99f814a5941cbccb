/**
 * Workflow: the parts of a workflow that are data, written by a person, a model or a plan in a file.
 *
 * WF1 A condition is data: it names nodes and predicates, and holds no code.
 */
import { z } from "zod";
import { Name } from "./ids.ts";
import { Payload, type Json } from "./json.ts";
import { limits } from "./limits.ts";

/**
 * When a node may start, in terms of others. `{ node }`: it committed. With `is`: and the predicate of that name holds
 * of its output, or of the part of it that the JSON pointer `at` names, compared with `value`.
 */
export type Condition =
  | {
      readonly node: string;
      readonly is?: string | undefined;
      readonly at?: string | undefined;
      readonly value?: Json | undefined;
    }
  | { readonly all: readonly Condition[] }
  | { readonly any: readonly Condition[] }
  | { readonly not: Condition };

export const Condition: z.ZodType<Condition> = z.lazy(() =>
  z.union([
    z.strictObject({
      node: Name,
      is: Name.optional(),
      at: z.string().max(limits.pointerLengthMax).optional(),
      value: Payload.optional(),
    }),
    z.strictObject({ all: z.array(Condition).max(limits.nodesMax) }),
    z.strictObject({ any: z.array(Condition).max(limits.nodesMax) }),
    z.strictObject({ not: Condition }),
  ]),
);

/** An edge `from → to`. Without `when`, `to` waits until `from` has committed. */
export const Edge = z.strictObject({ from: Name, to: Name, when: Condition.optional() });
export type Edge = z.infer<typeof Edge>;

/**
 * A node as data: what it runs by name, and its input as a template, in which `{ "$ref": "node flight /price" }`
 * stands for a part of a result (reference.ts). The undoing's template knows `input`, `output`, `key` and `outcome`.
 */
export const PlannedNode = z.strictObject({
  name: Name,
  run: Name,
  description: z.string().max(limits.reasonLengthMax).optional(),
  input: Payload.optional(),
  when: Condition.optional(),
  join: z.enum(["all", "any"]).optional(),
  compensation: z.strictObject({ run: Name, input: Payload }).optional(),
  pointOfNoReturn: z.literal(true).optional(),
  optional: z.literal(true).optional(),
});
export type PlannedNode = z.infer<typeof PlannedNode>;

/**
 * How a running workflow's graph changes: what a replanner answers. A node of a known name takes that one's place.
 * What has committed and stands can be neither replaced nor removed.
 */
export const GraphPatch = z.strictObject({
  nodes: z.array(PlannedNode).max(limits.nodesMax).default([]),
  edges: z.array(Edge).max(limits.edgesMax).default([]),
  remove: z.array(Name).max(limits.nodesMax).default([]),
  /** The planner sees no way on, and says why. The workflow ends. */
  giveUp: z.string().min(1).max(limits.reasonLengthMax).optional(),
});
export type GraphPatch = z.infer<typeof GraphPatch>;

/**
 * Body of the signal `invalidate`: the outside says that what a node had done holds no longer. Nodes under `keep` stay as
 * they are, with all that rests on them alone, such as the part of a journey that was travelled already.
 */
export const Invalidation = z.strictObject({
  node: Name,
  reason: z.string().min(1).max(limits.reasonLengthMax),
  keep: z.array(Name).max(limits.nodesMax).optional(),
  /** What is known of the change, for the nodes that do the work again. */
  data: Payload.optional(),
});
export type Invalidation = z.infer<typeof Invalidation>;
