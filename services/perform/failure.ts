/**
 * Failure: what is told of a body that threw: to the log of the process that performed it, and with its result.
 *
 * FX1 Nothing of it holds the result up: what cannot be stored is left out.
 * FX2 What is told is redacted: message, stack and causes alike.
 */
import { sha256 } from "../../protocol/digest.ts";
import { describeError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { Tool } from "../../actors/contract/tool.ts";
import type { Log } from "../process/log.ts";
import { redactText } from "../process/redact.ts";
import type { BlobPort } from "../wire/ports.ts";
import type { Performed } from "./outcome.ts";
import type { Attempt } from "./perform.ts";

/** What telling needs: the log of this process, and the store that all share. */
export interface FailureDeps {
  readonly log: Log;
  readonly ports: { readonly blobs: BlobPort };
}

/**
 * An attempt with the trace of what its body threw. Logs `tool failed`: as a warning while it will be tried again, as an
 * error where this was the last attempt, or where it is in doubt. A saga that no longer wants the call tries it less
 * often than is said here. After a crash in the middle a trace may be stored that no result names.
 */
export async function withFailure(
  { log, ports }: FailureDeps,
  tool: Tool,
  { saga, intent, attempt }: Pick<Attempt, "saga" | "intent" | "attempt">,
  performed: Performed,
): Promise<Performed> {
  if (performed.type !== "result" || performed.error === undefined) return performed;
  const { result } = performed;
  if (result.outcome !== "failed" && result.outcome !== "in_doubt") return performed;
  const stack = traceOf(performed.error);
  const isRetried = result.outcome === "failed" && result.retry !== false && attempt < tool.retry.attemptsMax;
  const { code, reason } = result;
  const level = isRetried ? "warn" : "error";
  log[level](
    { sagaId: saga, intentId: intent, attempt, tool: tool.name, code, reason, stack },
    "tool failed",
  );
  try {
    const bytes = Buffer.from(stack);
    const trace = sha256(bytes);
    await ports.blobs.put(trace, bytes);
    return { ...performed, result: { ...result, trace } };
  } catch (error) {
    log.warn({ sagaId: saga, intentId: intent, attempt, reason: describeError(error) }, "trace not stored");
    return performed; // FX1
  }
}

/** Message, stack and causes of what was thrown, redacted and cut. */
export function traceOf(error: unknown): string {
  const parts: string[] = [];
  const seen = new Set<unknown>();
  for (let one = error; one !== undefined && !seen.has(one) && parts.length < causesMax;) {
    seen.add(one);
    const text = one instanceof Error ? (one.stack ?? `${one.name}: ${one.message}`) : describeError(one);
    parts.push(parts.length === 0 ? text : `caused by ${text}`);
    one = one instanceof Error ? one.cause : undefined;
  }
  // Cut before, too: an error may hold a message of megabytes.
  const whole = redactText(parts.join("\n").slice(0, 2 * limits.traceCharactersMax)).toWellFormed();
  return whole.length <= limits.traceCharactersMax
    ? whole
    : `${whole.slice(0, limits.traceCharactersMax).toWellFormed()}\n…`;
}
const causesMax = 8;
