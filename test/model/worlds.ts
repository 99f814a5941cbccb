/**
 * Worlds: those that are walked through. Each asks something, and is as small as the answer allows.
 */
import { type Budget, type HostSpec, protocol, type SagaSpec, type World } from "./world.ts";

const calm: Budget = { deaths: 0, foreign: 0, lapses: 0, lost: 0, repeats: 0 };

/** Two hosts alike, one saga; what is given changes that. */
export function world(
  name: string,
  given: Partial<Omit<World, "budget">> & { budget?: Partial<Budget> },
): World {
  const { budget, ...rest } = given;
  const sagas: readonly SagaSpec[] = rest.sagas ?? [{ steps: [["once"]] }];
  const host: HostSpec = { serves: [...sagas.keys()], keys: true };
  return {
    ...{ name, hosts: [host, host], foreign: ["stray"], signed: false, archives: false, rules: protocol },
    ...rest,
    sagas,
    budget: { ...calm, ...budget },
  };
}

const both: readonly SagaSpec[] = [
  { steps: [["once"], ["child"]], child: 1 },
  { steps: [["work"]], parent: { saga: 0, intent: 1 } },
];

const two: readonly SagaSpec[] = [{ steps: [["once"]] }, { steps: [["once"]] }];

/** Walked in a second or two, all together. */
export const small: readonly World[] = [
  world("once", { budget: { deaths: 1, foreign: 1 } }),
  world("two deaths", { sagas: [{ steps: [["once"], ["once"]] }], budget: { deaths: 2, foreign: 1 } }),
  world("signal", { sagas: [{ steps: [["once"]], signal: true }], budget: { deaths: 1, foreign: 1 } }),
  world("lost answers", { budget: { deaths: 1, lost: 1, foreign: 1 } }),
  world("probe", { sagas: [{ steps: [["probe"]] }], budget: { deaths: 2, foreign: 1 } }),
  world("imitation", { foreign: ["imitation"], budget: { deaths: 1, foreign: 1 } }),
  world("signed", { foreign: ["imitation"], signed: true, budget: { deaths: 2, foreign: 2 } }),
  world("keys differ", {
    ...{ foreign: ["imitation"], signed: true, budget: { deaths: 2, foreign: 1 } },
    hosts: [{ serves: [0], keys: true }, { serves: [0] }],
  }),
  world("archive", { archives: true, budget: { foreign: 1, repeats: 1, deaths: 1 } }),
  world("two owners", { budget: { lapses: 1, foreign: 1 } }),
];

/** Walked in some ten seconds each. */
export const middle: readonly World[] = [
  world("two owners and a death", { budget: { deaths: 1, lapses: 1, foreign: 1 } }),
  world("worker", { sagas: [{ steps: [["work"]] }], budget: { deaths: 2, foreign: 1 } }),
  world("child", { sagas: both, budget: { deaths: 1 } }),
  world("definitions differ", {
    ...{ sagas: two, budget: { deaths: 1, foreign: 1 } },
    hosts: [{ serves: [1] }, { serves: [0, 1] }],
  }),
];

/** Minutes and gigabytes: by hand, and at night. */
export const large: readonly World[] = [
  world("large", {
    ...{ sagas: [{ steps: [["once"], ["read"]] }, { steps: [["once"]] }], budget: { deaths: 2, foreign: 1 } },
    hosts: [{ serves: [1] }, { serves: [0, 1] }],
  }),
  world("largest", { sagas: both, budget: { deaths: 2, foreign: 1 } }),
];

export const worlds: readonly World[] = [...small, ...middle, ...large];
