/**
 * Cut-off: how one attempt is ended before its time.
 *
 * An AbortController with its signal and listeners costs as much as deciding a turn, and nearly no attempt is
 * ever cut off. So the signal is made when it is first asked for: a body that heeds it, a wait.
 */
/** Ends one attempt early. What listens is told once, with the reason. */
export class CutOff {
  /** Called once, when it is cut off. One listener is enough: the performer. */
  onCut: ((reason: Error) => void) | undefined;
  #reason: Error | undefined;
  #controller: AbortController | undefined;

  get isCut(): boolean {
    return this.#reason !== undefined;
  }

  /** The same as an AbortSignal. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Ends it; what comes after the first time changes nothing. */
  cut(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.onCut?.(reason);
  }
}
