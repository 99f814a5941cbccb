/**
 * Past: effects and failures that are settled and seldom asked for, laid by outside the state.
 *
 * A saga's state goes wherever the saga wakes. What stands for good, a thousand bookings that are never cancelled, need
 * not: the host stores it in parts beside the snapshot, and the state keeps the digest of the newest part, which
 * names the one before. Which part of a state is laid by is a host's choice and changes no decision.
 *
 * PA1 Nothing reads around what was laid by. A fold that needs it throws PastNeeded, the host puts it back, and the
 *     same pure call is made again.
 * PA2 What stands keeps its order: the parts in theirs, then what the state holds.
 * PA3 What is in doubt stays: each call is compared with it.
 */
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import type { Doubt, SagaState, StandingEffect } from "../contract/state.ts";

/** A part as it is stored. */
export interface PastPart {
  readonly saga: SagaId;
  /** The digest of the part before; "" for the first. */
  readonly prev: string;
  readonly effects: readonly StandingEffect[];
  readonly doubts: Readonly<Record<IntentId, Doubt>>;
}

/** The state lacks what this step needs. No failure: the host recalls the past and takes the step again (PA1). */
export class PastNeeded extends Error {
  constructor() {
    super("what was laid by is needed");
  }
}

/** Throws PastNeeded where a part of the state was laid by. */
export function assertWhole({ past }: Pick<SagaState, "past">): void {
  if (past !== undefined) throw new PastNeeded();
}

/** The same for a late result, which concerns what is in doubt or has failed. */
export function assertDoubtsWhole({ past }: Pick<SagaState, "past">): void {
  if (past?.holdsDoubts === true) throw new PastNeeded();
}

const isSettled = (doubt: Doubt): boolean => doubt.outcome !== "in_doubt";

/**
 * What may be laid by now, if there is enough of it to be worth a part. Nothing while the saga undoes: each step
 * of that needs all of it.
 */
export function partOf(state: SagaState, atLeast: number = limits.pastPartMin): PastPart | undefined {
  const { saga, phase, plans, past, effects } = state;
  if (plans.length > 0 || (phase.kind !== "running" && phase.kind !== "ended")) return undefined;
  const settled = Object.entries(state.doubts).filter(([, doubt]) => isSettled(doubt));
  if (effects.length + settled.length < Math.max(1, atLeast)) return undefined;
  return { saga, prev: past?.digest ?? "", effects, doubts: Object.fromEntries(settled) };
}

/**
 * The state without a part that is stored under `digest`. Undefined if the state no longer holds all of it as it
 * was: then it keeps what it has.
 */
export function layBy(state: SagaState, part: PastPart, digest: string): SagaState | undefined {
  const { past } = state;
  const holds =
    (past?.digest ?? "") === part.prev &&
    part.effects.every((effect, index) => state.effects[index] === effect) &&
    Object.entries(part.doubts).every(([id, doubt]) => state.doubts[id as IntentId] === doubt);
  if (!holds) return undefined;
  const kept = Object.entries(state.doubts).filter(([id]) => !Object.hasOwn(part.doubts, id));
  return {
    ...state,
    effects: state.effects.slice(part.effects.length),
    doubts: Object.fromEntries(kept),
    past: {
      parts: (past?.parts ?? 0) + 1,
      digest,
      holdsDoubts: past?.holdsDoubts === true || Object.keys(part.doubts).length > 0,
    },
  };
}

/** The whole state again. `parts` are all of them, oldest first. */
export function recall(state: SagaState, parts: readonly PastPart[]): SagaState {
  const { past: _past, ...rest } = state;
  return {
    ...rest,
    effects: [...parts.flatMap((part) => part.effects), ...state.effects],
    doubts: Object.assign({}, ...parts.map((part) => part.doubts), state.doubts) as SagaState["doubts"],
  };
}
