/**
 * Goal: whoever dies, whatever fails, and whoever is told of it in what order, each booking of the journey stands with
 * its compensation registered or was given back once.
 * Method: a death on each side of every write of the journey's own ledger (kills.e2e.test.ts); deaths anywhere, of agents and validators
 * and their workers, at random, in the middle of random failures; and two reports at any two moments, on the ledger
 * alone. What is held is asked of the outside.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { given, signalled, started, type Story } from "sagamesh/testing";
import type { SagaEnd } from "sagamesh";
import { openTestMesh } from "../../../services/testing/test-mesh.ts";
import { stateOf } from "../../support/state-of.ts";
import type { WorkflowContext } from "../../../actors/workflow/spec.ts";
import { placeOf } from "./agents.ts";
import { createOutside, heldAt, type Outside } from "./outside.ts";
import { drained, nodeOf, step, undoneIn } from "./story.ts";
import { createTravel } from "./travel.ts";
import { atOnce } from "../../../services/wire/loop.ts";

const all = ["T1", "T2", "T3", "T4", "T5"] as const;
const nodeAt = (place: string) => all.find((node) => placeOf[node]?.place === place);

/** At the end of anything: held is what stands, with its compensation registered; all else was given back once. */
async function expectWhole(
  { app, outside }: Pick<ReturnType<typeof createTravel>, "app" | "outside">,
  t: ReturnType<typeof openTestMesh>,
  end: SagaEnd<unknown>,
): Promise<void> {
  const turns = await t.anySaga("trip-1").ledger();
  const operation = atOnce(stateOf(app, turns, "operation"));
  if (operation.dimension !== "operation") throw new Error("another dimension");
  const runs = operation.transactions.filter(({ call = "" }) => call.startsWith("T"));
  const registered = runs.filter(({ recovery }) => recovery === "registered").map(({ node }) => node);
  const undone = runs.filter(({ recovery }) => recovery === "undone").map(({ node }) => node);
  expect(heldAt(outside).map(nodeAt).sort()).toEqual(registered.toSorted());
  expect(outside.cancelled.map(nodeAt).sort()).toEqual(undone.toSorted());
  expect(outside.entries()).toHaveLength(registered.length + undone.length);
  expect(registered.toSorted()).toEqual(end.status === "completed" ? [...all] : []);
  // Of one undoing the last first: a later node is never given back after one that it rests on.
  const back = outside.cancelled.map((place) => Number(nodeAt(place)?.slice(1)));
  const isSecond = back.some((node, k) => back.indexOf(node) < k);
  if (!isSecond && end.status !== "completed") expect(back).toEqual(back.toSorted((a, b) => b - a));
}

describe("any journey", () => {
  /** Who fails or is taken back, and at which write of all who dies. */
  const troubles = fc.record({
    which: fc.constantFrom(...all),
    how: fc.constantFrom("refused", "taken back", "taken back for good"),
    dies: fc.record({
      ...{ role: fc.constantFrom("host", "worker"), at: fc.integer({ min: 1, max: 150 }) },
      when: fc.constantFrom("before", "after"),
    }),
  });

  test(
    "ends with all of it held or none, each booking given back at most once, whoever dies",
    { timeout: 120_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(troubles, async ({ which, how, dies }) => {
          const { travel, app, outside } = createTravel(createOutside());
          let writes = 0;
          const trouble = watchFor(outside, how, which);
          await using t = openTestMesh(
            app,
            {},
            {
              crashesAt: (role, port, method, when) =>
                role === dies.role &&
                (method === "append" || method === "publish" || port === "claims") &&
                when === dies.when &&
                ++writes === dies.at,
            },
          );
          const saga = await t.start(travel, { open_for_days: 1 }, { id: "trip-1" });
          const booking = trouble();
          if (booking !== undefined)
            await saga.signal("cancelled", {
              booking,
              place: placeOf[which]!.place,
              by: "it",
              reason: "a strike",
              on: "2025-05-20",
            });
          await expectWhole({ app, outside }, t, await saga.result());
        }),
        { numRuns: 8 },
      );
    },
  );
});

