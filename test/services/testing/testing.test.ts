/**
 * What `sagamesh/testing` gives to applications: time that is skipped, effects that can be asked for, and the
 * crash matrix, which finds nothing in a sound application and a planted double effect in an unsound one.
 *
 * Method: the trip booking example and small sagas of this file, on test meshes.
 */
import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { defineAgent, defineApp, defineSaga, defineTool, type SignalEvents, toActors } from "sagamesh";
import { crashMatrix, recordedModel, scriptedModel, testMesh } from "sagamesh/testing";
import purchaseApp, { purchase } from "../../examples/purchase.ts";
import {
  type Agency,
  bookFlight,
  bookHotel,
  bookTrip,
  cancelBooking,
  createTripApp,
} from "../../examples/trip-booking.ts";
import { createAgency, trip } from "../../support/agency.ts";

const signals = { go: z.object({}) };
const ring = defineTool({
  ...{ name: "ring", description: "rings once", effect: "once", onDoubt: "model" },
  ...{ input: z.object({}), output: z.object({}), perform: async () => ({}) },
});
const waiting = setup({
  types: { events: {} as SignalEvents<typeof signals> },
  actors: toActors({ ring }),
}).createMachine({
  ...{ id: "reminder", initial: "waiting" },
  states: {
    waiting: { after: { 259_200_000: "ringing" }, on: { go: "ringing" } },
    ringing: { invoke: { src: "ring", input: {}, onDone: "done", onError: "done" } },
    done: { type: "final" },
  },
});
const reminder = defineSaga({
  name: "reminder",
  version: 1,
  input: z.object({}),
  output: z.any(),
  signals,
  machine: waiting,
});
const reminders = defineApp({ sagas: [reminder] });

