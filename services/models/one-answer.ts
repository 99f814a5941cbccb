/** One request to a provider: whose answer it gets, how long it may take, and what a call that was called off ends with. */
import { limits } from "../../protocol/limits.ts";
import { type ModelContext, ModelFailure } from "../../protocol/model.ts";

/** The model that wrote what only it can read, and the hash of all that had been sent before. */
export interface Origin {
  readonly model: string;
  readonly prefix: string;
}

/**
 * Asks once. Rejects with an AbortError when the decision was called off; with a ModelFailure that may be retried when
 * the time, from the request to the answer's last byte, is over; else with what `failureOf` makes of the error.
 */
export async function oneAnswer<T>(
  { abort }: Pick<ModelContext, "abort">,
  timeoutMs: number = limits.modelTimeoutMs,
  ask: (signal: AbortSignal) => Promise<T>,
  failureOf: (error: unknown) => ModelFailure,
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    return await ask(AbortSignal.any([abort, timeout]));
  } catch (error) {
    if (abort.aborted) throw abortError(abort, error);
    if (timeout.aborted)
      throw new ModelFailure("retry", `no complete answer within ${timeoutMs} ms`, { cause: error });
    throw failureOf(error);
  }
}

/** Always an AbortError, whatever reason the caller aborted with; that reason is its cause. */
function abortError(signal: AbortSignal, cause: unknown): DOMException {
  const reason: unknown = signal.reason ?? cause;
  if (reason instanceof DOMException && reason.name === "AbortError") return reason;
  const error = new DOMException("the model call was aborted", "AbortError");
  Object.defineProperty(error, "cause", { value: reason, configurable: true });
  return error;
}
