/**
 * Retry: when the next attempt may begin. Pure: the jitter comes from the intent, not from chance, so every
 * host that folds the ledger gets the same time.
 */
import { sha256 } from "../../protocol/digest.ts";
import { limits } from "../../protocol/limits.ts";
import type { Retry } from "../../protocol/tool.ts";

/**
 * Milliseconds from now to attempt `attempt` (2 and up): backoff doubling per attempt up to 30 s, times a
 * jitter in [0.5, 1.5) made of `seed`; never less than the outside asked for.
 */
export function backoffMs(policy: Retry, attempt: number, seed: string, retryAfterMs = 0): number {
  const base = Math.min(policy.backoffMs * 2 ** (attempt - 2), limits.retryBackoffMaxMs);
  const jitter = 0.5 + Number.parseInt(sha256(`${seed}#${attempt}`).slice(0, 8), 16) / 2 ** 32;
  return Math.max(retryAfterMs, Math.round(base * jitter));
}
