/**
 * The model port's data: what a model is sent and what it says. A model is a pure function of the first.
 *
 * MO1 A message stands once in the ledger. `messages` is rebuilt from it, byte for byte, and its digest was
 *     recorded before the call.
 * MO2 Everything a model needs of time, signals and tools is in the request; it has no clock and no hands.
 */
import { z } from "zod";
import type { ModelPrice } from "./budget.ts";
import { describeError } from "./errors.ts";
import { type Json, Payload } from "./json.ts";
import { Route, Usage } from "./result.ts";
import { toValue } from "./value.ts";

/** A call as the model named it; `id` is ours, made from the decision's number and the call's position. */
export const Call = z.object({ id: z.string(), tool: z.string(), input: Payload });
export type Call = z.infer<typeof Call>;

/** One part of what the model is told: a text, a call's result, a signal, its memory, a person's instruction. */
export const MessagePart = z.discriminatedUnion("type", [
  /** What the saga was started with, or another text for the model. */
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({
    type: z.literal("result"),
    call: z.string(),
    tool: z.string(),
    outcome: z.enum(["succeeded", "failed", "denied", "in_doubt", "cancelled", "pending"]),
    output: Payload.optional(),
    code: z.string().optional(),
    reason: z.string().optional(),
    /** The arguments that a policy put in the place of the model's own. */
    rewritten: Payload.optional(),
    /** What a sub-agent that failed could not undo. */
    standing: z.array(z.string()).optional(),
    /** The human who changed the arguments, and to what. Where a policy rewrote those in turn, `rewritten` holds. */
    edited: z.object({ by: z.string(), input: Payload }).optional(),
  }),
  z.object({ type: z.literal("signal"), name: z.string(), data: Payload, at: z.number(), from: z.string() }),
  /** The agent's working memory as it is now, and what changed it last; or, with a code, a change that was refused. */
  z.object({
    type: z.literal("memory"),
    by: z.string(),
    memory: Payload.optional(),
    code: z.string().optional(),
    reason: z.string().optional(),
  }),
  /** From a human, later than the definition's own. Unlike a signal's data, the model is to follow it. */
  z.object({ type: z.literal("instructions"), text: z.string(), at: z.number(), from: z.string() }),
]);
export type MessagePart = z.infer<typeof MessagePart>;

/**
 * A provider's content block, verbatim and opaque, or our stand-in for one that is kept elsewhere in the
 * reply. Only the adapter that made it reads it.
 */
export const Block = z.record(z.string(), Payload);
export type Block = z.infer<typeof Block>;

/** One message of the conversation: what the model is told, or what it said. */
export const ModelMessage = z.discriminatedUnion("role", [
  z.object({ role: z.literal("user"), at: z.number(), parts: z.array(MessagePart) }),
  z.object({
    role: z.literal("assistant"),
    model: z.string(),
    text: z.string().optional(),
    calls: z.array(Call),
    blocks: z.array(Block).optional(),
  }),
]);
export type ModelMessage = z.infer<typeof ModelMessage>;

/** A tool as the model sees it. `schema` is JSON Schema of its input. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly schema: { readonly [key: string]: unknown };
}

/**
 * All that a model is sent: the decision is a function of this and of nothing else (MO2). A host's messages are frozen: a port
 * that needs them otherwise copies them, and one that writes into them gets a TypeError.
 */
export interface ModelRequest {
  readonly saga: string;
  /** The decision's number, from 1. A superseded decision keeps its number; the next one has another. */
  readonly step: number;
  /** Milliseconds since the epoch when the decision was asked for. */
  readonly now: number;
  readonly model: string;
  readonly instructions: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
  /** The signals the model may wait for. */
  readonly signals: readonly string[];
  /** The most tokens the model may write, thinking included: a port that writes more breaks the saga's budget. */
  readonly outputTokensMax?: number;
}

/** Why the model stopped; each is an outcome of its own. */
export const Stop = z.enum(["end", "calls", "length", "pause", "refusal", "context_full"]);
export type Stop = z.infer<typeof Stop>;

