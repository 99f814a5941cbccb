/**
 * Workflow spec: what a workflow is made of, and what its machine remembers, as types alone.
 *
 * Owns: shapes. Everything that makes or reads them stands in the files beside it; a definition names this one, and so
 * it knows of nothing that knows of definitions.
 */
import type { z } from "zod";
import type { Json } from "../../protocol/json.ts";
import type { Condition, GraphPatch, Invalidation, PlannedNode } from "../../protocol/workflow.ts";
import type { Augmented } from "./augment.ts";
import type { Callable } from "../machine/callable.ts";
import type { Predicates } from "../values/condition.ts";
import type { Feedback, FeedbackByKey, JudgedVerdict, Judgement, JudgingSpec } from "./judgement.ts";

/** What undoes a node's meaning: a tool, or a saga that is started for it. */
export interface NodeCompensation {
  readonly run: Callable;
  /** Takes what the node has done, as a tool's compensation does. */
  readonly input: (effect: never) => unknown;
}

/** A node as the runtime has it, whether code or a plan said it. */
export interface GraphNode {
  readonly name: string;
  readonly run: Callable;
  readonly description?: string | undefined;
  /** Makes the input; what it throws is the node's failure. */
  readonly input: (context: NodeContext) => unknown;
  /** When it may start; `{ all: [] }` for a root. */
  readonly when: Condition;
  readonly compensation?: NodeCompensation | undefined;
  /** Once it has committed it stays, whatever happens. */
  readonly pointOfNoReturn: boolean;
  /** The workflow completes without it. */
  readonly optional: boolean;
  /** What is kept of an output for people and validators. */
  readonly log?: { parse(output: unknown): unknown } | undefined;
  /** What was given as data. */
  readonly planned?: PlannedNode;
}

export interface Graph {
  readonly nodes: ReadonlyMap<string, GraphNode>;
  /** Each after all that it rests on; of those in a cycle, in the order in which they were given. */
  readonly order: readonly string[];
  /** What each node's condition names. */
  readonly restsOn: ReadonlyMap<string, readonly string[]>;
  /** Nodes that nothing rests on. */
  readonly sinks: readonly string[];
}

export interface WorkflowSpec {
  readonly name: string;
  readonly input: z.ZodType;
  readonly output: z.ZodType;
  readonly graph: Graph;
  readonly predicates: Predicates;
  /** What plans and patches may name, the nodes' own runs and compensations among them. */
  readonly catalogue: ReadonlyMap<string, Callable>;
  /** The output; undefined: what the nodes said, by their names. */
  readonly result: ((view: WorkflowView) => unknown) | undefined;
  /** What a declared signal invalidates. */
  readonly on: Readonly<Record<string, (data: never, view: WorkflowView) => readonly Invalidation[]>>;
  readonly onFailure: "end" | "replan";
  readonly replansMax: number;
  /** What stays when the workflow fails: nothing, or all that the failure does not touch. */
  readonly atEnd: "undo" | "keep";
  /** Who says what to do instead, and answers a GraphPatch; undefined: the same again. */
  readonly replanner: Callable | undefined;
  /** How long it can still be invalidated once all is done. */
  readonly openForMs: number | ((view: WorkflowView) => number);
  /** Undefined: no validator judges. */
  readonly judging?: JudgingSpec | undefined;
}

/** What changed the graph of a running workflow, all patches in one. */
export type Patched = Pick<GraphPatch, "nodes" | "edges" | "remove">;

/** What a replanner is asked. */
export interface ReplanQuestion {
  readonly workflow: string;
  readonly input: Json;
  readonly reason: string;
  /** The nodes whose work is to be done again, or instead. */
  readonly affected: readonly string[];
  /** What was wrong with the last answer. */
  readonly faults?: readonly string[];
}

/**
 * `skipped`: its condition cannot hold any more. `undoing`: what it did is being undone. `stuck`: it could not be, and
 * stands.
 */
export type NodeStatus =
  "waiting" | "running" | "committed" | "failed" | "skipped" | "undoing" | "undone" | "stuck";

/** A run of a node that is over and does not count any more. */
export interface NodeAttempt {
  readonly call?: string;
  readonly code?: string;
  readonly reason: string;
  /** What it had come to, if it had committed. */
  readonly output?: Json;
  /** What its compensation said, of how much was undone for instance. */
  readonly undone?: Json;
}

