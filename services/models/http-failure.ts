/** What a provider's status and headers say of a failure: what helps, and how long it asks to be left alone. */
import type { ModelFailure } from "../../protocol/model.ts";

/** What helps, by the status; the server's own word on trying again counts more, but where it is overloaded. */
export function kindOfStatus(status: number, headers: Headers | undefined): ModelFailure["kind"] {
  const shouldRetry = headers?.get("x-should-retry");
  if (shouldRetry === "false") return "fail";
  if (status === 429 || status === 503 || status === 529) return "wait";
  const isPassing = status === 408 || status === 409 || status === 425 || status >= 500;
  return shouldRetry === "true" || isPassing ? "retry" : "fail";
}

/**
 * Milliseconds by `retry-after-ms`, else by `retry-after` in seconds or as a date; else undefined. A date in the
 * past is no wish. `now` is milliseconds since the epoch.
 */
export function retryAfterMs(headers: Headers | undefined, now: number): number | undefined {
  const ms = Number.parseFloat(headers?.get("retry-after-ms") ?? "");
  if (ms >= 0) return ms;
  const after = headers?.get("retry-after") ?? "";
  const seconds = Number(after === "" ? Number.NaN : after);
  if (seconds >= 0) return seconds * 1_000;
  const wait = Date.parse(after) - now;
  return wait >= 0 ? wait : undefined;
}
