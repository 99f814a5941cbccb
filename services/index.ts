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
} from "../actors/callable.ts";
export { type ContextPolicy, full, selective, type Summarize, window } from "../actors/context-policy.ts";
export { type AgentConfig, defineAgent, defineSaga, type SagaConfig } from "../actors/define.ts";
export { defineWorkflow, type NodeConfig, type WorkflowConfig } from "../actors/define-workflow.ts";
export type { Attempt, Change, NodeContext, WorkflowView } from "../actors/workflow-spec.ts";
export type { Predicate, Predicates } from "../actors/condition.ts";
export { Plan, PlanFinding } from "../protocol/plan-document.ts";
export { Condition, GraphPatch, Invalidation } from "../protocol/workflow.ts";
export type { MemoryConfig, MemoryEdit } from "../actors/memory-spec.ts";
export type { AgentBudget, Budget, Saga, Signals } from "../actors/definition.ts";
export {
  allowOnly,
  argumentsMatch,
  atMost,
  denyTools,
  needsApproval,
  noTwoOfAKind,
  spendAtMost,
} from "../actors/policies.ts";
export { definePolicy, type Policy, type PolicyQuestion, type Verdict } from "../actors/policy.ts";
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
} from "../actors/tool.ts";
export {
  type Check,
  defineValidator,
  implementCheck,
  type Seen,
  type Validator,
  type ValidatorConfig,
} from "../actors/validator.ts";
export type { AugmentBudget } from "../actors/augment.ts";
export type { NodeJudges } from "../actors/judged.ts";
export { allOf, anyOf, byType, type CombinedConfig, tiered } from "../actors/validator-combined.ts";
export type { Material, Selection } from "../actors/validator-context.ts";
export { modelFor, type ModelJudge } from "../actors/validator-model.ts";
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
} from "../actors/validators.ts";
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
} from "../actors/validators-between.ts";
export { type Weekday, type WorkingHours, workingHours } from "../actors/working-hours.ts";
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
export { type App, type AppConfig, defineApp } from "./app.ts";
export type { Handle, Mesh, SagaEnd, VotedTask, VoteInput } from "./client/mesh.ts";
export type { ForkOptions } from "./client/fork.ts";
export type { TaskDetail } from "./client/task-detail.ts";
export type { OpenTask } from "./client/tasks.ts";
export { catalogueOfApp, definePlanner } from "./planner.ts";
export { fallback, type Fallback } from "./fallback.ts";
export { anthropicModel, type AnthropicModelOptions } from "./models/anthropic.ts";
export { openaiModel, type OpenAIModelOptions } from "./models/openai.ts";
export { connect, type ConnectOptions } from "./runtime/connect.ts";
export { gatewayLinks, type GatewayLinks, type GatewayLinksOptions } from "./runtime/links.ts";