export interface NodeState {
  readonly status: NodeStatus;
  /** Runs begun. The present one is the call `<node>.<tries>`. */
  readonly tries: number;
  readonly call?: string;
  /** The nodes whose commits its condition was satisfied by when it began. */
  readonly evidence?: readonly string[];
  /** The nodes whose commits its input was made of, by an edge or not: it rests on these, too. */
  readonly reads?: readonly string[];
  readonly output?: Json;
  readonly log?: Json;
  /** Why it failed, was skipped or is undone. */
  readonly code?: string;
  readonly reason?: string;
  /** Of one that was skipped: whether that is how the workflow chose, or what a failure led to. */
  readonly by?: "choice" | "failure";
  /** The undoing it is in, and what it is once that is over. */
  readonly undo?: string;
  readonly then?: "failed" | "again" | "undone";
  readonly undone?: Json;
  readonly before?: readonly NodeAttempt[];
  /** Stays whatever happens: it was said to be over and done with. */
  readonly kept?: true;
  /** The outside has said that it holds no more. */
  readonly invalid?: true;
  /** What its next run is told. */
  readonly told?: readonly Feedback[];
  /** What it was given, where a validator judges that. */
  readonly given?: Json;
  /** It is being judged; and what was said of this run so far. */
  readonly judging?: Judgement;
  readonly verdicts?: readonly JudgedVerdict[];
}

/** What the outside said of a node, the latest. */
export interface NodeChange {
  readonly reason: string;
  readonly at: number;
  readonly data?: Json;
}

export interface WorkflowContext {
  /** As it was given; its schema reads it each time. */
  readonly input: Json;
  readonly nodes: Readonly<Record<string, NodeState>>;
  readonly changes: Readonly<Record<string, NodeChange>>;
  /** The latest data of each declared signal. */
  readonly heard: Readonly<Record<string, Json>>;
  readonly undos: number;
  readonly replans: number;
  readonly patch?: Patched;
  /** By call: the node as that call ran it, where patches have changed it or taken it away since; null: the definition's. */
  readonly former?: Readonly<Record<string, PlannedNode | null>>;
  /** A planner or a human is asked what to do instead. */
  readonly planning?: {
    readonly call: string;
    readonly nodes: readonly string[];
    readonly reason: string;
    /** What it was told. */
    readonly told?: FeedbackByKey | undefined;
  };
  /** The plan is being judged: nothing starts. */
  readonly judging?: Judgement;
  /** How many calls of judges there were, and what their changes used of the budget. */
  readonly judged?: number;
  readonly augmented?: Augmented;
  /** What judges said that the next planning is to be told. */
  readonly feedback?: FeedbackByKey;
  /** A planning is told what no plan was taken after. Absent: each is told all, as in former versions. */
  readonly hearsOnce?: true;
  /** All is done, and it can still be invalidated. */
  readonly standby?: true;
  /** Nothing will be invalidated any more. */
  readonly concluded?: true;
  readonly ending?: {
    readonly status: "failed" | "cancelled";
    readonly code: string;
    readonly reason: string;
    readonly undo: string;
  };
  readonly over?: "completed" | "failed" | "cancelled";
  readonly output?: Json;
}

/** What a workflow's functions are shown. */
export interface WorkflowView<I = unknown> {
  readonly input: I;
  /** Whether a node has committed. A node that starts on a yes rests on that commit. */
  has(node: string): boolean;
  /**
   * What a node that has committed said, as the schema of what it ran reads it. A node that starts with it rests on that
   * commit, with an edge or without. Throws if it has not committed: the node that asks fails, and nothing is performed.
   */
  output<O extends z.ZodType>(node: string, of: Pick<Callable<z.ZodType, O>, "output">): z.infer<O>;
  output(node: string): Json;
  /** What became of a node's runs before the present one, oldest first: an old report may be about one of these. */
  attempts(node: string): readonly NodeAttempt[];
  /** The latest data of each declared signal that came. */
  readonly signals: Readonly<Record<string, Json>>;
  /** What the outside said of nodes, by name: the latest. */
  readonly changes: Readonly<Record<string, NodeChange>>;
  /** What judges said that no planning was told yet. */
  readonly feedback: readonly Feedback[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The same for one node that is about to run. */
export interface NodeContext<I = unknown> extends WorkflowView<I> {
  readonly node: string;
  /** From 1. */
  readonly attempt: number;
  /** What became of the runs before, oldest first. */
  readonly before: readonly NodeAttempt[];
  /**
   * Where nobody is asked what to do instead (no `replanner`), the node that is done again plans: what judges said since the
   * last time that anything was done again. Nothing for a first run, and where a replanner was told it.
   */
  readonly feedback: readonly Feedback[];
}
