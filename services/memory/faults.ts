/**
 * Chance and misfortune, from a seed.
 *
 * Owns: the seeded numbers and the plan of what goes wrong how often. Does not own: what a fault does to a
 * call or a delivery (gate.ts, stream.ts, queue.ts, ledger.ts).
 *
 * FA1 The seed decides all. Each process and the server draw from a stream of their own, so a further draw in
 *     one does not move the others.
 * FA2 After its end the plan is calm for ever: from then on every saga must come to its end.
 */
import type { Chance, Clock } from "../wire/ports.ts";

/** Seeded chance. Not for secrets. */
export interface SeededChance extends Chance {
  /** A whole number, both ends included. */
  between(min: number, max: number): number;
  happens(probability: number): boolean;
  /** One of a list that is not empty. */
  pick<T>(list: readonly T[]): T;
  /** An independent stream of chance; the same label gives the same one. */
  fork(label: string): SeededChance;
}

/** How often what goes wrong. Probabilities are in [0, 1], per call or delivery unless said otherwise. */
export interface FaultPlan {
  /** Nothing happened, and the answer is UNAVAILABLE. */
  readonly lostRequest: number;
  /** It happened, and the answer is UNAVAILABLE. */
  readonly lostAnswer: number;
  /** The answer is UNAVAILABLE, and then it happens. */
  readonly delayed: number;
  /** A publish with a Msg-Id arrives twice. */
  readonly duplicated: number;
  /** On three replicas: a read is answered by one that lags. */
  readonly staleRead: number;
  /** On three replicas: the ledger's leader is deposed and does not know it, and answers for a while. Per call. */
  readonly deposed: number;
  /** On three replicas: an election holds up all writes of a stream. Per write. */
  readonly slowCommit: number;
  /** A delivery goes out and reaches no process: its lease has to end. */
  readonly lostDelivery: number;
  /** A delivery overtakes others, or is overtaken. */
  readonly reordered: number;
  /** Per call: the process is cut off from the server for a while. */
  readonly cutRate: number;
  /** Per call: the process stands still for a while, and knows nothing of it. */
  readonly pauseRate: number;
  /** All this ends so long after the mesh began, milliseconds. */
  readonly until: number;
}

/** Nothing goes wrong. */
export const calm: FaultPlan = {
  lostRequest: 0,
  lostAnswer: 0,
  delayed: 0,
  duplicated: 0,
  staleRead: 0,
  deposed: 0,
  slowCommit: 0,
  lostDelivery: 0,
  reordered: 0,
  cutRate: 0,
  pauseRate: 0,
  until: 0,
};

/** Worse than any real day: about one call in ten is not as it should be. */
export const rough: FaultPlan = {
  lostRequest: 0.03,
  lostAnswer: 0.04,
  delayed: 0.02,
  duplicated: 0.02,
  staleRead: 0.1,
  deposed: 0.015,
  slowCommit: 0.01,
  lostDelivery: 0.02,
  reordered: 0.1,
  cutRate: 0.003,
  pauseRate: 0.003,
  until: 60_000,
};

/** What becomes of a call. */
export type Fate = "served" | "lostRequest" | "lostAnswer" | "delayed" | "duplicated";

/** The plan at work: asked whenever something could go wrong. */
export interface Weather {
  fate(): Fate;
  happens(
    fault: "staleRead" | "deposed" | "slowCommit" | "lostDelivery" | "reordered" | "cutRate" | "pauseRate",
  ): boolean;
  readonly chance: SeededChance;
}

/** The plan as one process or the server meets it, from `now` on. */
export function createWeather(
  clock: Clock,
  chance: SeededChance,
  plan: FaultPlan,
  startedAt = clock.now(),
): Weather {
  const isOver = () => clock.now() >= startedAt + plan.until; // FA2
  const fates = [
    ["lostRequest", plan.lostRequest],
    ["lostAnswer", plan.lostAnswer],
    ["delayed", plan.delayed],
    ["duplicated", plan.duplicated],
  ] as const;
  return {
    chance,
    happens: (fault) => plan[fault] > 0 && !isOver() && chance.happens(plan[fault]),
    fate: () => {
      if (isOver()) return "served";
      let drawn = chance.random();
      for (const [fate, probability] of fates) {
        if (drawn < probability) return fate;
        drawn -= probability;
      }
      return "served";
    },
  };
}

/** Chance from a seed; the same seed gives the same numbers and nonces on every machine. */
export function seededChance(seed: number, label = ""): SeededChance {
  const random = createRandom(seed, label);
  return {
    random,
    nonce: () =>
      Math.floor(random() * 2 ** 52)
        .toString(36)
        .padStart(11, "0"),
    between: (min, max) => min + Math.floor(random() * (max - min + 1)),
    happens: (probability) => random() < probability,
    pick: (list) => list[Math.floor(random() * list.length)]!,
    fork: (name) => seededChance(seed, `${label}/${name}`),
  };
}

/** Small fast counter generator (sfc32): 128 bits of state, well mixed after a dozen rounds. */
function createRandom(seed: number, label: string): () => number {
  let a = hashText(label) | 0;
  let b = seed | 0;
  let c = Math.floor(seed / 2 ** 32) | 0;
  let count = 1;
  const next = () => {
    const sum = (((a + b) | 0) + count++) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let round = 0; round < 12; round++) next();
  // Two draws make one number: 32 bits alone would repeat nonces within a long run.
  return () => (Math.floor(next() * 2 ** 26) * 2 ** 26 + Math.floor(next() * 2 ** 26)) / 2 ** 52;
}

/** FNV-1a, 32 bits: the hash by which the real server partitions, too. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
