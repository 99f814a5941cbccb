/**
 * Goal: long work gives way to all else of its process, and two long works hold it no longer than one.
 *
 * Method: a loop whose time and turns the test moves by hand; work that says how far it came.
 */
import { expect, test } from "vitest";
import { limits } from "../../../protocol/limits.ts";
import { createLoop, inPieces } from "../../../services/wire/loop.ts";

function loopByHand() {
  let now = 0;
  const turns: (() => void)[] = [];
  const loop = createLoop({ now: () => now, nextTurn: (act) => void turns.push(act) });
  return {
    loop,
    pass: (ms: number) => void (now += ms),
    /** The loop turns once; false if nothing waited for that. */
    turn: async () => {
      const due = turns.splice(0);
      for (const act of due) act();
      for (let k = 0; k < 20; k++) await Promise.resolve();
      return due.length > 0;
    },
  };
}

test("work goes on until it has held the loop for its slice, and then waits for the next turn", async () => {
  const { loop, pass, turn } = loopByHand();
  await Promise.all([loop.breathe(), turn()]);
  pass(limits.loopHeldMs - 1);
  expect(loop.breathe()).toBeUndefined();
  pass(1);
  const wait = loop.breathe();
  expect(wait).toBeInstanceOf(Promise);
  await turn();
  await wait;
  expect(loop.breathe()).toBeUndefined();
});

test("of several works one goes on in a turn of the loop, each in its turn, to the end of all", async () => {
  const { loop, pass, turn } = loopByHand();
  const done: string[] = [];
  function* work(name: string): Generator<undefined, string> {
    for (let k = 0; k < 4; k++) {
      done.push(name);
      pass(limits.loopHeldMs / 2);
      yield;
    }
    return name;
  }
  const all = Promise.all(["a", "b", "c"].map((name) => inPieces(loop, work(name))));
  const byTurn: string[] = [];
  do {
    for (let k = 0; k < 20; k++) await Promise.resolve();
    byTurn.push(done.splice(0).join(""));
  } while (await turn());
  expect(await all).toEqual(["a", "b", "c"]);
  expect(byTurn.join("")).toHaveLength(12);
  for (const pieces of byTurn.slice(1)) expect(new Set(pieces).size, byTurn.join(" ")).toBeLessThanOrEqual(1);
  expect(byTurn.slice(1, 4)).toEqual(["aa", "bb", "cc"]);
});

test("without a loop pieces are taken at once, one after the other", async () => {
  function* work(): Generator<undefined, number> {
    yield;
    yield;
    return 7;
  }
  expect(await inPieces(undefined, work())).toBe(7);
});
