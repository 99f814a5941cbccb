/**
 * An ordinary XState machine as a durable saga: three bookings in a row under one deadline. Whatever goes wrong,
 * a refused booking, the deadline or a change of mind, what was booked is cancelled, the last booking first.
 *
 * Contract, bodies and application stand in one file to be read in one go; a real one keeps the bodies, and with
 * them the vendor's SDK and its secrets, in a file that only workers load.
 */
import {
  compensation,
  defineApp,
  defineSaga,
  defineTool,
  implement,
  reasonOf,
  type SignalEvents,
  toActors,
} from "sagamesh";
import { assign, setup } from "xstate";
import { z } from "zod";

const Trip = z.object({ traveller: z.string(), to: z.string(), deadlineMs: z.int().positive() });
const Booked = z.object({ bookingId: z.string() });
const Outcome = z.object({
  bookings: z.array(z.string()),
  because: z.string().optional(),
  standing: z.array(z.string()),
});
const signals = { change_plan: z.object({ reason: z.string() }) };

/** Undoes any of the three. A booking whose reply got lost has no id: the key it was made with names it. */
export const cancelBooking = defineTool({
  name: "cancel_booking",
  description: "Cancels a booking by its id or by the key it was made with.",
  input: z.object({ bookingId: z.string().optional(), madeWithKey: z.string() }),
  output: z.object({}),
  effect: "idempotent",
  retry: { attemptsMax: 3, backoffMs: 500 },
});

const booking = (name: string, what: string) =>
  defineTool({
    name,
    description: `Reserves and pays ${what}.`,
    input: Trip,
    output: Booked,
    effect: "probe",
    timeoutMs: 30_000,
    compensation: {
      tool: cancelBooking,
      input: ({ output, key }) => ({ bookingId: output?.bookingId, madeWithKey: key }),
    },
  });

export const bookFlight = booking("book_flight", "a flight");
export const bookHotel = booking("book_hotel", "a room");
export const bookCar = booking("book_car", "a car");

const machine = setup({
  types: {
    input: {} as z.infer<typeof Trip>,
    output: {} as z.infer<typeof Outcome>,
    events: {} as SignalEvents<typeof signals>,
    context: {} as { trip: z.infer<typeof Trip>; bookings: string[]; because?: string; standing: string[] },
  },
  actors: toActors({ bookFlight, bookHotel, bookCar, compensation }),
  delays: { deadline: ({ context }) => context.trip.deadlineMs },
  actions: {
    keep: assign({
      bookings: ({ context }, made: { bookingId: string }) => [...context.bookings, made.bookingId],
    }),
    because: assign({ because: (_, reason: string) => reason }),
  },
}).createMachine({
  id: "trip",
  initial: "booking",
  context: ({ input }) => ({ trip: input, bookings: [], standing: [] }),
  states: {
    booking: {
      initial: "flight",
      after: { deadline: { target: "undoing", actions: { type: "because", params: "the deadline passed" } } },
      on: {
        change_plan: {
          target: "undoing",
          actions: { type: "because", params: ({ event }) => event.data.reason },
        },
      },
      states: {
        flight: {
          invoke: {
            src: "bookFlight",
            input: ({ context }) => context.trip,
            onDone: { target: "hotel", actions: { type: "keep", params: ({ event }) => event.output } },
            onError: {
              target: "#trip.undoing",
              actions: { type: "because", params: ({ event }) => reasonOf(event.error) },
            },
          },
        },
        hotel: {
          invoke: {
            src: "bookHotel",
            input: ({ context }) => context.trip,
            onDone: { target: "car", actions: { type: "keep", params: ({ event }) => event.output } },
            onError: {
              target: "#trip.undoing",
              actions: { type: "because", params: ({ event }) => reasonOf(event.error) },
            },
          },
        },
        car: {
          invoke: {
            src: "bookCar",
            input: ({ context }) => context.trip,
            onDone: {
              target: "#trip.booked",
              actions: { type: "keep", params: ({ event }) => event.output },
            },
            onError: {
              target: "#trip.undoing",
              actions: { type: "because", params: ({ event }) => reasonOf(event.error) },
            },
          },
        },
      },
    },
    undoing: {
      invoke: {
        src: "compensation",
        input: ({ context }) => ({ because: context.because ?? "" }),
        onDone: {
          target: "notBooked",
          actions: assign({ bookings: [], standing: ({ event }) => event.output.standing }),
        },
      },
    },
    booked: { type: "final" },
    notBooked: { type: "final", tags: "failed" },
  },
  output: ({ context: { bookings, because, standing } }) => ({ bookings, because, standing }),
});

export const bookTrip = defineSaga({
  name: "book_trip",
  version: 1,
  description: "Books flight, room and car, or none of them.",
  input: Trip,
  output: Outcome,
  signals,
  machine,
});

/** What the bodies need of a travel agency; the example's own remembers by key, as a real one must. */
export interface Agency {
  reserve(what: string, options: { key: string; abort: AbortSignal }): Promise<{ bookingId: string }>;
  find(key: string): Promise<{ bookingId: string } | undefined>;
  cancel(booking: { bookingId?: string | undefined; madeWithKey: string }): Promise<void>;
}

export const createTripApp = (agency: Agency) =>
  defineApp({
    sagas: [bookTrip],
    implementations: [
      ...[bookFlight, bookHotel, bookCar].map((tool) =>
        implement(tool, {
          perform: (_trip, { key, abort }) => agency.reserve(tool.name, { key, abort }),
          probe: async (key) => {
            const output = await agency.find(key);
            return output === undefined ? { outcome: "did_not_happen" } : { outcome: "happened", output };
          },
        }),
      ),
      implement(cancelBooking, {
        perform: async (made) => {
          await agency.cancel(made);
          return {};
        },
      }),
    ],
  });