describe("test mesh", () => {
  test("three days pass in no time, and the timer fires when it is due", async () => {
    await using t = testMesh(reminders);
    const saga = await t.start(reminder, {}, { id: "r1" });
    const begun = performance.now();
    await t.advance("2d 23h 59m");
    expect(t.effects(ring)).toEqual([]);
    await t.advance("2m");
    expect(t.effects(ring)).toHaveLength(1);
    expect(performance.now() - begun).toBeLessThan(60_000);
    expect(await saga.end()).toMatchObject({ status: "completed" });
  });

  test("a signal ends the waiting at once", async () => {
    await using t = testMesh(reminders);
    const saga = await t.start(reminder, {}, { id: "r1" });
    await saga.signal("go", {});
    const [call] = t.effects("ring");
    expect(call).toMatchObject({ tool: "ring", saga: "r1", attempt: 1, ended: "returned" });
    expect(call!.at - Date.UTC(2026, 0, 1)).toBeLessThan(1_000);
    const kinds = (await t.anySaga("r1").ledger()).flatMap(({ steps }) =>
      steps.map(({ event }) => event.type),
    );
    expect(kinds).toEqual(["start", "signal", "result"]);
  });

  test("a result that does not come is an error that says so", async () => {
    await using t = testMesh(reminders);
    const saga = await t.start(reminder, {});
    await expect(saga.result({ within: "1d" })).rejects.toThrow(/has not ended within 1d/);
    await expect(saga.result()).resolves.toMatchObject({ status: "completed" });
  });

  test("host and worker die, and the saga goes on", async () => {
    const { agency, booked } = createAgency();
    await using t = testMesh(createTripApp(agency));
    const saga = await t.start(bookTrip, trip);
    await t.crash();
    expect(await saga.result()).toMatchObject({
      status: "completed",
      output: { bookings: ["book_flight-1", "book_hotel-1", "book_car-1"] },
    });
    expect(booked.size).toBe(3);
  });

  test("a refused booking undoes the ones before it, the last first", async () => {
    const { agency, cancelled } = createAgency("book_car");
    await using t = testMesh(createTripApp(agency));
    expect(await (await t.start(bookTrip, trip)).result()).toMatchObject({ status: "failed", standing: [] });
    expect(cancelled).toEqual(["book_hotel", "book_flight"]);
    expect(t.effects(cancelBooking)).toHaveLength(2);
    expect(t.effects(bookFlight)).toHaveLength(1);
    expect(t.effects(bookHotel)).toHaveLength(1);
  });

  test("a scripted model decides, a human is asked, and the answer reaches it", async () => {
    const agent = defineAgent({
      ...{ name: "asker", version: 1, description: "asks", model: "script", instructions: "Ask." },
      ...{ input: z.object({}), output: z.object({ heard: z.string() }), signals: {}, tools: [] },
    });
    const script = scriptedModel("script", ({ step, messages }) => {
      if (step === 1) return { calls: [{ tool: "ask", input: { question: "which?" } }] };
      const last = messages.at(-1);
      const part = last?.role === "user" ? last.parts.find((one) => one.type === "result") : undefined;
      return { calls: [{ tool: "finish", input: { output: { heard: part?.output as string } } }] };
    });
    await using t = testMesh(defineApp({ sagas: [agent] }), { models: { script } });
    const saga = await t.start(agent, {});
    const [task] = await t.tasks();
    expect(task).toMatchObject({ about: "question", question: "which?" });
    await t.vote(task!, { vote: "answer", answer: "the left one" });
    expect(await saga.result()).toEqual({
      status: "completed",
      output: { heard: "the left one" },
      standing: [],
    });
  });

  test("a recorded model decides again what a ledger holds, and nothing else", async () => {
    const order = { item: "a press", supplier: "Ada", cents: 900 };
    const run = async (models: Parameters<typeof testMesh>[1] = {}, cents = order.cents) => {
      await using t = testMesh(purchaseApp, models);
      await t.advance("3h"); // Another time, so other messages word for word.
      const saga = await t.start(purchase, { ...order, cents }, { id: `p-${cents}` });
      return { end: await saga.result(), ledger: await saga.ledger() };
    };
    const { end, ledger } = await run();
    const again = await run({ models: { buyer: recordedModel(ledger) } });
    expect(again.end).toEqual(end);
    expect((await run({ models: { buyer: recordedModel([ledger], { of: purchase }) } })).end).toEqual(end);
    const other = await run({ models: { buyer: recordedModel(ledger, { of: purchase }) } }, 901);
    expect(other.end).toMatchObject({ status: "failed", reason: expect.stringContaining("its messages") });
    const short = await run({ models: { buyer: recordedModel(ledger.slice(0, 2)) } });
    expect(short.end).toMatchObject({
      reason: expect.stringContaining("holds no reply to decision 2 of saga p-900"),
    });
  });

  test("hosts of another application take the place of those that run, and sagas are moved to it", async () => {
    const v2 = defineSaga({ ...reminder, name: "reminder", version: 2, machine: waiting });
    const next = defineApp({ sagas: [v2] });
    await using t = testMesh(reminders);
    const saga = await t.start(reminder, {}, { id: "r1" });
    await t.serve(next);
    expect(await t.migrate(next)).toMatchObject([{ saga: "r1", verdict: "moved" }]);
    expect(await saga.result()).toMatchObject({ status: "completed" });
    expect(t.effects(ring)).toHaveLength(1);
  });

  test("an answer from outside ends a deferred call", async () => {
    let callback = "";
    const wire = defineTool({
      ...{
        name: "wire",
        description: "is answered later",
        effect: "idempotent",
        input: z.object({}),
        output: z.object({ ref: z.string() }),
      },
      perform: async (_, { defer, callbackUrl }) => {
        callback = callbackUrl;
        return defer({ withinMs: 3_600_000 });
      },
    });
    const machine = setup({ actors: toActors({ wire }) }).createMachine({
      ...{ id: "wiring", initial: "open" },
      states: {
        open: { invoke: { src: "wire", input: {}, onDone: "closed", onError: "failed" } },
        closed: { type: "final" },
        failed: { type: "final", tags: "failed" },
      },
    });
    const wiring = defineSaga({
      name: "wiring",
      version: 1,
      input: z.object({}),
      output: z.any(),
      signals: {},
      machine,
    });
    await using t = testMesh(defineApp({ sagas: [wiring] }));
    const answered = await t.start(wiring, {});
    await t.advance("10m");
    expect(await answered.end()).toBeUndefined();
    await t.settle(callback, { succeeded: { ref: "W1" } });
    expect(await answered.end()).toMatchObject({ status: "completed" });
    const forgotten = await t.start(wiring, {});
    expect(await forgotten.result()).toMatchObject({ status: "failed" });
  });

  test("the same seed makes the same ledger, byte for byte", async () => {
    const ledgerOf = async (seed: number) => {
      await using t = testMesh(createTripApp(createAgency("book_car").agency), { seed });
      await (await t.start(bookTrip, trip, { id: "t1" })).result();
      return await t.anySaga("t1").ledger();
    };
    expect(await ledgerOf(5)).toEqual(await ledgerOf(5));
  });
});

