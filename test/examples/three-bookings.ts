/**
 * A workflow: a flight, rooms for everybody and a hall, where the hall rests on the rooms. Halls are booked by size, and
 * the largest one left may be too small: then nothing is held in the end, whatever was booked before.
 *
 *   sagamesh up --app test/examples/three-bookings.ts
 *   sagamesh start offsite --input '{"people":12,"city":"BER"}' --id offsite-1 --wait
 *   sagamesh inspect offsite-1 --state dependency --app test/examples/three-bookings.ts
 *
 * Contract, bodies and application stand in one file to be read in one go. What is held is kept by the effect's key, as
 * a real agency must.
 */
import { defineApp, defineTool, NotPerformed } from "sagamesh";
import { defineWorkflow } from "sagamesh/workflow";
import { z } from "zod";

const Booking = z.object({ id: z.string(), of: z.string(), places: z.int() });
type Booking = z.infer<typeof Booking>;

/** What this agency holds, by the key it was asked with. A key that was used stays used. */
export interface Desk {
  readonly held: Map<string, Booking>;
  readonly known: Map<string, Booking>;
}

const desk: Desk = { held: new Map(), known: new Map() };

/** Three bookings at a desk of their own, so that each test has one. */
export function createOffsite(
  at: Desk,
  largestHall: number,
  terms: { readonly onFailure?: "end" | "replan"; readonly openForMs?: number } = {},
) {
  const reserve = (key: string, of: string, places: number): Booking => {
    const before = at.known.get(key);
    if (before !== undefined) return before;
    const booking = { id: `${of}-${at.known.size + 1}`, of, places };
    at.known.set(key, booking);
    at.held.set(key, booking);
    return booking;
  };

  const release = defineTool({
    name: "release",
    description: "Gives a booking back, by the key it was made with.",
    effect: "idempotent",
    input: z.object({ madeWithKey: z.string() }),
    output: z.object({ released: z.boolean() }),
    perform: async ({ madeWithKey }) => {
      at.held.delete(madeWithKey);
      return { released: true };
    },
  });

  const booking = (name: string, what: string, placesMax: number) =>
    defineTool({
      name,
      description: `Books ${what}.`,
      effect: "idempotent",
      input: z.object({ city: z.string(), places: z.int() }),
      output: Booking,
      compensation: { tool: release, input: ({ key }) => ({ madeWithKey: key }) },
      perform: async ({ places }, { key }) => {
        if (places > placesMax)
          throw new NotPerformed(`the largest ${name} left has ${placesMax} places, not ${places}`, {
            retry: false,
          });
        return reserve(key, name, places);
      },
    });

  const offsite = defineWorkflow({
    name: "offsite",
    version: 1,
    description: "Books a flight, rooms and a hall, or none of them.",
    ...terms,
    input: z.object({ people: z.int().positive(), city: z.string() }),
    nodes: {
      flight: {
        run: booking("flight", "seats in one aeroplane", 200),
        input: ({ input: { city, people } }) => ({ city, places: people }),
        log: Booking.pick({ id: true }),
      },
      rooms: {
        run: booking("rooms", "a room for each", 80),
        input: ({ input: { city, people } }) => ({ city, places: people }),
        log: Booking.pick({ id: true }),
      },
      hall: {
        run: booking("hall", "one hall for all", largestHall),
        after: ["flight", "rooms"],
        input: ({ input: { city }, output }) => ({
          city,
          places: output("rooms", { output: Booking }).places,
        }),
        log: Booking.pick({ id: true, places: true }),
      },
    },
  });

  return { offsite, app: defineApp({ sagas: [offsite] }), desk: at };
}

export default createOffsite(desk, 10).app;
