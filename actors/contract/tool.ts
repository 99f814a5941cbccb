/**
 * Tools: the contract, its body, and what a body may say.
 *
 * Owns: `defineTool`, `implement`, the context a body is given, the errors it may throw. Does not own: how an
 * attempt is performed (services/worker/perform.ts) or what follows from its result (settle.ts).
 *
 * TO1 A contract is data and pure functions. Its body, if it stands there at all, is called by a performer,
 *     never by the fold.
 */
import type { z } from "zod";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { aTool, readGiven } from "./given.ts";
import { bodyInstead, BodyShape, toolInstead, ToolShape } from "./tool-config.ts";
import type { Effect, Retry } from "../../protocol/tool.ts";
import type { Approval } from "./approval.ts";
import type { AskTerms, Callable } from "../machine/callable.ts";
import type { Policy } from "./policy.ts";

export type { Approval } from "./approval.ts";

/** An effect as its compensation sees it. `output` is undefined when the effect is in doubt. */
export interface EffectToUndo<I, O> {
  readonly input: I;
  readonly output: O | undefined;
  readonly outcome: "succeeded" | "in_doubt";
  readonly key: string;
}

/** What a body is given besides its input. */
export interface PerformContext {
  /** The same for every attempt, restart and takeover: hand it to the outside as its idempotency key. */
  readonly key: string;
  /** Aborted at the tool's timeout, at a safe shutdown's end, and when a read is no longer wanted. */
  readonly abort: AbortSignal;
  /** From 1; recorded in the ledger. */
  readonly attempt: number;
  /**
   * The call's place in its trace, as W3C's `traceparent` has it: hand it to the outside, and what is traced there lies below
   * the call. Undefined where a host of a former version handed the call on.
   */
  readonly traceparent: string | undefined;
  /** Sends a note to the live lane: best effort, never recorded. */
  progress(note: unknown): void;
  /** Hands the matter to the outside: return its value. Nothing runs until the answer or the deadline. */
  defer(options: { withinMs: number }): Promise<never>;
  /**
   * Where the outside answers a deferred call, whichever attempt it is: a signed URL of the gateway, good until the
   * deferral's deadline and a year at most, or without a gateway a token for `mesh.settle`. Who has it may answer,
   * so treat it as a password.
   */
  readonly callbackUrl: string;
}

/** What the outside says of a key. `unknown` is in doubt. */
export type ProbeAnswer<O> =
  | { readonly outcome: "happened"; readonly output: O }
  | { readonly outcome: "did_not_happen" }
  | { readonly outcome: "unknown" };

export interface Body<I, O, OI> {
  perform(input: I, context: PerformContext): Promise<OI>;
  /**
   * Asks the outside whether the effect with this key happened. Only for `effect: "probe"`. What was undone since
   * has happened all the same: a late delivery that is told otherwise does it again, and that is never undone.
   */
  probe(key: string, input: I): Promise<ProbeAnswer<O>>;
}

/** Older contracts that a body also serves: what it makes of their input is what it is given. Pure. */
export type Accepts<Old extends readonly z.ZodType[], New> = {
  readonly [K in keyof Old]: {
    /** A tool of the same name and effect class. Its saga reads what comes out by this one's output. */
    readonly contract: Tool<Old[K]>;
    readonly input: (old: z.infer<Old[K]>) => New;
  };
};

/** One of them, with its types erased. */
export interface Accepted {
  readonly contract: Tool;
  readonly input: (old: never) => unknown;
}

/** A body with its types erased, as a performer calls it. */
export interface AnyBody {
  perform(input: unknown, context: PerformContext): Promise<unknown>;
  probe?(key: string, input: unknown): Promise<ProbeAnswer<unknown>>;
  /**
   * For a body that keeps something open: called when a process begins to serve the tool; what it returns, when
   * that process has stopped. A process that is killed calls nothing.
   */
  serve?(log: BodyLog): () => Promise<void>;
  /** Real milliseconds that a test's virtual time waits for it; a quarter of a second unless given. */
  readonly realMs?: number;
  /** What a test adds to the words of its timeout; nothing outside of tests. */
  readonly whyLate?: () => string;
  /** Older contracts whose calls it performs, too. */
  readonly accepts?: readonly Accepted[] | undefined;
}

