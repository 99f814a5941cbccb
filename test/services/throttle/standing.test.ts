/**
 * Goal: what is shown of a throttle is what a process that asks for a permit meets.
 * Method: entries that processes made by asking, at any time after; each beside what the next who asks is told.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeJson } from "../../../protocol/codec.ts";
import { throttleKey, type ThrottleState } from "../../../protocol/throttle.ts";
import { admit, openThrottle } from "../../../services/throttle/admit.ts";
import { standingOf } from "../../../services/throttle/standing.ts";

const what = { kind: "tool", name: "charge" } as const;
const shown = (state: ThrottleState, now: number) =>
  standingOf([{ key: throttleKey(what), data: encodeJson(state) }], now);

test("permits and places that are believed are counted, and one that asks meets just those", () => {
  const asks = fc.array(
    fc.record({
      who: fc.constantFrom("a", "b", "c"),
      wanted: fc.integer({ min: 1, max: 4 }),
      afterMs: fc.nat(9_000),
    }),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(asks, fc.integer({ min: 1, max: 6 }), fc.nat(20_000), (all, atOnce, laterMs) => {
      let state = openThrottle;
      let now = 1_000_000;
      const holds = new Map<string, number>();
      for (const { who, wanted, afterMs } of all) {
        now += afterMs;
        const told = admit(state, { atOnce }, { who, wanted, holds: holds.get(who) ?? 0, now });
        holds.set(who, (holds.get(who) ?? 0) + told.startAt.length);
        state = told.state;
      }
      now += laterMs;
      const [standing] = shown(state, now);
      const free = admit({ ...state, queue: [] }, { atOnce }, { who: "next", wanted: 100, holds: 0, now });
      expect(free.startAt.length).toBe(Math.max(0, atOnce - (standing?.held ?? 0)));
      expect(standing?.waiting ?? 0).toBe(
        admit(state, {}, { who: "x", wanted: 0, holds: 0, now }).state.queue.length,
      );
    }),
  );
});

test("what a provider has asked for, a rate and a pause are told for as long as they hold", () => {
  const now = 50_000;
  const paused = { at: 1, by: "ana" };
  expect(shown({ ...openThrottle, notBefore: now + 700 }, now)).toEqual([
    { ...what, held: 0, waiting: 0, closedMs: 700 },
  ]);
  expect(shown({ ...openThrottle, nextAt: now + 20 }, now)).toMatchObject([{ nextMs: 20 }]);
  expect(shown({ ...openThrottle, paused }, now)).toMatchObject([{ paused }]);
  expect(shown({ ...openThrottle, notBefore: now, nextAt: now - 5 }, now)).toEqual([]);
});

test("what is no entry, or no throttle's, is passed over", () => {
  const data = encodeJson({ ...openThrottle, paused: { at: 1, by: "ana" } });
  expect(
    standingOf(
      [
        { key: "tool.charge", data: Buffer.from("{") },
        { key: "nothing", data },
        { key: "tool.charge.more", data },
      ],
      0,
    ),
  ).toEqual([]);
});
