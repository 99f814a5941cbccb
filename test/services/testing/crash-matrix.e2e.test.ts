/** The crash matrix on an outside that is slow: whichever process dies, a booking that came too late is given back. */
import { expect, test } from "vitest";
import { crashMatrix } from "sagamesh/testing";
import { bookTrip, createTripApp } from "../../examples/trip-booking.ts";
import { createAgency, trip } from "../../support/agency.ts";

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
