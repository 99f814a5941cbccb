/**
 * What `sagamesh/testing` gives to applications: time that is skipped, effects that can be asked for, and the
 * crash matrix, which finds nothing in a sound application and a planted double effect in an unsound one.
 *
 * Method: the trip booking example and small sagas of this file, on test meshes.
 */
import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import {
  defineAgent,
  defineApp,
  defineSaga,
  defineTool,
  NotPerformed,
  type SignalEvents,
  toActors,
} from "sagamesh";
import { crashMatrix, scriptedModel, testMesh } from "sagamesh/testing";
import {
  type Agency,
  bookFlight,
  bookHotel,
  bookTrip,
  cancelBooking,
  createTripApp,
} from "../examples/trip-booking.ts";

const trip = { traveller: "ada", to: "LIS", deadlineMs: 60_000 };

/** An agency that keeps its own account and remembers keys, as a real one must. */
function createAgency(refuses?: string, isReady: (what: string) => Promise<unknown> = async () => undefined) {
  const booked = new Map<string, string>();
  /** Also what was cancelled since: a key that was used stays used. */
  const known = new Map<string, string>();
  const cancelled: string[] = [];
  const agency: Agency = {
    reserve: async (what, { key }) => {
      if (what === refuses) throw new NotPerformed(`no ${what} left`, { retry: false });
      await isReady(what);
      booked.set(key, what);
      known.set(key, what);
      return { bookingId: `${what}-1` };
    },
    find: async (key) => {
      const what = known.get(key);
      return what === undefined ? undefined : { bookingId: `${what}-1` };
    },
    cancel: async ({ madeWithKey }) => {
      const what = booked.get(madeWithKey);
      if (what !== undefined) cancelled.push(what); // The second time there is nothing to cancel.
      booked.delete(madeWithKey);
    },
  };
  return { agency, booked, cancelled, clear: () => [booked.clear(), known.clear(), cancelled.splice(0)] };
}

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
    expect(performance.now() - begun).toBeLessThan(2_000);
    expect(await saga.end()).toMatchObject({ status: "completed" });
  });

  test("a signal ends the waiting at once", async () => {
    await using t = testMesh(reminders);
    const saga = await t.start(reminder, {}, { id: "r1" });
    await t.signal(saga, "go", {});
    const [call] = t.effects("ring");
    expect(call).toMatchObject({ tool: "ring", saga: "r1", attempt: 1, ended: "returned" });
    expect(call!.at - Date.UTC(2026, 0, 1)).toBeLessThan(1_000);
    const kinds = (await t.ledger("r1")).flatMap(({ steps }) => steps.map(({ event }) => event.type));
    expect(kinds).toEqual(["start", "signal", "result"]);
  });

  test("a result that does not come is an error that says so", async () => {
    await using t = testMesh(reminders);
    const saga = await t.start(reminder, {});
    await expect(saga.result({ within: "1d" })).rejects.toThrow(/has not ended within 1d/);
    await expect(t.result(saga)).resolves.toMatchObject({ status: "completed" });
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
    await using t = testMesh(defineApp({ agents: [agent] }), { models: { script } });
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
      return await t.ledger("t1");
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

  test(
    "a booking that succeeds after the deadline is cancelled first, wherever a process dies",
    { timeout: 300_000 },
    async () => {
      let now = () => 0;
      const scene = { isOver: false };
      /**
       * When the agency is ready, from the start. A takeover costs more than half a minute: the deadline, at 45 s,
       * finds the car in flight wherever a process died before.
       */
      const readyAfterMs: Record<string, number> = { book_hotel: 25_000, book_car: 50_000 };
      const isReady = async (what: string) => {
        while (now() < (readyAfterMs[what] ?? 0) && !scene.isOver) await new Promise(setImmediate);
      };
      const { agency, booked, cancelled, clear } = createAgency(undefined, isReady);
      const ends: unknown[] = [];
      const report = await crashMatrix(createTripApp(agency), async (t) => {
        clear();
        const begun = t.now();
        now = () => t.now() - begun;
        scene.isOver = false;
        try {
          const saga = await t.start(bookTrip, { ...trip, deadlineMs: 45_000 }, { id: "trip-1" });
          const end = await saga.result();
          ends.push(end);
          return { end, booked: [...booked.values()], cancelled: [...cancelled] };
        } finally {
          scene.isOver = true;
        }
      });
      expect(ends[0]).toMatchObject({ status: "failed", reason: "the deadline passed", standing: [] });
      expect(cancelled).toEqual(["book_car", "book_hotel", "book_flight"]);
      expect(report.rows.length).toBeGreaterThan(20);
      expect(report.faults, report.text).toEqual([]);
    },
  );

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
    expect(report.text).toMatch(/doubled charge \{\}: done 2 times under the key s1\.\d-0\.\w+/);
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

  test("a once effect is never doubled: where nobody can know, it is in doubt", async () => {
    const report = await crashMatrix(reminders, async (t) => {
      const saga = await t.start(reminder, {}, { id: "r1" });
      await t.signal(saga, "go", {});
      await saga.result();
    });
    expect(report.faults, report.text).toEqual([]);
    expect(report.rows.filter(({ inDoubt }) => inDoubt.length > 0).length).toBeGreaterThan(0);
  });
});
