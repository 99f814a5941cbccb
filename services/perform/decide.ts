/**
 * Decide: one attempt of one model intent.
 *
 * DE1 The request that is sent has the digest that was recorded before, or nothing is sent.
 * DE2 At most one request to the provider per attempt; what it cost is reported even if it is aborted. Its dollars
 *    are reckoned here, by the model's price.
 * DE3 Where less than the conversation was sent, the digest of what was sent is recorded with the reply.
 * DE4 A call whose input cannot be recorded (too deep, NaN, `__proto__`) is a call with a fault: the model is told why and
 *    asked again, and the reply's other calls are made.
 */
import { z } from "zod";
import { withReferences } from "../../actors/request/call-references.ts";
import type { BuiltRequest } from "../../actors/contract/definition.ts";
import { priced } from "../../actors/kernel/spending.ts";
import type { ModelPrice } from "../../protocol/budget.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import {
  type ModelContext,
  ModelFailure,
  type ModelPort,
  ModelReply,
  readCallInput,
} from "../../protocol/model.ts";
import type { Result, Usage } from "../../protocol/result.ts";
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
  try {
    const answer = await port.decide(built.request, {
      abort: cutOff.signal,
      live: deps.live,
      spent,
    });
    return readAnswer(answer, built, { price, references });
  } catch (error) {
    if (cutOff.isCut && !timedOut)
      return { outcome: "cancelled", code: "CANCELLED", reason: "superseded", ...withUsage(usage) };
    return { ...failureOf(error), ...withUsage(usage) };
  } finally {
    callOff();
  }
}

const withUsage = (usage: Usage | undefined): { usage?: Usage } => (usage === undefined ? {} : { usage });

/** DE3. What the port says of what was sent is not taken, nor of what its calls rest on. */
function readAnswer(
  answer: unknown,
  { sent, request }: BuiltRequest,
  { price, references }: { readonly price: ModelPrice | undefined; readonly references: boolean },
): Result {
  const parsed = ModelReply.safeParse(answer);
  if (!parsed.success) return failure("MODEL_REPLY_INVALID", z.prettifyError(parsed.error), true);
  try {
    const own = parsed.data.calls.map(({ dependsOn: _rests, refs: _refs, ...call }) => readable(call));
    const plain = { ...parsed.data, calls: own };
    const reply = references ? withReferences(plain, request.messages) : plain;
    const output = toValue({ ...reply, sent, usage: priced(parsed.data.usage, price) }, replyLimits);
    return { outcome: "succeeded", output };
  } catch (error) {
    return failure("MODEL_REPLY_INVALID", describeError(error), true);
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
