/**
 * What an application imports as `sagamesh/models`: the adapters to providers, models that stand in for one another,
 * and the port that an adapter of one's own implements.
 */
export {
  type MessagePart,
  type ModelAnswer,
  type ModelContext,
  ModelFailure,
  type ModelMessage,
  type ModelPort,
  type ModelRequest,
} from "../../protocol/model.ts";
export { type ModelFallback, modelFallback } from "../app/fallback.ts";
export { anthropicModel, type AnthropicModelOptions } from "./anthropic.ts";
export { openaiModel, type OpenAIModelOptions } from "./openai.ts";
