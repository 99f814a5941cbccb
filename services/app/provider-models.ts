/** Provider models: names of models that need no port under `models`, for the name says who answers. */

/** Anthropic's names for its models: asked with ANTHROPIC_API_KEY of the process's environment. */
export const isAnthropicName = (model: string): boolean => model.startsWith("claude-");

/** What is wrong where no port is named so, and what helps. */
export const noPort = (model: string): string =>
  isAnthropicName(model)
    ? `nothing answers for model "${model}": set ANTHROPIC_API_KEY where the host runs, or add a port of that name under models`
    : `no model port is named "${model}"; add it under models`;
