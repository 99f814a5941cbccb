/**
 * Decide: one attempt of one model intent.
 *
 * DE1 The request that is sent has the digest that was recorded before, or nothing is sent.
 * DE2 At most one request to the provider per attempt; what it cost is reported even if it is aborted. Its dollars
 *    are reckoned here, by the model's price.
 * DE3 Where less than the conversation was sent, the digest of what was sent is recorded with the reply.
 * DE4 A call whose input cannot be recorded (too deep, NaN, `__proto__`) is a call with a fault: the model is told why and
 *    asked again, and the reply's other calls are made. Where a reply's calls fit one by one and not together, each has it.
 * DE5 What a port returned is taken, told to the model, or fails at once with a code: the provider has answered and is paid,
 *    and to ask again would wait for a port that says the same. Only what a port throws may be asked for again.
 */
import { z } from "zod";
import { withReferences } from "../../actors/request/call-references.ts";
import type { BuiltRequest } from "../../actors/contract/definition.ts";
import { priced } from "../../actors/kernel/spending.ts";
import type { ModelPrice } from "../../protocol/budget.ts";
import { describeError, isMeshError, MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import {
  type ModelContext,
  ModelFailure,
  type ModelPort,
  ModelReply,
  readCallInput,
} from "../../protocol/model.ts";
import { type Result, Usage } from "../../protocol/result.ts";
import { replyLimits, toValue } from "../../protocol/value.ts";
import type { Clock } from "../wire/ports.ts";
import type { CutOff } from "./cut-off.ts";

/** `live` is told what the model says while it says it. */
export interface DecideDeps {
  readonly clock: Clock;
  readonly live: ModelContext["live"];
}

/**
 * Asks the model. Every way the call can end is a result. Throws FOLD_DIVERGED, before anything is sent, if
 * the request is not the recorded one: that is this host's fault, not the saga's.
 */
export async function decide(
  deps: DecideDeps,
  port: ModelPort,
  built: BuiltRequest,
  {
    digest,
    cutOff,
    price,
    references = false,
  }: { digest: string; cutOff: CutOff; price?: ModelPrice | undefined; references?: boolean },
): Promise<Result> {
  if (built.digest !== digest)
    throw new MeshError(
      "FOLD_DIVERGED",
      `the request rebuilt from the ledger has digest ${built.digest}, recorded is ${digest}`,
    );
  let usage: Usage | undefined;
  let timedOut = false;
  const callOff = deps.clock.after(limits.modelTimeoutMs, () => {
    timedOut = !cutOff.isCut;
    cutOff.cut(new Error(`no reply within ${limits.modelTimeoutMs} ms`));
  });
  const spent = (cost: Usage) => {
    usage = priced(cost, price);
  };
  let answer: unknown;
  try {
    answer = await port.decide(built.request, { abort: cutOff.signal, live: deps.live, spent });
  } catch (error) {
    if (cutOff.isCut && !timedOut)
      return { outcome: "cancelled", code: "CANCELLED", reason: "superseded", ...withUsage(usage) };
    return { ...failureOf(error), ...withUsage(usage) };
  } finally {
    callOff();
  }
  const result = readAnswer(answer, built, { price, references });
  return result.outcome === "failed" ? { ...withUsage(usage), ...result } : result;
}

const withUsage = (usage: Usage | undefined): { usage?: Usage } => (usage === undefined ? {} : { usage });

/** DE3, DE5. What the port says of what was sent is not taken, nor of what its calls rest on. */
function readAnswer(
  answer: unknown,
  { sent, request }: BuiltRequest,
  { price, references }: { readonly price: ModelPrice | undefined; readonly references: boolean },
): Result {
  try {
    const parsed = ModelReply.safeParse(answer);
    if (!parsed.success) return noReply(z.prettifyError(parsed.error), answer, price);
    const { sent: _sent, route: _route, usage, calls, blocks, reason, ...rest } = parsed.data;
    const own = calls.map(({ dependsOn: _rests, refs: _refs, ...call }) => readable(call));
    const plain = { ...rest, ...recordable(blocks, reason), calls: own, usage };
    const reply = references ? withReferences(plain, request.messages) : plain;
    return {
      outcome: "succeeded",
      output: fitted({ ...reply, ...(sent === undefined ? {} : { sent }), usage: priced(usage, price) }),
    };
  } catch (error) {
    return noReply(describeError(error), answer, price); // A getter of the port's own.
  }
}

/** DE5. Nothing that the model could mend: the port is at fault. What it says of the cost is believed all the same. */
function noReply(why: string, answer: unknown, price: ModelPrice | undefined): Result {
  const said = failure("MODEL_PORT_INVALID", why, false);
  try {
    const cost = WithUsage.safeParse(answer);
    return cost.success ? { ...said, usage: priced(cost.data.usage, price) } : said;
  } catch {
    return said;
  }
}

const WithUsage = z.object({ usage: Usage });

/** A provider's blocks, if they can be recorded; else why they were left out, for people. Text and calls do not stand in them. */
function recordable(
  blocks: ModelReply["blocks"],
  reason: string | undefined,
): Pick<ModelReply, "blocks" | "reason"> {
  const said = reason === undefined ? {} : { reason };
  if (blocks === undefined) return said;
  try {
    toValue(blocks, replyLimits);
    return { ...said, blocks };
  } catch (error) {
    const why = `the provider's blocks were left out: ${describeError(error)}`;
    return { reason: reason === undefined ? why : `${reason}; ${why}` };
  }
}

/** The reply as it is recorded (DE4). */
function fitted(reply: ModelReply): Json {
  try {
    return toValue(reply, replyLimits);
  } catch (error) {
    if (!isMeshError(error, "VALUE_REFUSED")) throw error;
    const fault = `the reply could not be recorded, and none of its calls was made: ${error.message}`;
    const { blocks: _blocks, ...rest } = reply;
    const calls = reply.calls.map((call) => ({ tool: call.tool, input: "", fault: call.fault ?? fault }));
    return toValue({ ...rest, calls }, replyLimits);
  }
}

/** DE4. */
const readable = <C extends { readonly input: Json; readonly fault?: string | undefined }>(call: C): C => {
  const { input, fault } = readCallInput(call.input);
  return fault === undefined ? { ...call, input } : { ...call, input, fault: call.fault ?? fault };
};

/** A provider may repeat the whole request in its words; the ledger has that already. */
const reasonMax = 1_000;

const failure = (code: string, reason: string, retry: boolean): Extract<Result, { outcome: "failed" }> => ({
  outcome: "failed",
  code,
  reason: reason.length > reasonMax ? `${reason.slice(0, reasonMax)}…`.toWellFormed() : reason,
  retry,
});

/** What helps, for a reader of the ledger. */
const codes = { retry: "MODEL_FAILED", wait: "MODEL_OVERLOADED", fail: "MODEL_REJECTED" } as const;

function failureOf(error: unknown): Extract<Result, { outcome: "failed" }> {
  if (error instanceof MeshError) return failure(error.code, error.message, error.retriable);
  if (!(error instanceof ModelFailure)) return failure("MODEL_FAILED", describeError(error), true);
  const { retryAfterMs } = error;
  return {
    ...failure(codes[error.kind], error.message, error.kind !== "fail"),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}
