/**
 * What an application imports as `sagamesh`: defining sagas, agents, tools and the application itself; connecting to a
 * mesh; running hosts and workers.
 */
export {
  type AskTerms,
  type Callable,
  compensation,
  type ModelCall,
  modelCall,
  type NoticeTerms,
  type Question,
  question,
  reasonOf,
  type SignalEvents,
  toActors,
} from "../actors/machine/callable.ts";
export { now, random, uuid } from "../actors/machine/source.ts";
export { type AgentConfig, defineAgent } from "../actors/agent/define.ts";
export type { AgentBudget, Budget } from "../actors/contract/budget-config.ts";
export type { Definition, SagaDefinition, SignalSchemas } from "../actors/contract/definition.ts";
export type { MemoryConfig, MemoryEdit } from "../actors/contract/memory-spec.ts";
export {
  type Approval,
  defineTool,
  type EffectToUndo,
  type Implementation,
  implement,
  NotPerformed,
  type PerformContext,
  type ProbeAnswer,
  type Tool,
} from "../actors/contract/tool.ts";
export { type ToolSpec, toolsOf, type ToolsOf } from "../actors/contract/tools-of.ts";
export { type AdoptWords, adoptMachine, type EffectWords } from "../actors/saga/adopt.ts";
export { defineSaga, type SagaConfig } from "../actors/saga/define.ts";
export type { BudgetRaise, ModelPrice, ModelPrices } from "../protocol/budget.ts";
export type { DeclaredDocument, DeploymentDocument } from "../protocol/documents/deployment.ts";
export type { ScheduleDocument, ScheduleDoneDocument } from "../protocol/documents/schedule.ts";
export type { SagaRow } from "../protocol/documents/saga.ts";
export { type ErrorCode, isMeshError, MeshError } from "../protocol/errors.ts";
export type { Json } from "../protocol/json.ts";
export type { MigrateDocument } from "../protocol/documents/migrate.ts";
export type { Turn } from "../protocol/turn.ts";
export type { UnreadableSaga } from "../protocol/documents/unreadable.ts";
export { StandInVote, TaskNotice } from "../protocol/notice.ts";
export { type App, defineApp } from "./app/app.ts";
export type { AppConfig } from "./app/app-config.ts";
export type { Waiting, WhichDefinition } from "./client/deployments.ts";
export type { ForkOptions } from "./client/fork.ts";
export type { DescribeOptions } from "./client/list.ts";
export type { SagaFilter } from "./client/saga-filter.ts";
export type { LiveEvent } from "./client/live.ts";
export type { MigrateOptions } from "./client/migrate.ts";
export type { Mesh, SagaDescription, SagaEnd, SagaHandle } from "./client/mesh.ts";
export type { ScheduleConfig, Schedules } from "./client/schedules.ts";
export type { VotedTask, VoteInput } from "./client/send.ts";
export type { TaskDetail } from "./client/task-detail.ts";
export type { OpenTask } from "./client/tasks.ts";
export type { Many } from "./ledger/many.ts";
export { connect, type ConnectOptions } from "./runtime/connect.ts";
export { gatewayLinks, type GatewayLinks, type GatewayLinksOptions } from "./runtime/links.ts";
export type { StartHostOptions } from "./runtime/run-host.ts";
export type { StartWorkerOptions } from "./runtime/run-worker.ts";
export type { EndOptions, Running, RunningHealth, ServedOptions } from "./runtime/running.ts";
export { startHost, startWorker } from "./runtime/start.ts";
