/**
 * Goal: a workflow whose third booking is too small holds nothing in the end, whoever dies at whatever write.
 * Method: the example on a test mesh, as it is and in the crash matrix; what the desk holds is asked of the desk.
 */
import { describe, expect, test } from "vitest";
import { defineApp, defineTool, NotPerformed } from "sagamesh";
import { defineWorkflow } from "sagamesh/workflow";
import { crashMatrix, testMesh } from "sagamesh/testing";
import { z } from "zod";
import { viewOf } from "../../services/views/view.ts";
import { createOffsite } from "./three-bookings.ts";

const offsiteWith = (largestHall: number) =>
  createOffsite({ held: new Map(), known: new Map() }, largestHall);

describe("three bookings", () => {
  test("are all held where the hall is large enough", async () => {
    const { offsite, app, desk } = offsiteWith(20);
    await using t = testMesh(app);
    const saga = await t.start(offsite, { people: 12, city: "BER" });
    expect(await saga.result()).toMatchObject({ status: "completed", output: { hall: { places: 12 } } });
    expect([...desk.held.values()].map(({ of }) => of).sort()).toEqual(["flight", "hall", "rooms"]);
  });

  test("hold nothing in the end where the hall is too small", async () => {
    const { offsite, app, desk } = offsiteWith(10);
    await using t = testMesh(app);
    const saga = await t.start(offsite, { people: 12, city: "BER" });
    expect(await saga.result()).toMatchObject({
      status: "failed",
      reason: "hall: the largest hall left has 10 places, not 12",
      standing: [],
    });
    expect([...desk.held.values()]).toEqual([]);
    expect(desk.known.size).toBe(2);
    expect(t.effects("release")).toHaveLength(2);
  });

  test("hold nothing and release each booking once, with one death at each write of host and worker", async () => {
    const { offsite, app, desk } = offsiteWith(10);
    const report = await crashMatrix(app, async (t) => {
      desk.held.clear();
      desk.known.clear();
      const saga = await t.start(offsite, { people: 12, city: "BER" }, { id: "offsite-1" });
      const { status } = await saga.result();
      return { status, held: [...desk.held.values()].map(({ of }) => of), booked: desk.known.size };
    });
    expect(report.faults, report.text).toEqual([]);
    expect(report.rows.filter(({ crash }) => crash.startsWith("host ledger.append")).length).toBeGreaterThan(
      8,
    );
  });

  test("are released once and booked anew where the outside takes one back, with one death at each write", async () => {
    const { offsite, app, desk } = createOffsite({ held: new Map(), known: new Map() }, 20, {
      onFailure: "replan",
      openForMs: 3_600_000,
    });
    const report = await crashMatrix(app, async (t) => {
      desk.held.clear();
      desk.known.clear();
      const saga = await t.start(offsite, { people: 12, city: "BER" }, { id: "offsite-1" });
      await t.settled();
      await saga.signal("invalidate", { node: "rooms", reason: "the hotel burnt down" });
      await saga.signal("invalidate", { node: "rooms", reason: "the hotel burnt down" });
      await t.settled();
      await saga.signal("conclude", {});
      const { status } = await saga.result();
      return { status, held: [...desk.held.values()].map(({ of }) => of).sort(), booked: desk.known.size };
    });
    expect(report.faults, report.text).toEqual([]);
    expect(report.rows.length).toBeGreaterThan(30);
  });
});

describe("a compensation that is a saga of its own", () => {
  const account = { held: 0, paid: new Set<string>(), refunds: [] as string[] };
  const anything = { input: z.json(), output: z.json() };
  const pay = defineTool({
    ...{ name: "pay", description: "Pays.", effect: "idempotent", ...anything },
    perform: async (_, { key }) => {
      if (!account.paid.has(key)) account.held += 1;
      account.paid.add(key);
      return { receipt: "r-1" };
    },
  });
  const refund = defineTool({
    ...{
      name: "refund",
      description: "Refunds.",
      effect: "idempotent",
      input: z.object({ receipt: z.string() }),
    },
    ...{ output: z.json(), compensation: "point_of_no_return" },
    perform: async ({ receipt }, { key }) => {
      if (!account.refunds.includes(key)) account.held -= 1;
      account.refunds.push(key);
      return { receipt };
    },
  });
  const refunding = defineWorkflow({
    ...{ name: "refunding", version: 1, input: z.object({ receipt: z.string() }) },
    nodes: { give: { run: refund } },
  });
  const full = defineTool({
    ...{ name: "full", description: "Is full.", effect: "idempotent", ...anything },
    compensation: "point_of_no_return",
    perform: async () => {
      throw new NotPerformed("full", { retry: false });
    },
  });
  const buying = defineWorkflow({
    ...{ name: "buying", version: 1, input: z.object({}) },
    nodes: {
      paid: {
        run: pay,
        compensation: { run: refunding, input: ({ output }) => output },
      },
      seat: { run: full, after: ["paid"] },
    },
  });

  test("undoes once, with one death at each write, and the end says that nothing stands", async () => {
    const report = await crashMatrix(defineApp({ sagas: [buying] }), async (t) => {
      account.held = 0;
      account.paid.clear();
      account.refunds = [];
      const saga = await t.start(buying, {}, { id: "buying-1" });
      const { status, standing } = await saga.result();
      return { status, standing, held: account.held };
    });
    expect(report.faults, report.text).toEqual([]);
    expect(report.rows.length).toBeGreaterThan(20);
    await using t = testMesh(defineApp({ sagas: [buying] }));
    await (await t.start(buying, {}, { id: "buying-1" })).result();
    expect(viewOf(await t.anySaga("buying-1").ledger()).effects).toEqual([]);
    expect(account.held).toBe(0);
  });
});