/** Where a body that keeps something open tells of it: the log of the process that serves it. */
export interface BodyLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * Who settles a doubt. With terms: who is asked, how they hear of it and are reminded, how many must say the same, who is
 * asked after them; the tools and sagas that they name are served with the tool. `ask` alone is anyone, for a week.
 */
export type OnDoubt = "ask" | "model" | "compensate" | { readonly ask: AskTerms };

/**
 * A tool's contract. The function members take `never` because each takes its own tool's types: so every
 * tool is a `Tool`, and every caller parses first.
 */
export interface Tool<
  I extends z.ZodType = z.ZodType,
  O extends z.ZodType = z.ZodType,
  E extends Effect = Effect,
> extends Callable<I, O> {
  readonly kind: "tool";
  readonly version: number;
  readonly effect: E;
  readonly description: string;
  readonly placement: "worker" | "host";
  readonly timeoutMs: number;
  readonly retry: Retry;
  readonly onDoubt: OnDoubt;
  readonly concurrencyMax: number | undefined;
  readonly perSecondMax: number | undefined;
  readonly approval: Approval | ((input: never) => false | Approval) | undefined;
  readonly uses: readonly Callable[];
  readonly compensation:
    { readonly tool: Tool; readonly input: (effect: never) => unknown } | "point_of_no_return" | undefined;
  readonly policies: readonly Policy[] | undefined;
  readonly normalize: ((input: never) => unknown) | undefined;
  readonly body: AnyBody | undefined;
  /** What is wrong with it as it was declared; told when the application is loaded. */
  readonly faults: readonly string[];
}

interface Contract<I extends z.ZodType, O extends z.ZodType> {
  /** A letter, then up to 63 letters, digits, _ or -. Of each name and version an application has one tool. */
  name: string;
  /**
   * 1 unless given. Raise it when you change what goes in or comes out, the effect class or the compensation while
   * sagas that call the old one live: both may stand in one application, each called by the definitions that name it.
   */
  version?: number;
  /** What it does, for the model and for people. */
  description: string;
  /**
   * What it takes. A model's call, and a person's edit of one, that holds a member which no object of the schema
   * declares is refused and told so. A tool that wants others opts out: `z.looseObject`, `.catchall`, `z.record`.
   */
  input: I;
  output: O;
  /** `worker`: through WORK, by a worker that serves it. `host`: by the saga's own host, without mesh-wide limits. */
  placement?: "worker" | "host";
  /** 60 s unless given. */
  timeoutMs?: number;
  /** 5 attempts, 500 ms doubling to 30 s with jitter, unless given. `once` retries only what did not happen. */
  retry?: Retry;
  /**
   * Who settles a doubt: a human (`ask`, the default: anyone, within a week), people on terms of their own, the model, or
   * the compensation.
   */
  onDoubt?: OnDoubt;
  /** How many attempts may run at once over the whole mesh. Not with `placement: "host"`. */
  concurrencyMax?: number;
  /** How many attempts may begin in a second over the whole mesh. Not with `placement: "host"`. */
  perSecondMax?: number;
  /** The terms of the approval that every call needs; or pure: those that this input needs, or false. */
  approval?: Approval | ((input: z.infer<I>) => false | Approval);
  /**
   * The tools and sagas that the terms of a function `approval` may name in `notify` and `standIn`: hosts and workers
   * serve them with this tool, and no model sees them. Those of fixed terms are found by themselves.
   */
  uses?: readonly Callable[];
  /** Asked about every call of this tool, by any saga, after those of the mesh and of the agent. */
  policies?: readonly Policy[];
  /**
   * What of an input counts when a replay compares two calls, as JSON: a text trimmed, a list sorted, a remark left
   * out. Pure. It decides nothing, so it is no part of the contract and may change at any time.
   */
  normalize?: (input: z.infer<I>) => unknown;
}

export type ToolConfig<
  I extends z.ZodType,
  O extends z.ZodType,
  E extends Effect,
  C extends Tool,
  Old extends readonly z.ZodType[] = [],
