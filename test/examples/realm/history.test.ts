/**
 * Goal: the state at a notice is what was executed and nothing else, and no new plan rewrites it. Method: the printed
 * plan as a history, and every feasible wedding plan cut at random minutes under random alerts (fast-check).
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contradiction, executedBefore, goOn, stateAt } from "./history.ts";
import { weddingPlans } from "./plans.ts";
import { disrupted, problemOf, weddingOf } from "./problem.ts";
import { endOf, storedSchedule, type Schedule } from "./schedule.ts";

const table6 = storedSchedule("table6-claude37-P5").actions;
const traffic = problemOf("P8-traffic");

describe("the state at a notice", () => {
  test("is, for the printed plan at 13:00: three on the road to the gift shop since 12:50, nothing collected", () => {
    const leg = { from: "B", to: "G", driver: "Pat", since: 770, arrives: 885 };
    const state = stateAt(traffic, table6, 780);
    expect(state.people).toEqual({ Alex: leg, Jamie: leg, Pat: leg, Chris: { comesAt: 810 } });
    expect(state.pickedUp).toEqual({ Alex: "Pat", Jamie: "Pat" });
    expect(state.collected).toEqual({});
    expect(state.underWay).toMatchObject([{ type: "drive", from: "B", to: "G", end: 885 }]);
  });

  test("knows what is collected, by whom and since when, and what is in the oven", () => {
    expect(stateAt(problemOf("P5"), table6, 840).collected).toEqual({ gift: { by: "Pat", at: 815 } });
    const figure4 = storedSchedule("figure4-claude37-P6").actions;
    const state = stateAt(problemOf("P6"), figure4, 930);
    expect(state.cooking).toEqual({ turkey: { from: 840, until: 1080 } });
    expect(state.people).toMatchObject({
      Michael: { from: "H", to: "GM", since: 915 },
      Emily: { from: "B", to: "H", driver: "James" },
      Sarah: { at: "H" },
    });
  });

  test("is not moved by what a planner claims", () => {
    const claim = { type: "state", start: 770, says: { Pat: { at: "W" } } } as const;
    expect(stateAt(traffic, [...table6, claim], 780)).toEqual(stateAt(traffic, table6, 780));
  });
});

describe("going on from a history", () => {
  const plans = weddingPlans(weddingOf("P5"), 5);
  const cut = fc.record({
    one: fc.constantFrom(...plans),
    other: fc.constantFrom(...plans),
    minute: fc.integer({ min: 700, max: 920 }),
    factor: fc.integer({ min: 1, max: 6 }),
  });
  const scene = ({ minute, factor }: { minute: number; factor: number }) =>
    disrupted(weddingOf("P5"), { type: "traffic", noticeAt: minute, factor, touching: "B" });

  test("leaves what was executed as it was, whatever the new plan says of it", () => {
    fc.assert(
      fc.property(cut, ({ one, other, minute, factor }) => {
        const problem = scene({ minute, factor });
        const before = structuredClone(one.schedule);
        const next = goOn(problem, one.schedule, minute, other.schedule);
        const past = (schedule: Schedule) => schedule.filter(({ start }) => start < minute);
        expect(past(next)).toEqual(executedBefore(problem, one.schedule, minute));
        for (const action of past(next)) {
          const was = one.schedule.find((candidate) => JSON.stringify(candidate) === JSON.stringify(action));
          // What differs from the plan is a drive under way, and only by its arrival.
          if (was === undefined) expect(action.type).toBe("drive");
          if (was === undefined) expect(endOf(action)).toBeGreaterThan(minute);
        }
        expect(next.filter(({ start }) => start >= minute).length).toBe(
          other.schedule.filter(({ start }) => start >= minute).length,
        );
        expect(one.schedule).toEqual(before);
      }),
      { seed: 20261122, numRuns: 200 },
    );
  });

  test("contradicts nothing, and neither does the history itself; another past does", () => {
    fc.assert(
      fc.property(cut, ({ one, other, minute, factor }) => {
        const problem = scene({ minute, factor });
        const next = goOn(problem, one.schedule, minute, other.schedule);
        expect(contradiction(problem, one.schedule, next, minute)).toBeUndefined();
        const [mine, his] = [one, other].map(({ schedule }) =>
          JSON.stringify(executedBefore(problem, schedule, minute)),
        );
        if (mine === his || executedBefore(problem, other.schedule, minute).length === 0) return;
        expect(contradiction(problem, one.schedule, other.schedule, minute)).toBeDefined();
      }),
      { seed: 20261122, numRuns: 200 },
    );
  });

  test("a plan that begins at the notice leaves the past to the ledger", () => {
    const rest = table6.filter(({ start }) => start >= 780);
    expect(contradiction(traffic, table6, rest, 780)).toBeUndefined();
  });
});
