/**
 * Waiting line: callers that wait to be let in, first come first served, until they are or give up.
 */
export interface WaitingLine<T> {
  /** Resolves with what `letIn` was given; rejects with the signal's reason when aborted, before or meanwhile. */
  wait(signal: AbortSignal): Promise<T>;
  /** Lets in the caller that waits longest. False if none waits. */
  letIn(value: T): boolean;
  readonly size: () => number;
}

export function createWaitingLine<T>(): WaitingLine<T> {
  const waiting = new Set<(value: T) => void>();
  return {
    wait: (signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason as Error);
        const leave = () => {
          waiting.delete(enter);
          signal.removeEventListener("abort", giveUp);
        };
        const enter = (value: T) => {
          leave();
          resolve(value);
        };
        const giveUp = () => {
          leave();
          reject(signal.reason as Error);
        };
        waiting.add(enter);
        signal.addEventListener("abort", giveUp, { once: true });
      }),
    letIn: (value) => {
      const [next] = waiting;
      next?.(value);
      return next !== undefined;
    },
    size: () => waiting.size,
  };
}