/**
 * What a model said. `calls` run in parallel. `blocks` hold what a provider wants back verbatim (thinking,
 * for example); the adapter keeps text and calls out of them so that each byte stands once in the ledger.
 */
export const ModelReply = z.object({
  text: z.string().optional(),
  /** `fault` says why a call cannot be read; its input is then what the model wrote, as text. */
  calls: z
    .array(
      z.object({
        tool: z.string(),
        input: Payload,
        fault: z.string().optional(),
        /** Calls that this one rests on, and those whose results its arguments are made of. The host writes both. */
        dependsOn: z.array(z.string()).optional(),
        refs: z.array(z.string()).optional(),
      }),
    )
    .default([]),
  blocks: z.array(Block).optional(),
  stop: Stop.optional(),
  /** The provider's words about the stop, such as what a refusal is about. For people; nothing branches on it. */
  reason: z.string().optional(),
  usage: Usage.default({ inputTokens: 0, outputTokens: 0 }),
  model: z.string(),
  /** Set by the host, never by a port. */
  route: Route.optional(),
  /**
   * The digest of the request exactly as it was sent, where that is not the whole conversation. The host writes it;
   * what a port says here is dropped.
   */
  sent: z.string().optional(),
});
export type ModelReply = z.infer<typeof ModelReply>;

/**
 * What a model wrote as a call's input, as it can be recorded; else what it wrote as a text, with the fault that the model
 * is told (the check is that of value.ts). The reply's other calls are not touched by it.
 */
export function readCallInput(written: unknown): { input: Json; fault?: string } {
  try {
    return { input: toValue(written) };
  } catch (error) {
    return { input: textOfWritten(written), fault: describeError(error) };
  }
}

/** Of a text that a model wrote where a value is meant: the beginning, for people. */
const writtenCharactersMax = 1_000;

function textOfWritten(written: unknown): string {
  try {
    return (JSON.stringify(written) ?? "").slice(0, writtenCharactersMax).toWellFormed();
  } catch {
    return ""; // Deeper than can be written at all.
  }
}

/** What a port may return: a reply with its defaults left out. */
export type ModelAnswer = Omit<z.input<typeof ModelReply>, "sent">;

/** What a host gives a model port beside the request: how to stop, and where to tell tokens and cost. */
export interface ModelContext {
  /** Aborted when the decision is superseded or the call's time is over. */
  readonly abort: AbortSignal;
  /** Tokens as they come; best effort, never recorded. */
  readonly live: (token: { readonly text?: string; readonly thinking?: string }) => void;
  /**
   * The port calls this as soon as it knows what the call has cost so far, so that an aborted call's cost
   * reaches the ledger.
   */
  readonly spent: (usage: Usage) => void;
}

/**
 * The seam to a language model. `decide` makes at most one request to the provider: attempts are the
 * ledger's. It throws `ModelFailure` for a failure that has a class; anything else counts as retriable.
 */
export interface ModelPort {
  readonly name: string;
  /** What its tokens cost, where the application's own table does not say. Dollars are reckoned outside the port. */
  readonly price?: ModelPrice;
  /** The port looks its answers up or computes them: the time it takes says nothing of a model's latency. */
  readonly atOnce?: true;
  /** Opaque blocks of the request that it would not send, each message's with the reason. Absent: it sends none. */
  leavesOut?(request: ModelRequest): readonly { readonly blocks: number; readonly because: string }[];
  decide(request: ModelRequest, context: ModelContext): Promise<ModelAnswer>;
}

/** A provider's failure, by what the host is to do: ask again, wait as long as the provider says, or give up. */
export class ModelFailure extends Error {
  override readonly name = "ModelFailure";
  readonly kind: "retry" | "wait" | "fail";
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: "retry" | "wait" | "fail",
    message: string,
    options?: { retryAfterMs?: number | undefined; cause?: unknown },
  ) {
    super(message, { cause: options?.cause });
    this.kind = kind;
    this.retryAfterMs = options?.retryAfterMs;
  }
}
