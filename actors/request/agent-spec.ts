/**
 * Agent spec: what an agent is made of, as far as its requests and its replies need it. Shapes alone.
 */
import type { z } from "zod";
import type { Json } from "../../protocol/json.ts";
import type { ModelTool } from "../../protocol/model.ts";
import type { CuttingPolicy } from "../contract/context-policy.ts";
import type { SignalSchemas } from "../contract/definition.ts";
import type { MemorySpec } from "../contract/memory-spec.ts";
import type { Tool } from "../contract/tool.ts";
import type { AskTerms, Callable } from "../machine/callable.ts";

/** What is the same in every request of an agent. */
export interface RequestFrame {
  readonly model: string;
  readonly instructions: string;
  readonly tools: readonly ModelTool[];
  readonly signals: readonly string[];
}

/** What an agent's requests are made of besides its conversation. */
export interface RequestParts {
  /** Undefined where no request can be built; such a definition has faults. */
  readonly frame: RequestFrame | undefined;
  readonly frameDigest: string;
  /** Its own, which the frame's begin with. */
  readonly instructions: string;
  /** How much of its conversation its model is sent; undefined: all. */
  readonly context: CuttingPolicy | undefined;
}

/**
 * Whom an agent may write to: a saga's definition, or as much of it as is needed. Two that write to each other name
 * each other's signals this way, for neither constant stands before the other.
 */
export interface Addressee {
  readonly name: string;
  readonly signals: SignalSchemas;
}

/** What an agent is made of. */
export interface AgentSpec {
  readonly name: string;
  readonly model: string;
  readonly instructions: string;
  readonly prompt: (input: unknown) => string;
  readonly output: z.ZodType;
  readonly signals: SignalSchemas;
  readonly tools: readonly Tool[];
  readonly agents: readonly (Callable & { readonly description?: string })[];
  readonly memory?: MemorySpec | undefined;
  readonly context?: CuttingPolicy | undefined;
  /** How often in a row the model is told that its reply cannot be taken; `limits.repairsMax` unless given. */
  readonly repairsMax?: number | undefined;
  /** How many calls one reply may make; `limits.callsPerReplyMax` unless given. */
  readonly callsPerReplyMax?: number | undefined;
  readonly sends: readonly Addressee[];
  readonly handsOffTo: readonly (Callable & { readonly description?: string })[];
  /** Whom its questions are for. */
  readonly ask?: (AskTerms & { readonly otherwise?: Json }) | undefined;
  /** Whether the model is asked once more when the agent is called off. */
  readonly whenCancelled: "undo" | "ask";
  /** Whether its calls may refer to earlier results. */
  readonly references?: boolean;
  /** Whether a decision that the budget refuses suspends the saga. */
  readonly asksForMore: boolean;
}
