/**
 * Workflow judgement: who judges in a workflow, and what it remembers while something is judged.
 */
import type { Json } from "../../protocol/json.ts";
import type { VerdictChange, JudgedBy, ValidatorVerdict, VerdictKind } from "../../protocol/verdict.ts";
import type { GraphPatch } from "../../protocol/workflow.ts";
import type { AugmentBudget } from "./augment.ts";
import type { AskTerms, Callable } from "../machine/callable.ts";
import type { ValidatorMaterial, PinName } from "../validators/context.ts";

/** Where in a node's run it is judged. */
export type Stage = "before" | "output" | "commit";
export const stages = ["before", "output", "commit"] as const;

/** A validator, as much of it as a workflow needs. */
export interface Judge extends Callable {
  readonly kind: "saga";
  /** The input that shows it what it declares of what there is. Pure. */
  given(material: ValidatorMaterial): unknown;
}
export type Judges = Readonly<Partial<Record<Stage, readonly Judge[]>>>;

/** Who judges, and what may follow. */
export interface JudgingSpec {
  readonly plan: readonly Judge[];
  readonly every: Judges;
  /** By a node's name (WJ5 of workflow-judging.ts). */
  readonly nodes: Readonly<Record<string, Judges>>;
  readonly augment: AugmentBudget | undefined;
  readonly undecided: "reject" | "accept" | "ask";
  /** Whom a question is for, where people decide. */
  readonly asking: AskTerms;
  readonly pinned: { readonly [K in PinName]?: Json };
}

/** What a judge said that whoever plans next is to know (`feedback`). */
export interface Feedback {
  /** The node and the validator, `flight/prices`; of the plan the validator alone, `/prices`. */
  readonly from: string;
  readonly stage: string;
  readonly node?: string;
  readonly reason: string;
}
/** By a key of its own each. */
export type FeedbackByKey = Readonly<Record<string, Omit<Feedback, "from"> & { readonly from?: string }>>;

/** A judgement that is open. */
export interface Judgement {
  readonly stage: Stage | "plan";
  readonly item: Json;
  /** Changes made so far. */
  readonly round: number;
  /** Calls of judges that have not answered: the validator of each. */
  readonly waits: Readonly<Record<string, string>>;
  readonly said: readonly ValidatorVerdict[];
  /** The question that was put before people instead, and the changes it is about. */
  readonly asks?: string;
  readonly changes?: readonly VerdictChange[];
  /** Of a plan: what is done once it may be. */
  readonly patch?: Pick<GraphPatch, "nodes" | "edges" | "remove">;
  readonly nodes?: readonly string[];
  readonly reason?: string;
  /** What its planner was told. */
  readonly told?: FeedbackByKey | undefined;
}

/** What was said of a run of a node. The whole verdict stands in the result of its call. */
export interface JudgedVerdict {
  readonly validator: string;
  readonly stage: Stage | "plan";
  readonly verdict: VerdictKind;
  readonly by: JudgedBy;
  readonly judged: string;
  readonly tokens: number;
  readonly reason?: string;
}

/** All judges of a workflow, each once. */
export const judgesIn = ({ plan, every, nodes }: JudgingSpec): Judge[] => [
  ...new Set([
    ...plan,
    ...[every, ...Object.values(nodes)].flatMap((judges) => stages.flatMap((stage) => judges[stage] ?? [])),
  ]),
];