> = Contract<I, O> & {
  effect: E;
  /** The tool that undoes the meaning of a success, `idempotent` or `probe`, and its input. Pure. */
  compensation?:
    | { tool: C; input: (effect: EffectToUndo<z.infer<I>, z.infer<O>>) => z.input<C["input"]> }
    | "point_of_no_return";
  /** With a body: older contracts whose calls it performs, too. A call of theirs is else left to a worker that has them. */
  accepts?: Accepts<Old, z.input<I>>;
} & Partial<Body<z.infer<I>, z.infer<O>, z.input<O>>>;

/**
 * Declares a tool: its contract, and in small applications its body. What is wrong with it is told when the
 * application is loaded, all faults at once.
 */
export function defineTool<
  I extends z.ZodType,
  O extends z.ZodType,
  const E extends Effect,
  C extends Tool = Tool,
  const Old extends readonly z.ZodType[] = [],
>(given: ToolConfig<I, O, E, C, Old>): Tool<I, O, E> {
  const { config, faults } = readGiven("tool", ToolShape, given, toolInstead);
  const { perform, probe, accepts } = config;
  return {
    kind: "tool",
    name: config.name,
    version: config.version ?? 1,
    description: config.description,
    input: config.input,
    output: config.output,
    effect: config.effect,
    placement: config.placement ?? "worker",
    timeoutMs: config.timeoutMs ?? limits.toolTimeoutMs,
    retry: config.retry ?? { attemptsMax: limits.retryAttemptsMax, backoffMs: limits.retryBackoffMs },
    onDoubt: config.onDoubt ?? "ask",
    concurrencyMax: config.concurrencyMax,
    perSecondMax: config.perSecondMax,
    approval: config.approval,
    uses: config.uses ?? [],
    compensation: config.compensation,
    policies: config.policies,
    normalize: config.normalize,
    // The performer parses the input with this tool's own schema before it calls the body.
    body: perform === undefined ? undefined : { perform, probe, accepts },
    faults,
  };
}

/** A body bound to its contract, for a file that only workers load. */
export interface Implementation {
  readonly tool: Tool;
  readonly body: AnyBody;
  /** What is wrong with it; told when the application is loaded. */
  readonly faults: readonly string[];
}

/** Binds a body to a contract, and to the older ones that it accepts. A `probe` tool needs its probe; the type says so. */
export const implement = <
  I extends z.ZodType,
  O extends z.ZodType,
  E extends Effect,
  const Old extends readonly z.ZodType[] = [],
>(
  tool: Tool<I, O, E>,
  body: (E extends "probe"
    ? Body<z.infer<I>, z.infer<O>, z.input<O>>
    : Pick<Body<z.infer<I>, z.infer<O>, z.input<O>>, "perform">) & { accepts?: Accepts<Old, z.input<I>> },
): Implementation => {
  const isTool = aTool.safeParse(tool).success;
  const name = isTool ? tool.name : "what is no tool";
  const { config, faults } = readGiven(`implement(${name})`, BodyShape, body, bodyInstead);
  // As in defineTool: inputs are parsed first. The body as it was given, for it may be an object of a class.
  return { tool, body: faults.length === 0 ? body : config, faults: isTool ? faults : [noTool, ...faults] };
};

const noTool = "implement: its first argument is not what defineTool made";

/**
 * Thrown by a body that knows that nothing happened outside. The result is `failed`, for `once` tools too;
 * `retry` (default true) says whether another attempt makes sense. With a MeshError as its cause the result has
 * that error's code.
 */
export class NotPerformed extends Error {
  override readonly name = "NotPerformed";
  readonly retry: boolean;

  constructor(message: string, options?: { retry?: boolean; cause?: unknown }) {
    super(message, { cause: options?.cause });
    this.retry = options?.retry ?? true;
  }
}

/** The undoing call of an effect, or undefined where there is none. Throws what the user's function throws. */
export function undoOf(
  tool: Tool,
  effect: EffectToUndo<unknown, unknown>,
): { tool: Tool; input: Json } | undefined {
  const { compensation } = tool;
  if (compensation === undefined || compensation === "point_of_no_return") return undefined;
  const inputOf = compensation.input as (effect: EffectToUndo<unknown, unknown>) => unknown; // Its own tool's effect.
  return { tool: compensation.tool, input: JSON.parse(JSON.stringify(inputOf(effect))) as Json };
}
