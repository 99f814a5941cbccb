/**
 * Goal: what a ledger tells of pause and flags without its definition is what its fold says; and rows stand as trees.
 * Method: random stories, their turns against their folded state; small forests.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inTrees } from "../../../services/views/children.ts";
import { accountOf } from "../../../services/ledger/account-reader.ts";
import { steeringOf } from "../../../services/views/steering-view.ts";
import { given, replied, signalled, started } from "../../../services/testing/given.ts";
import { agentOf, call, finish, hold, sequence } from "../../support/workbench.ts";

const happening = fc.constantFrom(
  signalled("pause", "one", { from: "ana" }),
  signalled("pause", null, { from: "ben" }),
  signalled("resume"),
  signalled("flagged", "bad", { from: "watcher" }),
  signalled("flagged", { reason: "worse", by: "other", severity: "low" }),
  signalled("cancel"),
  signalled("rate_limited", 5),
);

describe("what a ledger tells of its steering", () => {
  test.each([
    ["an agent", agentOf()],
    ["an agent that a flag pauses", agentOf({ whenFlagged: "pause" })],
    ["a machine", sequence(hold, hold)],
  ])("of %s is what its fold says", (_, saga) => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 8 }), (happenings) => {
        const story = given(saga, started({ of: "x" }), ...happenings);
        const { paused, flags } = story.state;
        expect(steeringOf(accountOf(story.turns))).toEqual({
          ...(paused === undefined ? {} : { paused }),
          ...(flags === undefined ? {} : { flags }),
        });
      }),
      { numRuns: 60 },
    );
  });

  test("is no pause once the saga has ended", () => {
    const agent = agentOf();
    const story = given(
      agent,
      started({ of: "x" }),
      signalled("pause"),
      replied({ calls: [call("wait", {})] }),
    );
    expect(steeringOf(accountOf(story.turns)).paused).toBeDefined();
    expect(steeringOf(accountOf(story.when(signalled("cancel")).turns)).paused).toBeUndefined();
    expect(steeringOf(accountOf(given(agent, started({ of: "x" }), replied(finish)).turns))).toEqual({});
  });
});

describe("rows in trees", () => {
  const row = (saga: string, parent?: string) => ({
    saga,
    ...(parent === undefined ? {} : { parent: { saga: parent } }),
  });
  const shown = (...rows: ReturnType<typeof row>[]) =>
    inTrees(rows).map(({ row: { saga }, depth }) => `${"-".repeat(depth)}${saga}`);

  test("stand behind their parents in the order given, however deep, whatever order they come in", () => {
    const rows = [row("leaf", "b"), row("a", "root"), row("root"), row("b", "root"), row("alone")];
    expect(shown(...rows)).toEqual(["root", "-a", "-b", "--leaf", "alone"]);
  });

  test("whose parent is not among them stand at the top", () => {
    expect(shown(row("orphan", "gone"), row("child", "orphan"))).toEqual(["orphan", "-child"]);
  });

  test("are each told once, even where ledgers claim to be each other's parents", () => {
    expect(
      shown(row("a", "b"), row("b", "a"), row("c"))
        .map((line) => line.replaceAll("-", ""))
        .sort(),
    ).toEqual(["a", "b", "c"]);
  });

  test("a hundred thousand deep do not overflow", () => {
    const rows = Array.from({ length: 100_000 }, (_, k) => row(`s${k}`, k === 0 ? undefined : `s${k - 1}`));
    expect(inTrees(rows)).toHaveLength(100_000);
  });
});
