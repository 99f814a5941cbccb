/**
 * The outside world, as it keeps its own account: what was done to it, by whom and under which key.
 *
 * Owns: the account, and what a well-built outside does with a key it has seen. The oracle compares this
 * account with what the ledgers say; neither can be derived from the other.
 *
 * O1 The account is append-only: what happened is never taken back, an undoing is a further act.
 * O2 For `idempotent` the outside remembers the key, also after it was undone: asked again it answers as the
 *    first time and does nothing. For `once` and `probe` it does what it is asked, every time.
 */
import type { Effect } from "../../protocol/tool.ts";

/** One thing that was done outside. */
export interface Act {
  readonly at: number;
  /** When the performer sent it; on its way it may be held up. */
  readonly sentAt: number;
  readonly tool: string;
  readonly effect: Effect;
  readonly key: string;
  /** Names the place in the saga's program: two acts of one place are one effect done twice. */
  readonly place: string;
  readonly by: string;
  readonly attempt: number;
  /** The key of the effect that this act undoes. */
  readonly undoes: string | undefined;
  readonly output: { readonly id: string };
}

/** A request to the outside; `repeat` in the account is not an act. */
export type Asked = Omit<Act, "at" | "output">;

export interface World {
  /** Does it, or answers as the first time. */
  act(asked: Asked): { id: string };
  /** What the outside says of a key when probed. */
  found(key: string): { id: string } | undefined;
  isUndone(key: string): boolean;
  readonly acts: readonly Act[];
  /** Every key an `idempotent` tool was asked for with, repeats included. */
  readonly asked: readonly Asked[];
}

export function createWorld(now: () => number): World {
  const acts: Act[] = [];
  const asked: Asked[] = [];
  const answers = new Map<string, { id: string }>();
  const undone = new Set<string>();
  return {
    acts,
    asked,
    act: (request) => {
      asked.push(request);
      const known = answers.get(request.key);
      if (request.effect === "idempotent" && known !== undefined) return known; // O2
      const output = { id: `${request.tool}-${acts.length + 1}` };
      answers.set(request.key, known ?? output);
      if (request.undoes !== undefined) undone.add(request.undoes);
      if (request.effect === "idempotent" && undone.has(request.key)) return output; // O2
      acts.push({ ...request, at: now(), output });
      return output;
    },
    found: (key) => answers.get(key),
    isUndone: (key) => undone.has(key),
  };
}
