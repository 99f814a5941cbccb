/**
 * Goal: a program is told of sagas what `ls` and `inspect` tell a person. Method: sagas of an example on the mesh in
 * memory, listed and described by the client that `testMesh` and `connect` have in common.
 */
import type { SagaDescription } from "sagamesh";
import { testMesh } from "sagamesh/testing";
import { expect, test } from "vitest";
import app, { weekend } from "../../examples/weekend.ts";

async function withTwo(work: (t: ReturnType<typeof testMesh>) => Promise<void>): Promise<void> {
  await using t = testMesh(app);
  await (await t.start(weekend, { guest: "ana", cents: 40_000 }, { id: "ana" })).result();
  await (await t.start(weekend, { guest: "ben", cents: 90_000 }, { id: "ben" })).result();
  await work(t);
}

test("every saga is a row, the one that changed last comes last, and all conditions of a filter must hold", () =>
  withTwo(async (t) => {
    expect(await t.list()).toMatchObject([
      { saga: "ana", name: "weekend", status: "completed", waitsFor: [] },
      { saga: "ben", name: "weekend", status: "failed" },
    ]);
    const idsOf = async (filter: Parameters<typeof t.list>[0]) =>
      (await t.list(filter)).map(({ saga }) => saga);
    expect(await idsOf({ query: "status=failed" })).toEqual(["ben"]);
    expect(await idsOf({ query: "status=failed", name: "other" })).toEqual([]);
    expect(await idsOf({ running: true })).toEqual([]);
  }));

test("a saga is described as it is, or as it was after an earlier turn", () =>
  withTwo(async (t) => {
    const now: SagaDescription = await t.describe("ana");
    expect(now).toMatchObject({ saga: "ana", status: "completed", end: { status: "completed" }, open: [] });
    expect(now.asOf).toBeUndefined();
    expect(await t.describe("ana", { turn: 1 })).toMatchObject({
      status: "running",
      open: ["1-0"],
      asOf: { turn: 1, of: now.turns },
    });
    expect((await t.describe("ana", { app })).machine).toMatchObject({ value: "booked" });
  }));

test.each([
  ["a filter that is misspelt", { runing: true }, "USAGE", 'there is no "runing"'],
  ["a filter that is no object", null, "USAGE", "its options are one object"],
  ["a query that cannot be read", { query: "status is failed" }, "USAGE", "is not FIELD OPERATOR VALUE"],
])("%s is refused, and lists nothing", async (_case, filter, code, says) => {
  await using t = testMesh(app);
  await expect(t.list(filter as never)).rejects.toMatchObject({
    code,
    message: expect.stringContaining(says) as string,
  });
});

test.each([
  ["of no saga", "nobody", {}, "SAGA_UNKNOWN"],
  ["by what is no id", "No Body", {}, "BAD_ID"],
  ["of a turn that there is not", "ana", { turn: 99 }, "TURN_UNKNOWN"],
])("a description %s is refused by a code", (_case, saga, options, code) =>
  withTwo(async (t) => {
    await expect(t.describe(saga, options)).rejects.toMatchObject({ code });
  }),
);
