/**
 * Goal: what may be undone next is the same whether it was counted once or is looked for anew (UO1, UO2).
 * Method: random effects with random dependencies are undone in random order; after each, those that may go on are
 * compared with what the rule itself says of all that are left.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { StandingEffect } from "../../../actors/contract/state.ts";
import {
  keepCounted,
  takeAway,
  takeCounted,
  takeReady,
  type Undoing,
  undoingOf,
  waiting,
} from "../../../actors/kernel/undo-order.ts";
import type { IntentId } from "../../../protocol/ids.ts";

const anyEffects = fc
  .array(
    fc.record({
      decidedAt: fc.nat({ max: 6 }),
      takes: fc.nat({ max: 4 }),
      call: fc.option(fc.constantFrom("a", "b", "c", "d"), { nil: undefined }),
      dependsOn: fc.option(fc.subarray(["a", "b", "c", "d"]), { nil: undefined }),
      isBeingUndone: fc.boolean(),
    }),
    { maxLength: 12 },
  )
  .map((effects) =>
    effects
      .map(({ decidedAt, takes, call, dependsOn, isBeingUndone }, k): StandingEffect => ({
        intent: `${decidedAt}-${k}` as IntentId,
        tool: "hold",
        key: `key-${k}`,
        outcome: "succeeded",
        settledAt: decidedAt + takes,
        undo: { tool: "release", input: null },
        ...(call === undefined ? {} : { call }),
        ...(dependsOn === undefined ? {} : { dependsOn }),
        ...(isBeingUndone ? { undoing: `9-${k}` as IntentId } : {}),
      }))
      .sort((a, b) => a.settledAt - b.settledAt),
  );

/** The rule, of all that are left. */
const readyBy = (effects: readonly StandingEffect[]): StandingEffect[] => {
  const mustWait = waiting(effects);
  return effects.filter((effect) => effect.undoing === undefined && !mustWait(effect));
};

const asked = (effect: StandingEffect): StandingEffect => ({ ...effect, undoing: "9-99" as IntentId });

describe("what a plan undoes, counted once", () => {
  test("names those that may go on as the rule does, after each that was undone, in any order", () => {
    fc.assert(
      fc.property(anyEffects, fc.array(fc.nat(), { maxLength: 40 }), (effects, order) => {
        let left = effects;
        const undoing = undoingOf(left, undefined);
        let mayGoOn = true;
        const goOn = () => {
          const ready = takeReady(undoing);
          expect(ready).toEqual(readyBy(left));
          // Nothing may have been able to go on that was not told of.
          if (!mayGoOn) expect(ready).toEqual([]);
          left = left.map((effect) => (ready.includes(effect) ? asked(effect) : effect));
        };
        goOn();
        for (const which of order) {
          const beingUndone = left.filter(({ undoing }) => undoing !== undefined);
          const gone = beingUndone[which % Math.max(1, beingUndone.length)];
          if (gone === undefined) break;
          left = left.filter((effect) => effect !== gone);
          mayGoOn = takeAway(undoing, gone);
          goOn();
        }
        expect(undoing.places.size).toBe(left.length);
      }),
      { numRuns: 2_000 },
    );
  });

  test("is of the list it was counted with, of one plan, and of one turn that takes it out", () => {
    const list: StandingEffect[] = [];
    const plan = { because: "", undone: [], then: { type: "nothing" as const } };
    const undoing: Undoing = undoingOf(list, undefined);
    keepCounted(list, undoing);
    expect(takeCounted([], [plan])).toBeUndefined();
    expect(takeCounted(list, [plan])).toBe(undoing);
    expect(takeCounted(list, [plan])).toBeUndefined();
    for (const plans of [[], [plan, plan], [{ ...plan, only: [] }]]) {
      keepCounted(list, undoing);
      expect(takeCounted(list, plans)).toBeUndefined();
    }
  });
});
