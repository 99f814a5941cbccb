/**
 * Goal: of two runs that share their first turns the first difference is found, and what must differ between any two runs is none.
 * Method: timelines of a few things, changed in one place.
 */
import { expect, test } from "vitest";
import type { TimelineItem } from "../../../../services/console/documents.ts";
import { besideEachOther } from "../../../../services/console/page/pairs.ts";

const item = (turn: number, more: Partial<TimelineItem> = {}): TimelineItem => ({
  ...{ id: `${turn}-0`, kind: "tool", label: "look_up", detail: '{"what":"x"}', turn, at: turn * 10 },
  ...{ settledTurn: turn + 1, changed: turn + 1, status: "succeeded", attempts: 1 },
  ...more,
});

const origin = [item(1), item(2, { kind: "decision", label: "decide", detail: "m" }), item(3), item(4)];

test("a run beside itself has no difference, and what both share is not shown again", () => {
  const { pairs, first } = besideEachOther(origin, origin, 2);
  expect(first).toBeUndefined();
  // Turn 2 asked for the decision, and what was said came after it.
  expect(pairs.map(({ ours }) => ours?.turn)).toEqual([2, 3, 4]);
});

test("other arguments, other words, another outcome and another thing are each found, and said", () => {
  const changes: readonly (readonly [Partial<TimelineItem>, string])[] = [
    [{ detail: '{"what":"y"}' }, "with"],
    [{ words: "No." }, "words"],
    [{ status: "failed" }, "outcome"],
    [{ label: "pay" }, "what"],
  ];
  for (const [change, differs] of changes) {
    const fork = origin.map((one) => (one.turn === 3 ? { ...one, ...change } : one));
    const { pairs, first } = besideEachOther(origin, fork, 2);
    expect({ first, differs: pairs[1]?.differs }).toEqual({ first: 1, differs: [differs] });
  }
});

test("a run that goes on alone differs from where the other one ends", () => {
  const { pairs, first } = besideEachOther(origin, origin.slice(0, 3), 2);
  expect(first).toBe(2);
  expect(pairs[2]).toMatchObject({ theirs: undefined, differs: ["what"] });
});

test("another model, another child's id, and hosts that took over are no difference", () => {
  const fork = [
    ...origin.map((one) => (one.kind === "decision" ? { ...one, detail: "another model" } : one)),
    item(5, { kind: "child", label: "porter", detail: "fork-porter-1" }),
  ];
  const own = [
    ...origin,
    item(4, { id: "host-4", kind: "takeover", label: "another host" }),
    item(5, { kind: "child", label: "porter", detail: "porter-1" }),
  ];
  expect(besideEachOther(own, fork, 1).first).toBeUndefined();
});

test("a decision that a fork asks anew stands beside the one that was answered", () => {
  const fork = [
    ...origin.slice(0, 1),
    { ...origin[1]!, status: "superseded" as const, settledTurn: 3 },
    item(3, { kind: "decision", label: "decide", detail: "another model", words: "No." }),
  ];
  const { pairs, first } = besideEachOther(origin, fork, 2);
  expect(first).toBe(0);
  expect(pairs[0]).toMatchObject({ ours: { turn: 2 }, theirs: { turn: 3 }, differs: ["words"] });
});

test("a call that only one of them made stands alone, and what both did after it is the same", () => {
  const fork = [...origin.slice(0, 2), item(3, { id: "3-9", label: "pay" }), ...origin.slice(2)];
  const { pairs, first } = besideEachOther(origin, fork, 2);
  expect(first).toBe(1);
  expect(pairs.map(({ ours, theirs, differs }) => [ours?.id, theirs?.id, differs])).toEqual([
    ["2-0", "2-0", []],
    [undefined, "3-9", ["what"]],
    ["3-0", "3-0", []],
    ["4-0", "4-0", []],
  ]);
});

test("arguments of which the beginning alone is told are told apart by their digest", () => {
  const long = '{"what":"the same beginning…';
  const [own, other] = ["d1", "d2"].map((args) => [item(3, { detail: long, args })]) as [
    TimelineItem[],
    TimelineItem[],
  ];
  expect(besideEachOther(own, other, 2)).toMatchObject({ first: 0, pairs: [{ differs: ["with"] }] });
  expect(besideEachOther(own, own, 2).first).toBeUndefined();
});

test("decisions in which nothing was said are paired by what came of them, and not by their silence", () => {
  const silent = (turn: number) => item(turn, { kind: "decision", label: `decision ${turn}`, detail: "m" });
  const own = [item(1), silent(2), item(3, { args: "a" }), silent(4), item(5, { args: "b" })];
  const fork = [item(1), silent(2), item(3, { args: "b" })];
  const { pairs } = besideEachOther(own, fork, 2);
  expect(pairs.map(({ ours, theirs }) => [ours?.turn, theirs?.turn])).toEqual([
    [2, 2],
    [3, undefined],
    [4, undefined],
    [5, 3],
  ]);
});
