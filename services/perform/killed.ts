/**
 * Killed: how an attempt ended whose performer died before it told.
 *
 * KL1 Nothing of the tool's is called, the probe neither: it may be what kills. Whether it was begun is told by the
 *     claim. Where it was not, nothing happened.
 */
import type { Tool } from "../../actors/contract/tool.ts";
import type { MeshError } from "../../protocol/errors.ts";
import type { Result } from "../../protocol/result.ts";
import { type Call, claimAttempt, type ClaimDeps } from "./claim.ts";

/** Resolves once the holder of the claim has run out of time. Rejects if aborted meanwhile. */
export async function resultOfKilled(
  deps: ClaimDeps,
  tool: Tool,
  call: Call,
  { error, signal }: { error: MeshError; signal: AbortSignal },
): Promise<Result> {
  const why = { code: error.code, reason: error.message };
  const request = { ...call, timeoutMs: tool.timeoutMs, signal };
  const isClaimed = async (place: number) => (await claimAttempt(deps, place, request)).type !== "won";
  const inDoubt =
    (tool.effect === "once" && (await isClaimed(call.attempt))) ||
    (tool.effect === "probe" && (await isClaimed(1)));
  return inDoubt ? { outcome: "in_doubt", ...why } : { outcome: "failed", ...why, retry: false };
}
