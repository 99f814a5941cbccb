/**
 * Seen: packed ids answer as a plain list of them would. Method: random histories against a list that forgets nothing
 * and packs nothing, and the horizon told by hand.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { remember, tidySeen, wasSeen } from "../../../actors/kernel/seen.ts";
import type { SagaState } from "../../../actors/contract/state.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";

type Seen = Pick<SagaState, "seen" | "seenPacks">;

const nothing: Seen = { seen: {}, seenPacks: [] };
const signal = (id: string) => ({ type: "signal" as const, id });
const vote = (id: string) => ({ type: "task" as const, intent: "1-0" as IntentId, id });
const take = (of: Seen, id: string, until: number): Seen => ({
  ...of,
  seen: remember(of.seen, signal(id), until),
});
/** As many ids as make a pack, all known until then. */
const packOf = (of: Seen, prefix: string, until: number): Seen =>
  Array.from({ length: limits.seenPackMin }, (_, index) => `${prefix}${index}`).reduce(
    (seen, id) => take(seen, id, until),
    of,
  );

describe("what a saga has seen", () => {
  test("is known after it was packed, and what it has not seen is not", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { minLength: 600, maxLength: 900 }), (ids) => {
        const half = Math.floor(ids.length / 2);
        let seen = nothing;
        for (const [index, id] of ids.slice(0, half).entries()) {
          seen = take(seen, id, 100);
          if (index % limits.seenTidyTurns === 0) seen = { ...seen, ...tidySeen(seen, 1) };
        }
        expect(seen.seenPacks.length).toBeGreaterThan(0);
        for (const [index, id] of ids.entries()) expect(wasSeen(seen, signal(id))).toBe(index < half);
      }),
      { numRuns: 20, seed: 20261121 },
    );
  });

  test("tells a vote from a signal of the same id, packed or not", () => {
    const seen = take(packOf(nothing, "s", 100), "v", 100);
    for (const of of [seen, tidySeen(seen, 1)]) {
      expect(wasSeen(of, signal("v"))).toBe(true);
      expect(wasSeen(of, vote("v"))).toBe(false);
    }
  });

  test("takes twelve bytes an id once it is packed", () => {
    const { seen, seenPacks } = tidySeen(packOf(nothing, "a long id of a signal, number ", 100), 1);
    expect(Object.keys(seen)).toEqual([]);
    expect(seenPacks.map(({ codes }) => codes.length)).toEqual([12 * limits.seenPackMin]);
  });

  test("stays known until the last of its pack may be forgotten, and no longer", () => {
    const packed = tidySeen(take(packOf(nothing, "s", 50), "late", 100), 1);
    expect(wasSeen(tidySeen(packed, 99), signal("s0"))).toBe(true);
    expect(tidySeen(packed, 100)).toEqual(nothing);
  });

  test("is forgotten one by one while it is too little for a pack", () => {
    const few = take(take(nothing, "a", 50), "b", 100);
    expect(tidySeen(few, 50)).toEqual({ seen: { "signal:b": 100 }, seenPacks: [] });
  });
});
