/**
 * Policy: a deterministic guardrail. A pure function of what is asked and of what it remembers; the fold asks it
 * before a call becomes an intent, so a model cannot pass it by. The ones that come with sagamesh: policies.ts.
 *
 * PO1 A policy sees the call as its schema reads it, the turn's time and its own memory, and nothing else.
 * PO2 What a policy remembers is a fold over the calls that became intents, whatever became of those: what failed
 *     or was undone is not forgotten, or a model could fail and undo its way to a fresh count.
 * PO3 An agent's policies hold for its sub-agents, too. One that remembers would start anew in each of them, so a
 *     sub-agent is denied what it counts, unless `inherited` says otherwise (inherit.ts).
 */
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Effect } from "../../protocol/tool.ts";
import type { Approval } from "./approval.ts";
import type { Flag } from "./state.ts";

/** A call on its way to become an intent. Reserved calls and compensations are not asked about. */
export interface PolicyQuestion {
  readonly saga: SagaId;
  /** The name of the definition whose saga makes the call. */
  readonly agent: string;
  /** `tool`, or the kind of what it starts: `saga`, `agent`, `workflow`. */
  readonly kind: string;
  /** The name of the tool, or of what is started. */
  readonly tool: string;
  /** Undefined for a start. */
  readonly effect: Effect | undefined;
  /** As the callee's schema reads it: members that the schema does not know are gone, defaults are there. */
  readonly input: unknown;
  /** The turn's recorded time, milliseconds since the epoch. */
  readonly at: number;
  /** The tools that the call can come to: its own, or all those of the tree that it starts. */
  readonly reaches: readonly string[];
  /** What outside evaluators say is wrong with the saga and no human has acknowledged, oldest first. */
  readonly flags: readonly Flag[];
}

/**
 * `deny`: not made, and the model sees why. `approve`: made once people agree to exactly these arguments; the
 * terms of several policies are asked for one after the other. `rewrite`: made with this input instead, which the
 * schema and all policies judge like the model's own. Undefined allows.
 */
export type PolicyVerdict =
  { readonly deny: string } | { readonly approve: Approval } | { readonly rewrite: unknown };

/** A guardrail: asked about every call before it becomes an intent. */
export interface Policy<M extends Json = Json> {
  /** Stands in denials and in the definition's hash: another name for whatever decides otherwise. */
  readonly name: string;
  /** Pure. What it throws, and what is no verdict, denies. `memory` is null for a policy without one. */
  judge(question: PolicyQuestion, memory: M): PolicyVerdict | undefined;
  /**
   * What it keeps of the calls that became intents of this saga, 64 KB of JSON at most: a call that would make it
   * more is denied. A start of a sub-agent is a call, too.
   */
  readonly memory?: { readonly initial: M; next(memory: M, question: PolicyQuestion): M };
  /**
   * What sub-agents are judged by instead (PO3). A policy that gives each a share must take the share out of its
   * own memory at the start, which is the call that it is asked about before.
   */
  readonly inherited?: Policy;
  /** What is wrong with its parameters; told when the application is loaded. */
  readonly faults?: readonly string[];
}

/** A memory that begins with 0 is a number's, not that number's. */
type Wide<M> = M extends number ? number : M extends string ? string : M extends boolean ? boolean : M;

/** Declares a policy. The type of its memory is taken from `initial`. */
export const definePolicy = <M extends Json = null>(
  policy: Omit<Policy, "judge" | "memory"> & {
    judge(question: PolicyQuestion, memory: Wide<M>): PolicyVerdict | undefined;
    memory?: { readonly initial: M; next(memory: Wide<M>, question: PolicyQuestion): Wide<M> };
  },
): Policy => policy; // Proof: a wide memory is JSON like the narrow one.