describe("crash matrix", () => {
  test("the trip booking neither doubles nor loses an effect, wherever a process dies", async () => {
    for (const refuses of [undefined, "book_car"]) {
      const { agency, booked, cancelled, clear } = createAgency(refuses);
      const report = await crashMatrix(createTripApp(agency), async (t) => {
        clear();
        await (await t.start(bookTrip, trip, { id: "trip-1" })).result();
        return { booked: [...booked.values()], cancelled };
      });
      expect(report.rows.length).toBeGreaterThan(20);
      expect(report.faults, report.text).toEqual([]);
    }
  });

  test("an idempotent tool that ignores its key is found, with the crash that shows it", async () => {
    let charges = 0;
    const charge = defineTool({
      ...{ name: "charge", description: "says idempotent and is not", effect: "idempotent" },
      ...{
        input: z.object({}),
        output: z.object({ receipt: z.number() }),
        perform: async () => ({ receipt: ++charges }),
      },
    });
    const machine = setup({ actors: toActors({ charge }) }).createMachine({
      ...{ id: "shop", initial: "paying" },
      states: { paying: { invoke: { src: "charge", input: {}, onDone: "paid" } }, paid: { type: "final" } },
    });
    const shop = defineSaga({
      name: "shop",
      version: 1,
      input: z.object({}),
      output: z.any(),
      signals: {},
      machine,
    });
    const report = await crashMatrix(defineApp({ sagas: [shop] }), async (t) => {
      charges = 0;
      await (await t.start(shop, {}, { id: "s1" })).result();
      return charges;
    });
    expect(report.faults.map(({ crash }) => crash)).toContain("worker inbox.publish 1 before");
    expect(report.text).toContain("seed 1");
    expect(report.text).toMatch(/doubled charge \{\}: done 2 times under the key s1\.\w+\.\w+/);
    const [fault] = report.faults;
    const alone = await crashMatrix(
      defineApp({ sagas: [shop] }),
      async (t) => {
        charges = 0;
        await (await t.start(shop, {}, { id: "s1" })).result();
        return charges;
      },
      { only: fault!.crash },
    );
    expect(alone.rows).toEqual([fault]);
  });

  test("the trip booking whose agency forgets its keys books twice, and the report says where", async () => {
    const { agency, booked, cancelled, clear } = createAgency();
    let bookings = 0;
    const planted: Agency = {
      ...agency,
      reserve: async (what, context) => {
        await agency.reserve(what, context);
        return { bookingId: `${what}-${++bookings}` };
      },
      find: async () => undefined,
    };
    const report = await crashMatrix(
      createTripApp(planted),
      async (t) => {
        clear();
        bookings = 0;
        await (await t.start(bookTrip, trip, { id: "trip-1" })).result();
        return { booked: [...booked.values()], cancelled };
      },
      { seed: 7 },
    );
    expect(report.text).toMatch(/^seed 7: \d+ crashes, [1-9]\d* with a fault/);
    expect(report.text).toMatch(/doubled book_flight .*: done 2 times under the key trip-1\./);
  });

  test("an agent and its sub-agent neither double nor lose an effect, wherever a process dies", async () => {
    const seats = new Map<string, string>();
    const book = defineTool({
      ...{ name: "book", description: "books a seat", effect: "idempotent" },
      ...{ input: z.object({ to: z.string() }), output: z.object({ seat: z.string() }) },
      perform: async ({ to }, { key }) => {
        seats.set(key, to);
        return { seat: `${to}-1A` };
      },
    });
    const input = z.object({ to: z.string() });
    const common = {
      version: 1,
      description: "books",
      input,
      output: z.object({ done: z.boolean() }),
      signals: {},
    };
    const clerk = defineAgent({
      ...{ ...common, name: "clerk", model: "clerk", instructions: "Book." },
      tools: [book],
    });
    const lead = defineAgent({
      ...{ ...common, name: "lead", model: "lead", instructions: "Delegate.", tools: [] },
      agents: [clerk],
    });
    const doing = (tool: string, inputs: readonly string[]) =>
      scriptedModel(tool, ({ step }) => ({
        calls:
          step === 1
            ? inputs.map((to) => ({ tool, input: { to } }))
            : [{ tool: "finish", input: { output: { done: true } } }],
      }));
    const models = { lead: doing("clerk", ["rome", "oslo"]), clerk: doing("book", ["there"]) };
    const report = await crashMatrix(defineApp({ sagas: [lead], models }), async (t) => {
      seats.clear();
      const end = await (await t.start(lead, { to: "both" }, { id: "l1" })).result();
      return { end, seats: [...seats.values()], sagas: (await t.list()).length };
    });
    expect(report.faults, report.text).toEqual([]);
    const appends = new Set(
      report.rows.map(({ crash }) => crash).filter((crash) => crash.startsWith("host ledger.append")),
    );
    // Each turn of the lead and of both clerks, before and after.
    expect(appends.size).toBeGreaterThanOrEqual(2 * (3 + 2 * 4));
  });

  test("a payment that people approve is made once, wherever a process dies", async () => {
    const order = { item: "a press", supplier: "Ada", cents: 90_000 };
    const report = await crashMatrix(purchaseApp, async (t) => {
      const saga = await t.start(purchase, order, { id: "p1" });
      const [task] = await t.tasks();
      await t.vote(task!, { vote: "approve", by: "lea", as: "team_lead" });
      const end = await saga.result();
      return end.status === "completed" ? end.output : end.status;
    });
    expect(report.rows.some(({ crash }) => crash.startsWith("worker claims.create"))).toBe(true);
    expect(report.faults, report.text).toEqual([]);
  });

  test("a once effect is never doubled: where nobody can know, it is in doubt", async () => {
    const report = await crashMatrix(reminders, async (t) => {
      const saga = await t.start(reminder, {}, { id: "r1" });
      await saga.signal("go", {});
      await saga.result();
    });
    expect(report.faults, report.text).toEqual([]);
    expect(report.rows.filter(({ inDoubt }) => inDoubt.length > 0).length).toBeGreaterThan(0);
  });
});
