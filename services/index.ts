/**
 * What an application imports: defining, connecting, and the adapters it wires itself.
 */
export {
  type Asking,
  type Callable,
  compensation,
  modelCall,
  question,
  reasonOf,
  type SignalEvents,
  type Telling,
  toActors,
} from "../actors/machine/callable.ts";
export {
  type ContextPolicy,
  full,
  selective,
  type Summarize,
  window,
} from "../actors/contract/context-policy.ts";
export { type AgentConfig, defineAgent } from "../actors/agent/define.ts";
export { defineSaga, type SagaConfig } from "../actors/saga/define.ts";
export { defineWorkflow, type NodeConfig, type WorkflowConfig } from "../actors/workflow/define.ts";
export type { Attempt, Change, NodeContext, WorkflowView } from "../actors/workflow/spec.ts";
export type { Predicate, Predicates } from "../actors/values/condition.ts";
export { Plan, PlanFinding } from "../protocol/documents/plan.ts";
export { Condition, GraphPatch, Invalidation } from "../protocol/workflow.ts";
export type { MemoryConfig, MemoryEdit } from "../actors/contract/memory-spec.ts";
export type { SagaDefinition, Signals } from "../actors/contract/definition.ts";
export {
  allowOnly,
  argumentsMatch,
  atMost,
  denyTools,
  needsApproval,
  noTwoOfAKind,
  spendAtMost,
} from "../actors/contract/policies.ts";
export { definePolicy, type Policy, type PolicyQuestion, type Verdict } from "../actors/contract/policy.ts";
export {
  type Approval,
  defineTool,
  type Effected,
  type Implementation,
  implement,
  NotPerformed,
  type PerformContext,
  type Probe,
  type Tool,
} from "../actors/contract/tool.ts";
export {
  type Check,
  defineValidator,
  implementCheck,
  type Seen,
  type Validator,
  type ValidatorConfig,
} from "../actors/validators/validator.ts";
export type { AugmentBudget } from "../actors/workflow/augment.ts";
export type { NodeJudges } from "../actors/workflow/judged.ts";
export { allOf, anyOf, byType, type CombinedConfig, tiered } from "../actors/validators/combined.ts";
export type { Material, Selection } from "../actors/validators/context.ts";
export { modelFor, type ModelJudge } from "../actors/validators/model.ts";
export {
  type Claim,
  constraintAdherence,
  contextPreservation,
  factual,
  honestOutput,
  reasoning,
  type Rule,
  semantic,
  type Step,
  syntactic,
} from "../actors/validators/built-in.ts";
export {
  boundaryIntegrity,
  consistency,
  type Contract,
  contractConformance,
  type Course,
  dependencySatisfaction,
  mutualAgreement,
  type Occurrence,
  temporal,
  transactionCoherence,
} from "../actors/validators/between.ts";
export { type Weekday, type WorkingHours, workingHours } from "../actors/contract/working-hours.ts";
export type { Price, Prices, Raise } from "../protocol/budget.ts";
export { type ErrorCode, isMeshError, MeshError } from "../protocol/errors.ts";
export {
  type ModelAnswer,
  type ModelContext,
  ModelFailure,
  type ModelPort,
  type ModelRequest,
  type Message,
  type Part,
} from "../protocol/model.ts";
export {
  type Answer,
  type Change as VerdictChange,
  type Finding,
  type ValidationType,
  Verdict as ValidatorVerdict,
} from "../protocol/verdict.ts";
export { StandInVote, TaskNotice } from "../protocol/notice.ts";
export { type App, defineApp } from "./app/app.ts";
export type { AppConfig } from "./app/app-config.ts";
export type { Handle, Mesh, SagaEnd, VotedTask, VoteInput } from "./client/mesh.ts";
export type { ForkOptions } from "./client/fork.ts";
export type { TaskDetail } from "./client/task-detail.ts";
export type { OpenTask } from "./client/tasks.ts";
export { catalogueOfApp, definePlanner } from "./app/planner.ts";
export { fallback, type Fallback } from "./app/fallback.ts";
export { anthropicModel, type AnthropicModelOptions } from "./models/anthropic.ts";
export { openaiModel, type OpenAIModelOptions } from "./models/openai.ts";
export { connect, type ConnectOptions } from "./runtime/connect.ts";
export { gatewayLinks, type GatewayLinks, type GatewayLinksOptions } from "./runtime/links.ts";
export type { AgentBudget, Budget } from "../actors/contract/budget-config.ts";
