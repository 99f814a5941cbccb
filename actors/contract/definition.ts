/**
 * Definition: what a host needs of a saga to decide for it, with its types erased.
 *
 * F1 A definition is known by name, version and content hash; a saga keeps the one it was started with.
 * F2 `faults` lists everything that is wrong with it. A definition with faults is never served.
 */
import type { z } from "zod";
import type { ModelTool } from "../../protocol/model.ts";
import type { Callable, ModelCall, SagaKind } from "../machine/callable.ts";
import type { CuttingPolicy } from "./context-policy.ts";
import type { MemorySpec } from "./memory-spec.ts";
import type { Machine } from "../machine/machine.ts";
import type { Policy } from "./policy.ts";
import type { Tool } from "./tool.ts";
import type { WorkflowSpec } from "../workflow/spec.ts";

/** What is the same in every request of a definition. */
export interface RequestFrame {
  readonly model: string;
  readonly instructions: string;
  readonly tools: readonly ModelTool[];
  readonly signals: readonly string[];
}

export type Signals = Readonly<Record<string, z.ZodType>>;

/**
 * Bounds of one saga and of all below it, which share them: each child gets a slice for as long as it runs. What is
 * not named is not bounded. The signal `budget` raises them.
 *
 * Tokens and dollars are reserved before a call and settled after it, so calls in parallel never use more than the
 * pool, whatever dies. The bound on a call's input takes a token for at least one byte of text; a port that reports
 * more than was reserved is charged all of it, and the pool closes.
 */
export interface Budget {
  /** Decisions of models. The last one is told so, and may only finish or undo. */
  readonly steps?: number;
  /** Input and output tokens of every call, superseded ones too. */
  readonly tokens?: number;
  /** As the port reports it, else by the application's `prices`. Each model asked needs a price. */
  readonly usd?: number;
  /** From the start. The first decision after it is the last one. */
  readonly wallClockMs?: number;
  /** Calls of tools. What undoes them is free. */
  readonly toolCalls?: number;
  /** Sub-agents and child sagas opened, at any depth. */
  readonly children?: number;
  /** Levels of sagas below this one: 8 at most, which is the default. 0: none. */
  readonly depthMax?: number;
  /** Children open at once: 64 at most, which is the default. */
  readonly childrenOpenMax?: number;
}

/** Of an agent, whose model can be told. */
export interface AgentBudget extends Budget {
  /**
   * After the last step: `end` (default) fails the saga with BUDGET_EXCEEDED and undoes what was done; `ask`
   * suspends it and asks a human, for a week at most, until the answer or the signal `budget` raises the limit.
   */
  readonly atLimit?: "end" | "ask";
}

export interface Definition {
  readonly kind: SagaKind;
  readonly name: string;
  readonly version: number;
  readonly hash: string;
  readonly description: string;
  readonly input: z.ZodType;
  readonly output: z.ZodType;
  readonly signals: Signals;
  /** A signal that no state takes yet: kept and offered again after each transition, or dropped. */
  readonly whenEarly: "keep" | "ignore";
  readonly machine: Machine;
  /** Every tool that may become an intent, the compensating ones included. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** What it may start, under its policies. */
  readonly sagas: ReadonlyMap<string, Definition>;
  /** A machine's single model calls. */
  readonly modelCalls: readonly ModelCall[];
  /** Names of the model ports it asks. */
  readonly models: readonly string[];
  /** From above first (inherit.ts), then its own. */
  readonly policies: readonly Policy[];
  /** Of one that was bound to policies from above: as its author defined it. */
  readonly plain?: Definition;
  readonly budget: Budget;
  /** The most tokens a decision may write; undefined: as the port has it, or the default where tokens are counted. */
  readonly outputTokensMax: number | undefined;
  /** No tokeniser makes more than so many tokens of what is the same in every request. */
  readonly frameTokens: number;
  /** What a flag does beside being recorded and shown. */
  readonly whenFlagged: "show" | "pause";
  readonly frame: RequestFrame | undefined;
  readonly frameDigest: string;
  /** An agent's own, which its frame begins with; "" for a machine. */
  readonly instructions: string;
  /** How much of an agent's conversation its model is sent; undefined: all. */
  readonly context: CuttingPolicy | undefined;
  readonly memory: MemorySpec | undefined;
  /** Whether its model's calls may refer to earlier results and say what they rest on. */
  readonly references: boolean;
  /** A workflow's graph and what belongs to it. */
  readonly workflow: WorkflowSpec | undefined;
  readonly faults: readonly string[];
}

/** A saga or an agent as users hold it: the types are for them, `definition` for the host. */
export interface SagaDefinition<
  I extends z.ZodType = z.ZodType,
  O extends z.ZodType = z.ZodType,
  S extends Signals = Signals,
> extends Callable<I, O> {
  readonly kind: SagaKind;
  readonly version: number;
  readonly description: string;
  readonly signals: S;
  readonly definition: Definition;
}
