/**
 * Plants: the rules, each broken alone in a small world, and what the walk must say of it. What it could not find, it would
 * not find in a real mistake either.
 */
import { type Budget, protocol, type Rules, type SagaSpec, type World } from "./world.ts";
import { world } from "./worlds.ts";

export interface Plant {
  readonly rule: keyof Rules;
  readonly world: World;
  /** What the walk says is broken. */
  readonly says: RegExp;
}

const plant = (
  rule: keyof Rules,
  says: RegExp,
  given: Partial<Omit<World, "budget">> & { budget?: Partial<Budget> } = {},
): Plant => ({ rule, says, world: world(rule, { ...given, rules: { ...protocol, [rule]: false } }) });

const stuck = /no end can be reached/;
const twice = /happens twice/;
const noTurn = /which is no turn/;
const mistaken = /is taken for a turn/;
const unheard = /is acked, and its ledger has never heard of it/;

const serves = [{ serves: [0] }, { serves: [1] }];
const two: readonly SagaSpec[] = [{ steps: [["read"]] }, { steps: [["read"]] }];

export const plants: readonly Plant[] = [
  // Appending
  plant("compareAndSet", noTurn, { budget: { lapses: 1 } }),
  plant("ownByBytes", unheard, { budget: { lapses: 1 }, sagas: [{ steps: [["once"]], signal: true }] }),
  plant("resolvesDoubt", noTurn, { budget: { lost: 1 } }),
  // Foreign messages
  plant("expectsLastMessage", stuck, { budget: { foreign: 1 } }),
  plant("readsPastForeign", stuck, { budget: { foreign: 1, deaths: 1 } }),
  plant("judgesAllNewer", noTurn, { budget: { foreign: 1, lapses: 1 } }),
  plant("chainsByPredecessor", mistaken, { budget: { foreign: 1 }, foreign: ["misfit"] }),
  plant("chainsBySaga", mistaken, { budget: { foreign: 1 }, foreign: ["other"] }),
  plant("ownersJudgeAlike", noTurn, {
    ...{ budget: { foreign: 1, deaths: 1 }, foreign: ["imitation"], signed: true },
    hosts: [{ serves: [0], keys: true }, { serves: [0] }],
  }),
  plant("routesByLastTurn", stuck, { budget: { foreign: 1 }, hosts: serves, sagas: two }),
  plant("purgesBeforeTombstone", /./, { budget: { foreign: 1, repeats: 1 }, archives: true }),
  // Owning
  plant("beginsAfterStored", /no turn asks for it/, { budget: { deaths: 1 } }),
  plant("acksAfterStored", unheard),
  plant("acksWhenQuiet", stuck, { budget: { deaths: 1 } }),
  plant("fencedGivesBack", unheard, { budget: { lapses: 1 }, sagas: [{ steps: [["once"]], signal: true }] }),
  plant("knownRecovers", stuck, { budget: { deaths: 1 } }),
  plant("dedups", /twice/, { budget: { deaths: 1 } }),
  // Performing
  plant("claims", twice, { budget: { deaths: 1 } }),
  plant("claimsByDelivery", twice, { budget: { deaths: 1 } }),
  plant("waitsForHolder", twice, { sagas: [{ steps: [["probe"]] }], budget: { lapses: 1 } }),
  plant("asksOutside", twice, { sagas: [{ steps: [["probe"]] }], budget: { deaths: 1 } }),
  plant("workAckedAfterResult", stuck, { sagas: [{ steps: [["work"]] }], budget: { deaths: 1 } }),
  // Handing on
  plant("hopLetsGo", unheard, { hosts: [{ serves: [1] }, { serves: [0, 1] }], sagas: two }),
];

/** Broken alone, these break nothing in a small world: they save time, or something else holds the same. */
export const harmless: readonly (Omit<Plant, "says"> & { readonly because: string })[] = [
  {
    ...plant("foreignIsNoFence", stuck, { budget: { foreign: 1, deaths: 1 } }),
    because:
      "who takes it for a fence gives the saga back, and reads past the foreign message as it loads it again",
  },
  {
    ...plant("recoversAfterProof", stuck, { budget: { deaths: 1, lapses: 1 } }),
    because:
      "what is begun again is held to its claim, and what the saga's other owner decided refuses the next turn",
  },
];
