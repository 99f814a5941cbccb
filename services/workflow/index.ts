/**
 * What an application imports as `sagamesh/workflow`: sagas whose graph is known before anything runs, by code or as a
 * plan, and the planner that has a model write one.
 */
export type { PlannerConfig } from "../../actors/plan/planner.ts";
export type { Predicate, Predicates } from "../../actors/values/condition.ts";
export type { AugmentBudget } from "../../actors/workflow/augment.ts";
export { defineWorkflow, type NodeConfig, type WorkflowConfig } from "../../actors/workflow/define.ts";
export type { NodeJudges } from "../../actors/workflow/judged.ts";
export type { NodeAttempt, NodeChange, NodeContext, WorkflowView } from "../../actors/workflow/spec.ts";
export { Plan, type PlanCatalogue, PlanFinding } from "../../protocol/documents/plan.ts";
export { Condition, GraphPatch, Invalidation } from "../../protocol/workflow.ts";
export { catalogueOfApp, definePlanner } from "./planner.ts";
