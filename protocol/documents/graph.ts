/**
 * Graph document: the graph that a saga wrote as it ran, as `inspect --graph --json` prints it.
 */
import { z } from "zod";
import { IntentId, SagaId } from "../ids.ts";
import { IntentOutcome } from "./intent.ts";

/**
 * What a node stands for. `fork`: where the saga leaves its origin; `move`: where another definition
 * takes it over. `decision`: an agent's model was asked. `model`: any other call of one, a summary too.
 * `signal` came in and `sent` went out. `repeat` stands for nodes that were laid together.
 */
export const GraphNodeKind = z.enum([
  ...["start", "decision", "model", "tool", "compensation", "child", "task", "timer"],
  ...["signal", "sent", "denied", "pause", "fork", "move", "end", "repeat"],
] as const);
export type GraphNodeKind = z.infer<typeof GraphNodeKind>;

/** `taken`: what came in. `undone`: it succeeded, or was in doubt, and was undone. */
export const GraphStatus = z.enum([...IntentOutcome.options, "open", "undone", "taken"]);
export type GraphStatus = z.infer<typeof GraphStatus>;

/** One thing that happened or was decided. */
export const GraphNode = z.object({
  /** An intent's own id; else `start`, `signal-<turn>-<step>` `forked-…` or `migrated-…`. */
  id: z.string(),
  kind: GraphNodeKind,
  label: z.string(),
  /** Arguments, model, reason: for people, on one line and cut. */
  detail: z.string(),
  turn: z.int(),
  at: z.number(),
  status: GraphStatus,
  attempts: z.int(),
  intent: IntentId.optional(),
  /** Of a child. */
  saga: SagaId.optional(),
  /** Of a repeat: how many times, and through which turn. */
  times: z.int().optional(),
  through: z.int().optional(),
});
export type GraphNode = z.infer<typeof GraphNode>;

/**
 * Why an edge is there, read from its end to its beginning: `to` was decided by `from`, supersedes `from`. Every edge
 * leads forward in time. `reads`: what `from` said is a part of what `to` was given. `decided on`: there is no model's decision between; `answered by`: its result was new to this
 * decision; `told of`: so was what came in from outside.
 */
export const GraphReason = z.enum([
  ...["decided by", "decided on", "told of", "answered by", "awaited by", "approved by"],
  ...["undoes", "supersedes", "serves", "follows", "asks about", "rests on", "reads"],
] as const);
export type GraphReason = z.infer<typeof GraphReason>;

/** One reason: `to` is there because of `from`. Both are ids of nodes. */
export const GraphEdge = z.object({
  from: z.string(),
  to: z.string(),
  reason: GraphReason,
  /** Of what one reply proposed together: the decision. */
  batch: z.string().optional(),
});
export type GraphEdge = z.infer<typeof GraphEdge>;

/** `inspect --graph`. Nodes and edges in the order of the ledger. */
export const GraphDocument = z.object({
  saga: SagaId,
  turns: z.int(),
  nodes: z.array(GraphNode),
  edges: z.array(GraphEdge),
});
export type GraphDocument = z.infer<typeof GraphDocument>;
