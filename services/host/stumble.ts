/**
 * Stumble: what a batch that cannot be taken means. Everything goes back; how soon it is offered again, here or
 * elsewhere, and how loud it is said, follows from the error.
 */
import { isMeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";

/** `stopping`: this host is about to let go of everything, and errors are what comes of that. */
export function stumbleOver(
  error: unknown,
  stopping: boolean,
): { readonly level: "debug" | "warn" | "error"; readonly delayMs: number } {
  const isUnserved = isMeshError(error, "VERSION_UNSERVED");
  const parked = isMeshError(error) && !error.retriable;
  return {
    level: isUnserved || stopping ? "debug" : parked ? "error" : "warn",
    delayMs: isUnserved ? limits.unservedDelayMs : parked ? limits.parkedDelayMs : limits.earlyInputDelayMs,
  };
}
