/** The error that a call ends with when it was aborted. */

/** Always an AbortError, whatever reason the caller aborted with; that reason is its cause. */
export function abortError(signal: AbortSignal, cause: unknown): DOMException {
  const reason: unknown = signal.reason ?? cause;
  if (reason instanceof DOMException && reason.name === "AbortError") return reason;
  const error = new DOMException("the model call was aborted", "AbortError");
  Object.defineProperty(error, "cause", { value: reason, configurable: true });
  return error;
}
