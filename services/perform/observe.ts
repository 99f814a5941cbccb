/** Observe: what a host or worker tells of its attempts as they happen, for metrics and tests. */
import type { Clock } from "../wire/ports.ts";
import type { Performed } from "./outcome.ts";

/**
 * How an attempt went, as far as its performer can say. `not_begun`: another performer will, or it was called off.
 * `error`: the performer itself is at fault.
 */
export type AttemptOutcome =
  Extract<Performed, { type: "result" }>["result"]["outcome"] | "deferred" | "not_begun" | "error";

/** Told of each attempt, its end after its beginning. */
export interface AttemptObserver {
  attemptBegan(kind: "tool" | "model", name: string): void;
  /** `ms` from the beginning, a wait for a claim included, a backoff not. */
  attemptEnded(kind: "tool" | "model", name: string, outcome: AttemptOutcome, ms: number): void;
}

/** Tells nothing. */
export const silentAttempts: AttemptObserver = {
  attemptBegan: () => undefined,
  attemptEnded: () => undefined,
};

/** Performs one attempt and tells of it, calling `ended` last however it ends. Rejects as the attempt does. */
export async function observed(
  { observe, clock }: { observe: AttemptObserver; clock: Clock },
  kind: "tool" | "model",
  name: string,
  attempt: () => Promise<Performed>,
  ended?: () => void,
): Promise<Performed> {
  const beganAt = clock.elapsed();
  observe.attemptBegan(kind, name);
  let outcome: AttemptOutcome = "error";
  try {
    const performed = await attempt();
    outcome = outcomeOf(performed);
    return performed;
  } finally {
    observe.attemptEnded(kind, name, outcome, clock.elapsed() - beganAt);
    ended?.();
  }
}

const outcomeOf = (performed: Performed): AttemptOutcome => {
  if (performed.type === "result") return performed.result.outcome;
  return performed.type === "deferred" ? "deferred" : "not_begun";
};
