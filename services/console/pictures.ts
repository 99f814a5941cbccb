/**
 * Pictures: graphs with the place of each box and line, as the server lays them out and the page draws them. Types alone.
 */
import type { GraphEdge, GraphNode } from "../../protocol/documents/graph.ts";
import type { DependencyState, OperationState } from "../../protocol/documents/state.ts";

/** A box by its middle, and what stands in it. */
export interface PlacedBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly lines: readonly string[];
}

/** A line by its bends, and the middle of its words. */
export interface PlacedLine {
  readonly points: readonly { readonly x: number; readonly y: number }[];
  readonly x: number;
  readonly y: number;
}

/** A node of the graph. A child that was opened has its own graph in it, below its lines. */
export interface PlacedNode extends GraphNode, PlacedBox {
  readonly inside?: GraphPicture;
  /** Why that is not there, though it was asked for. */
  readonly closed?: string;
}

interface PlacedEdge extends GraphEdge, PlacedLine {}

/** `GET /api/sagas/<id>/graph`; with `open=<id>,…` the children of these ids have theirs in them. */
export interface GraphPicture {
  readonly saga: string;
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
  /** So many of the earliest nodes are left out. */
  readonly leftOut: number;
}

/** A transaction of a workflow: how it stands, who judged it, and its runs in order. */
export type PlanNode = DependencyState["nodes"][number] &
  PlacedBox & {
    readonly runs: readonly Pick<
      OperationState["transactions"][number],
      "transaction" | "name" | "outcome" | "recovery"
    >[];
  };

/** One call of a validator, whatever became of what it judged since. */
export interface GivenVerdict {
  readonly transaction: string;
  readonly validator: string;
  /** Absent while it judges, and of one that could not. */
  readonly verdict?: string;
  readonly reason?: string;
}

type PlanEdge = DependencyState["edges"][number] & PlacedLine;

/** `GET /api/sagas/<id>/plan`: of a workflow, its graph as it stands, or as it stood after `turn`. */
export interface PlanPicture {
  readonly saga: string;
  readonly turn: number;
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlanNode[];
  readonly edges: readonly PlanEdge[];
  /** All that were asked for, in order: of former runs and of the plan itself, too. */
  readonly verdicts: readonly GivenVerdict[];
}
