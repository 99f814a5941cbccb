/**
 * Policies: deterministic guardrails over what a saga already decided. Pure functions; the fold asks them
 * before a call becomes an intent, so a model cannot pass them by.
 */
import type { Json } from "../protocol/json.ts";
import type { Tool } from "./tool.ts";

export interface PolicyQuestion {
  readonly tool: string;
  readonly input: Json;
  /** How many intents of each tool the saga has decided so far. */
  readonly decided: Readonly<Record<string, number>>;
}

export interface Policy {
  readonly name: string;
  /** A reason to deny, which the model sees, or undefined to allow. */
  readonly deny: (question: PolicyQuestion) => string | undefined;
}

/** How many intents of a tool were decided; a tool may be named like a member that every object has. */
export const decidedOf = (decided: PolicyQuestion["decided"], tool: string): number =>
  Object.hasOwn(decided, tool) ? (decided[tool] ?? 0) : 0;

/** At most `n` intents of the tool in one saga, whatever became of them. */
export const atMost = (tool: Tool, n: number): Policy => ({
  name: `at_most ${n} ${tool.name}`,
  deny: (question) =>
    question.tool === tool.name && decidedOf(question.decided, tool.name) >= n
      ? `${tool.name} may be called ${n} times at most`
      : undefined,
});
