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
 * PA4 A part that is laid by takes the newest ones into itself where many of one size stand together. So there are few, what
 *     is in one was written a few times at most, and none grows beyond what a host likes to hold at once.
 */
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import type { Doubt, Past, SagaState, StandingEffect } from "../contract/state.ts";

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

/** How much a part holds. */
export const sizeOf = ({ effects, doubts }: Pick<PastPart, "effects" | "doubts">): number =>
  effects.length + Object.keys(doubts).length;

/** What a state knows once the part is stored, under `digest`, in the place of the `taken` newest ones and with what they held. */
export function pastWith(past: Past | undefined, part: PastPart, digest: string, taken = 0): Past {
  const sizes = past?.sizes ?? [];
  const into = sizes.slice(sizes.length - taken).reduce((sum, size) => sum + size, sizeOf(part));
  return {
    parts: (past?.parts ?? 0) + 1 - taken,
    digest,
    holdsDoubts: past?.holdsDoubts === true || Object.keys(part.doubts).length > 0,
    sizes: [...sizes.slice(0, sizes.length - taken), into],
  };
}

/** So many parts of about one size become one: more would be written less often, and stand in more parts. */
const alike = 8;

/** From this size on a part stays as it is (PA4): some two megabytes, tens of milliseconds to read and write. */
const grownUp = limits.pastPartMin * alike ** 2;

/** How many of the newest parts a part of this size takes into itself (PA4). */
export function takenInto(past: Past | undefined, size: number): number {
  const sizes = past?.sizes ?? [];
  let taken = 0;
  let into = size;
  for (let one = limits.pastPartMin * alike; one <= grownUp; one *= alike) {
    const isAlike = (held: number) => held < one && held * alike >= one;
    let [run, sum, count] = [taken, into, isAlike(into) ? 1 : 0];
    for (let held = sizes.at(-1 - run); held !== undefined && held < one; held = sizes.at(-1 - run)) {
      run += 1;
      sum += held;
      count += isAlike(held) ? 1 : 0;
    }
    if (count >= alike) [taken, into] = [run, sum];
  }
  return taken;
}

/** Parts, oldest first, as one. */
export const joined = (parts: readonly [PastPart, ...PastPart[]]): PastPart => ({
  saga: parts[0].saga,
  prev: parts[0].prev,
  effects: parts.flatMap(({ effects }) => effects),
  doubts: Object.assign({}, ...parts.map(({ doubts }) => doubts)) as PastPart["doubts"],
});

/**
 * The state without a part that is stored, as `past` has it. Undefined if the state no longer holds all of it as it
 * was: then it keeps what it has.
 */
export function layBy(state: SagaState, part: PastPart, past: Past): SagaState | undefined {
  const holds =
    (state.past?.digest ?? "") === part.prev &&
    part.effects.every((effect, index) => state.effects[index] === effect) &&
    Object.entries(part.doubts).every(([id, doubt]) => state.doubts[id as IntentId] === doubt);
  if (!holds) return undefined;
  const kept = Object.entries(state.doubts).filter(([id]) => !Object.hasOwn(part.doubts, id));
  return {
    ...state,
    effects: state.effects.slice(part.effects.length),
    doubts: Object.fromEntries(kept),
    past,
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