/** Lets the trouble come over the world, and says which booking is to be reported, if one is. */
function watchFor(outside: Outside, how: string, which: string): () => string | undefined {
  const place = placeOf[which]?.place ?? "";
  if (how === "refused") outside.refuse(place);
  return () => {
    const { reference } = outside.entries().find((entry) => entry.place === place) ?? {};
    if (how === "refused" || reference === undefined) return undefined;
    outside.withdraw(reference, how === "taken back for good");
    return reference;
  };
}

const report = (node: string) =>
  signalled("cancelled", {
    ...{ booking: `${node}.1`, place: placeOf[node]!.place },
    ...{ by: "its provider", reason: "a strike", on: "2025-05-20" },
  });
const nodesOf = (story: Story) => (story.state.snapshot.context as WorkflowContext).nodes;

/** All five stand in the end, what was given back was so once, before what it rested on, and stands no more. */
function expectMended(story: Story, what: string): void {
  const undone = undoneIn(story.turns);
  expect(new Set(undone).size, what).toBe(undone.length);
  const standing = Object.values(nodesOf(story)).map(({ status, call }) =>
    status === "committed" ? call : status,
  );
  expect(standing.map(nodeOf), what).toEqual([...all]);
  for (const call of standing) expect(undone, what).not.toContain(call);
  const first = undone.filter((call) => call.endsWith(".1"));
  expect(first, what).toEqual(first.toSorted().reverse());
}

describe("two reports", () => {
  const { travel } = createTravel(createOutside());
  const begun = given(travel, started({ open_for_days: 30 }));
  const booked = drained(begun);

  /** One, so many steps, the other, and all that follows. */
  const told = (one: string, other: string, apart: number): Story => {
    let story = booked.when(report(one));
    for (let k = 0; k < apart; k++) story = step(story) ?? story;
    return drained(story.when(report(other)));
  };

  test.each([
    ["T3", "T5"],
    ["T2", "T4"],
  ])("of %s and %s, in either order and at any moments, undo each booking once", (early, late) => {
    const falls = all.filter((node) => node >= early).map((node) => `${node}.1`);
    for (const [one, other] of [
      [early, late],
      [late, early],
    ] as const)
      for (const apart of [0, 1, 2, 4, 9]) {
        const story = told(one, other, apart);
        expectMended(story, `${one}, ${apart} steps, ${other}`);
        expect(undoneIn(story.turns).filter((call) => call.endsWith(".1"))).toEqual(falls.toReversed());
      }
  });

  test("of one and the same booking undo it once", () => {
    for (const apart of [0, 1, 4, 12])
      expect(undoneIn(told("T4", "T4", apart).turns)).toEqual(["T5.1", "T4.1"]);
  });

  test("while the journey is still being booked, of what is still judged too, leave none of it standing", () => {
    fc.assert(
      fc.property(fc.nat(30), fc.nat(4), fc.nat(8), fc.nat(4), (steps, one, apart, other) => {
        let story: Story = begun;
        const reported = new Set<string>();
        const tell = (which: number) => {
          // What has been asked for may have been booked, and may be taken back before we know that it was.
          const made = all.filter((node) => (nodesOf(story)[node]?.tries ?? 0) === 1);
          const node = made[which % Math.max(1, made.length)];
          if (node === undefined) return;
          story = story.when(report(node));
          reported.add(`${node}.1`);
        };
        for (let k = 0; k < steps; k++) story = step(story) ?? story;
        tell(one);
        for (let k = 0; k < apart; k++) story = step(story) ?? story;
        tell(other);
        story = drained(story);
        expectMended(story, "mended");
        for (const call of reported)
          expect(Object.values(nodesOf(story)).map((node) => node.call)).not.toContain(call);
      }),
      { numRuns: 12, examples: [[1, 0, 0, 0]] },
    );
  });
});
