/**
 * How rough a run is: what goes wrong how often, and for how long. Made up from the seed unless told otherwise.
 */
import { type FaultPlan, rough, seededChance } from "../../services/memory/faults.ts";

/** What one host serves. */
export type Pool = "first" | "second" | "both";

const worlds: readonly (readonly Pool[])[] = [
  ["first", "second"],
  ["first", "second"],
  ["first", "second", "both"],
  ["first", "second", "second"],
];

export interface Profile {
  readonly hosts: number;
  readonly workers: number;
  readonly replicas: 1 | 3;
  /** The mesh's faults; `until` is when all of them end, the crashes below included. */
  readonly faults: FaultPlan;
  /** Chance of a crash before, and after, each append of a turn. */
  readonly crashAtAppend: number;
  /** Chance of a crash before, and after, each other call that changes something. */
  readonly crashAtCall: number;
  /** A process crashes out of the blue about this often, milliseconds; 0: never. */
  readonly crashEveryMs: number;
  readonly crashesMax: number;
  /** Chance that a tool's body misbehaves: throws before or after it acted, hangs, answers nonsense. */
  readonly mishap: number;
  /** Chance that a saga is cancelled. */
  readonly cancel: number;
  readonly journeys: number;
  readonly planners: number;
  /** Sagas with many children at once, most of them in line; none unless a run asks for them. */
  readonly crowds: number;
  /** Stages of a journey and batches of a plan, at most. */
  readonly lengthMax: number;
  /** Every host sees itself alone, and so takes every partition. */
  readonly alone: boolean;
  /** A host drains and starts again about this often, milliseconds; 0: never. */
  readonly drainEveryMs: number;
  /** What each host serves, where they differ; all serve the first version else. */
  readonly pools: readonly Pool[] | undefined;
  /** Messages that somebody else publishes on each saga's ledger, at most. */
  readonly foreignMax: number;
  /** Processes' clocks are off by so much at most, milliseconds. */
  readonly skewMs: number;
}

const scaled = (plan: FaultPlan, factor: number, until: number): FaultPlan => ({
  ...(Object.fromEntries(
    Object.entries(plan).map(([fault, rate]) => [fault, rate * factor]),
  ) as unknown as FaultPlan),
  until,
});

/** The profile of a seed. What `over` names is as it says. */
export function profileOf(seed: number, over: Partial<Profile> = {}): Profile {
  const chance = seededChance(seed, "profile");
  const until = chance.between(4_000, 12_000);
  const kind = chance.pick(["crashes", "network", "both", "both", "appends"] as const);
  const network = kind === "crashes" || kind === "appends" ? 0.15 : chance.pick([0.5, 1, 1.5]);
  const faults = scaled(rough, network, until);
  const differing = seededChance(seed, "pools"); // Apart: what a seed was before stays so where hosts are equal.
  const pools = differing.happens(0.3) ? differing.pick(worlds) : undefined;
  const disturbed = seededChance(seed, "disturbed"); // Apart, like the pools.
  const given: Profile = {
    hosts: chance.pick([2, 2, 3]),
    workers: 2,
    replicas: chance.pick([1, 3]),
    // Without standing still, a probe has no excuse.
    faults: chance.happens(0.4) ? { ...faults, pauseRate: 0 } : faults,
    crashAtAppend: kind === "appends" ? 0.15 : kind === "network" ? 0 : 0.03,
    crashAtCall: kind === "network" ? 0 : 0.008,
    crashEveryMs: kind === "network" ? 0 : 3_000,
    crashesMax: 12,
    mishap: chance.pick([0, 0.08, 0.2]),
    cancel: 0.35,
    journeys: chance.pick([1, 1, 2]),
    planners: chance.pick([0, 1, 1]),
    crowds: 0,
    lengthMax: chance.pick([2, 3, 4]),
    skewMs: chance.pick([0, 0, 300]),
    alone: chance.happens(0.15),
    drainEveryMs: chance.pick([0, 0, 4_000]),
    pools,
    foreignMax: disturbed.happens(0.35) ? disturbed.between(1, 6) : 0,
    ...over,
  };
  // A host that hears of no other can hand nothing on.
  return given.pools === undefined ? given : { ...given, hosts: given.pools.length, alone: false };
}
