/**
 * Outcome: what became of an attempt, as a result that a ledger can record.
 *
 * OT1 Only NotPerformed says that nothing happened. What is thrown otherwise, timed out or cut off, or has an output that
 *     cannot be recorded, is in doubt for `once`.
 * OT2 An output that cannot be recorded is no reason to act again: the effect happened. It is in doubt where the outside
 *     alone can say how it ended, and else failed for good, and held as what may stand (settle.ts).
 */
import { NotPerformed, type Tool } from "../../actors/contract/tool.ts";
import type { Spending } from "../../protocol/budget.ts";
import { describeError, type ErrorCode, isMeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { Cause, Result } from "../../protocol/result.ts";
import { toValue } from "../../protocol/value.ts";
import { redactText } from "../process/redact.ts";

/** What became of an attempt. `silent`: this performer did not begin, and another will. */
export type Performed =
  | {
      readonly type: "result";
      readonly result: Result;
      /** What it is answered by where it was not observed (services/host/simulate.ts), and what it used. */
      readonly by?: string;
      /** What the body threw; it stays in this process. */
      readonly error?: unknown;
      readonly spent?: Spending;
    }
  | { readonly type: "deferred"; readonly withinMs: number }
  | { readonly type: "silent" };

/** Thrown by `defer`, so that it leaves the body as a failure does. */
export class DeferredCall {
  readonly withinMs: number;
  constructor(withinMs: number) {
    this.withinMs = withinMs;
  }
}

/** The result of a body that returned. */
export function succeeded(tool: Tool, output: unknown): Performed {
  try {
    return { type: "result", result: { outcome: "succeeded", output: toValue(output) } };
  } catch (error) {
    const reason = `its output cannot be recorded: ${redactText(describeError(error))}`;
    return tool.effect === "once" || tool.effect === "probe"
      ? inDoubt("VALUE_REFUSED", reason)
      : failed("VALUE_REFUSED", reason, false);
  }
}

/** OT1: the result of a body that threw, or ran out of time. */
export function thrown(tool: Tool, error: unknown, timedOut: boolean): Performed {
  if (error instanceof DeferredCall) return { type: "deferred", withinMs: error.withinMs };
  const { type, result } = resultOf(tool, error, timedOut);
  const cause = causeOf(error instanceof Error ? error.cause : undefined);
  const name = nameOf(error);
  return { type, result: { ...result, ...(name && { name }), ...(cause && { cause }) }, error };
}

/** What was thrown, by its own name; undefined for an error of no other name, and for ours, which their codes tell. */
function nameOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || isMeshError(error) || typeof error.name !== "string") return undefined;
  return error.name === "Error" ? undefined : textOf(error.name, limits.causeNameMax);
}

/** What lay behind an error, as far as a ledger keeps it: no more of them, and no more text, than Cause has room for. */
function causeOf(thrown: unknown, depth = 1): Cause | undefined {
  if (thrown === undefined || thrown === null || depth > limits.causeDepthMax) return undefined;
  const { name, cause, code } = (typeof thrown === "object" ? thrown : {}) as Partial<
    Record<string, unknown>
  >;
  const behind = causeOf(cause, depth + 1);
  return {
    name: textOf(typeof name === "string" ? name : "Error", limits.causeNameMax),
    message: textOf(describeError(thrown), limits.reasonLengthMax),
    ...(typeof code === "string" ? { code: textOf(code, limits.causeNameMax) } : {}),
    ...(typeof code === "number" && Number.isFinite(code) ? { code } : {}),
    ...(behind === undefined ? {} : { cause: behind }),
  };
}

const textOf = (text: string, most: number): string => redactText(text).slice(0, most).toWellFormed();

function resultOf(tool: Tool, error: unknown, timedOut: boolean): PerformedResult {
  const reason = redactText(describeError(error));
  if (error instanceof NotPerformed) {
    const why = isMeshError(error.cause) ? error.cause.code : "NOT_PERFORMED";
    return failed(why, reason, error.retry);
  }
  const code: ErrorCode = timedOut ? "TOOL_TIMEOUT" : isMeshError(error) ? error.code : "TOOL_FAILED";
  return tool.effect === "once" ? inDoubt(code, reason) : failed(code, reason, true);
}

interface PerformedResult {
  readonly type: "result";
  readonly result: Extract<Result, { outcome: "failed" | "in_doubt" }>;
}

/** Nothing happened, or it may be tried again. */
export const failed = (code: ErrorCode, reason: string, retry: boolean): PerformedResult => ({
  type: "result",
  result: { outcome: "failed", code, reason, retry },
});

/** It may have happened. */
export const inDoubt = (code: ErrorCode, reason: string): PerformedResult => ({
  type: "result",
  result: { outcome: "in_doubt", code, reason },
});
