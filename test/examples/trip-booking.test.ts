/**
 * Goal: the reference saga does what its author reads in the machine, at every way it can go. Method: given,
 * when, then over its ledger.
 */
import { describe, expect, test } from "vitest";
import { bookTrip } from "./trip-booking.ts";
import {
  failed,
  fired,
  given,
  inDoubt,
  signalled,
  started,
  succeeded,
  voted,
} from "../../services/testing/given.ts";

const trip = { traveller: "Ada", to: "Turin", deadlineMs: 60_000 };
const begun = started(trip);
const flight = succeeded("book_flight", { bookingId: "F1" });
const hotel = succeeded("book_hotel", { bookingId: "H1" });
const car = succeeded("book_car", { bookingId: "C1" });
const full = (what: string) => failed(what, { code: "NOT_PERFORMED", reason: "fully booked", retry: false });

describe("a trip", () => {
  test("has no faults", () => {
    expect(bookTrip.definition.faults).toEqual([]);
  });

  test("begins with its deadline and the flight", () => {
    given(bookTrip)
      .when(begun, { at: 1_000 })
      .then({ kind: "timer", dueAt: 61_000 }, { kind: "tool", name: "book_flight", input: trip });
  });

  test("is booked when all three are, and keeps no timer", () => {
    const story = given(bookTrip, begun, flight, hotel)
      .when(car)
      .then({ kind: "end", status: "completed", output: { bookings: ["F1", "H1", "C1"], standing: [] } });
    expect(story.open).toEqual([]);
  });

  test("books nothing when the flight is refused", () => {
    given(bookTrip, begun)
      .when(full("book_flight"))
      .then({ kind: "end", status: "failed", reason: "fully booked", standing: [] });
  });

  test("is undone from the last booking to the first when the car is refused", () => {
    given(bookTrip, begun, flight, hotel)
      .when(full("book_car"))
      .then({ kind: "tool", name: "cancel_booking", undoes: "2-0", input: { bookingId: "H1" } })
      .when(succeeded("cancel_booking", {}))
      .then({ kind: "tool", name: "cancel_booking", undoes: "1-1", input: { bookingId: "F1" } })
      .when(succeeded("cancel_booking", {}))
      .then({ kind: "end", status: "failed", reason: "fully booked", standing: [] });
  });

  test("names a booking by its key when it is in doubt and has no id", () => {
    const doubtful = given(bookTrip, begun, flight).when(inDoubt("book_hotel"));
    const key = doubtful.state.effects.find(({ intent }) => intent === "2-0")?.key;
    doubtful
      .then({ kind: "task", about: "doubt", of: "2-0" })
      .when(signalled("change_plan", { reason: "ill" }))
      .then({ kind: "tool", name: "cancel_booking", undoes: "2-0", input: { madeWithKey: key } });
  });

  test("that misses its deadline waits for the booking in flight, and cancels that first", () => {
    const late = given(bookTrip, begun, flight, hotel).when(fired("xstate.after.deadline.trip.booking"));
    late.thenNothing();
    const landed = late.when(car);
    landed.then({ kind: "tool", name: "cancel_booking", input: { bookingId: "C1" } });
    landed
      .when(succeeded("cancel_booking", {}))
      .then({ kind: "tool", name: "cancel_booking", input: { bookingId: "H1" } })
      .when(succeeded("cancel_booking", {}))
      .then({ kind: "tool", name: "cancel_booking", input: { bookingId: "F1" } })
      .when(succeeded("cancel_booking", {}))
      .then({ kind: "end", status: "failed", reason: "the deadline passed", standing: [] });
  });

  test("changes its plan while a booking is in flight, which fails: only what was booked is undone", () => {
    given(bookTrip, begun, flight, signalled("change_plan", { reason: "ill" }))
      .when(full("book_hotel"))
      .then({ kind: "tool", name: "cancel_booking", input: { bookingId: "F1" } })
      .when(succeeded("cancel_booking", {}))
      .then({ kind: "end", status: "failed", reason: "ill", standing: [] });
  });

  test("lists the booking that a human could not cancel either", () => {
    const key = given(bookTrip, begun, flight).state.effects[0]?.key;
    given(bookTrip, begun, flight, full("book_hotel"), failed("cancel_booking", { retry: false }))
      .when(voted("stuck", "deny"))
      .then({ kind: "end", status: "failed", output: { bookings: [] }, standing: [`book_flight ${key}`] });
  });

  test("that is cancelled from outside is undone by the runtime", () => {
    given(bookTrip, begun, flight)
      .when(signalled("cancel", { reason: "budget" }))
      .thenNothing()
      .when(hotel)
      .then({ kind: "tool", name: "cancel_booking", input: { bookingId: "H1" } })
      .when(succeeded("cancel_booking", {}))
      .then({ kind: "tool", name: "cancel_booking", input: { bookingId: "F1" } })
      .when(succeeded("cancel_booking", {}))
      .then({ kind: "end", status: "cancelled", reason: "budget", standing: [] });
  });
});
