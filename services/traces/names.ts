/**
 * Names: of spans, attributes and events, all of them here. Those that begin with `gen_ai` and `error` are OpenTelemetry's, of
 * the semantic conventions for generative AI (1.41, which call themselves in development); the others are ours.
 */

/** `gen_ai.operation.name`; a span's name is one of them and what it is done with. */
export const operations = {
  agent: "invoke_agent",
  workflow: "invoke_workflow",
  chat: "chat",
  tool: "execute_tool",
} as const;

/** Spans of what the conventions have no word for. */
export const ownSpans = {
  wait: "wait",
  ask: "ask_people",
  send: "send_signal",
  /** An outcome that was recorded became another one. */
  corrected: "corrected",
  /** What a saga that had ended did after all: it was told to undo. */
  again: "ended_again",
} as const;

/** What an attribute or a name holds where what stands in the ledger may not be shown. */
export const other = "_OTHER";

export const attribute = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  conversation: "gen_ai.conversation.id",
  agentName: "gen_ai.agent.name",
  agentVersion: "gen_ai.agent.version",
  workflowName: "gen_ai.workflow.name",
  requestModel: "gen_ai.request.model",
  requestTokensMax: "gen_ai.request.max_tokens",
  responseModel: "gen_ai.response.model",
  finishReasons: "gen_ai.response.finish_reasons",
  /** With what was read from and written to a cache, as the conventions want it. */
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cacheReadTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens",
  toolName: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  toolCall: "gen_ai.tool.call.id",
  errorType: "error.type",

  saga: "sagamesh.saga",
  intent: "sagamesh.intent",
  kind: "sagamesh.intent.kind",
  definition: "sagamesh.definition",
  turns: "sagamesh.turns",
  outcome: "sagamesh.outcome",
  because: "sagamesh.because",
  attempts: "sagamesh.attempts",
  attempt: "sagamesh.attempt",
  decision: "sagamesh.decision",
  key: "sagamesh.effect.key",
  child: "sagamesh.child",
  undoes: "sagamesh.undoes",
  serves: "sagamesh.serves",
  simulated: "sagamesh.simulated",
  standing: "sagamesh.standing",
  dueAt: "sagamesh.due_at",
  notBefore: "sagamesh.not_before",
  about: "sagamesh.task.about",
  vote: "sagamesh.vote",
  signal: "sagamesh.signal",
  host: "sagamesh.host",
  code: "sagamesh.code",
  forkedAt: "sagamesh.fork.turn",
  usd: "sagamesh.usage.usd",
  /** The same under the name by which Langfuse and others read it: the conventions have none for money. */
  cost: "gen_ai.usage.cost",
  estimated: "sagamesh.usage.estimated",
  /** Of a saga, without those below it. */
  spentSteps: "sagamesh.spent.steps",
  spentInput: "sagamesh.spent.input_tokens",
  spentOutput: "sagamesh.spent.output_tokens",
  spentUsd: "sagamesh.spent.usd",
} as const;

/** Attributes that hold what people, models and tools said: only where that was asked for. */
export const contentAttribute = {
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  toolArguments: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
  sagaInput: "sagamesh.input",
  sagaOutput: "sagamesh.output",
  question: "sagamesh.task.question",
  reason: "sagamesh.reason",
  by: "sagamesh.by",
  data: "sagamesh.data",
} as const;

export const event = {
  retry: "retry",
  deferred: "deferred",
  begun: "begun",
  vote: "vote",
  signal: "signal",
  paused: "paused",
  takenOver: "taken_over",
  moved: "moved",
  forked: "forked",
} as const;

/** Why a span is linked to another, under the attribute `sagamesh.link`. */
export const linkAttribute = "sagamesh.link";
export const linked = { undoes: "undoes", forkOf: "fork_of", answeredBy: "answered_by" } as const;
