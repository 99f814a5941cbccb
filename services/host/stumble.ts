/**
 * Stumble: what a batch that cannot be taken means. Everything goes back; how soon it is offered again, here or
 * elsewhere, and how loud it is said, follows from the error.
 */
import { isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import type { HostDeps } from "./host-deps.ts";

/** Says why, and after how many milliseconds it may be offered again. */
export function stumbleOver(
  { log, signal }: Pick<HostDeps, "log" | "signal">,
  saga: SagaId,
  error: unknown,
): number {
  const isUnserved = isMeshError(error, "VERSION_UNSERVED");
  const parked = isMeshError(error) && !error.retriable;
  // A host that lets go of everything stumbles over that.
  const level = isUnserved || signal.aborted ? "debug" : parked ? "error" : "warn";
  log[level](
    { err: error, sagaId: saga, code: isMeshError(error) ? error.code : "INTERNAL" },
    "saga not taken",
  );
  if (isUnserved) return limits.unservedDelayMs;
  return parked ? limits.parkedDelayMs : limits.earlyInputDelayMs;
}
