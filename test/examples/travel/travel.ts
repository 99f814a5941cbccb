/**
 * Travel planning: San Francisco, Berlin, Cologne and back in June 2025 for 5,000 USD at the most. Five bookings, each
 * made by an agent, each resting on the one before; validators judge the plan, every request, every booking and every
 * commit; and when something is cancelled, exactly what rests on it is given back, the last first, and planned again.
 *
 *   npm run sagamesh -- up --app test/examples/travel/travel.ts
 *   npm run sagamesh -- start travel --input '{}' --id trip-1 --wait
 *   npm run sagamesh -- inspect trip-1 --state application --app test/examples/travel/travel.ts
 *
 * With `--input '{"open_for_days":30}'` it can be told of changes until then, or until it is told to `conclude`:
 *
 *   npm run sagamesh -- signal trip-1 cancelled \
 *     '{"booking":"TR-3","place":"Berlin-Cologne","by":"the railway","reason":"a strike","on":"2025-05-20"}'
 *
 * outside.ts is the world, agents.ts who books and plans, validators.ts who judges, journey.json the facts.
 */
import { defineApp } from "sagamesh";
import { defineWorkflow, type WorkflowView } from "sagamesh/workflow";
import { z } from "zod";
import { createBookers, createPlanner, FlightBooked, HotelBooked, placeOf, TrainBooked } from "./agents.ts";
import { Journey, low, high, spec, dependencies } from "./journey.ts";
import { createOutside, type Outside } from "./outside.ts";
import { createJudges } from "./validators.ts";

const DAY = 86_400_000;

/** A provider takes a booking back, by its reference. `on` is the day: what was travelled by then stays. */
const Cancelled = z.object({
  booking: z.string(),
  place: z.string(),
  by: z.string(),
  reason: z.string(),
  on: z.string(),
});

const priced = { total_cost: z.number(), booking_reference: z.string() };
const FlightLog = z.object({ ...priced, confirmation_number: z.string(), cancellation_policy: z.string() });
const TrainLog = z.object({ ...priced, ticket_status: z.string(), refund_policy: z.string() });
const nodes = ["T1", "T2", "T3", "T4", "T5"] as const;
const Spent = z.object({
  total_cost: z.number(),
  ...{
    flight_details: z.object({ end: z.string() }).optional(),
    hotel_details: z.object({ end: z.string() }).optional(),
  },
  train_details: z.object({ end: z.string() }).optional(),
  booking_reference: z.string(),
});
const bookedIn = (view: WorkflowView<Journey>) =>
  nodes.flatMap((node) => (view.has(node) ? [{ node, ...Spent.parse(view.output(node)) }] : []));

/**
 * The booking of that reference; or of that place where it has been made and nobody here knows its reference yet, for it
 * is still being judged. None if it has been given back already.
 */
function nodeOfBooking(view: WorkflowView<Journey>, booking: string, place: string): string | undefined {
  const known = bookedIn(view).find((one) => one.booking_reference === booking);
  if (known !== undefined) return known.node;
  const node = nodes.find((one) => placeOf[one]?.place === place);
  const before = node === undefined ? [] : view.attempts(node);
  const isOld = before.some(({ output }) => Spent.safeParse(output).data?.booking_reference === booking);
  return node === undefined || view.has(node) || isOld ? undefined : node;
}

/** What was over on a day, before the booking that was taken back. */
const travelledBy = (view: WorkflowView<Journey>, gone: string, on: string): string[] =>
  bookedIn(view).flatMap(({ node, flight_details, hotel_details, train_details }) => {
    const end = (flight_details ?? hotel_details ?? train_details)?.end.slice(0, 10);
    return end !== undefined && end <= on && node < gone ? [node] : [];
  });

/** The journey in a world of its own, so that each test has one. */
export function createTravel(outside: Outside) {
  const { flight, hotel, train } = createBookers(outside);
  const planner = createPlanner([flight.find, hotel.find, train.find]);
  const judges = createJudges({ month: spec.month, budget: spec.budget_usd_max, stars: [low, high] });

  const ride = ({ input }: { readonly input: Journey }) => ({
    budget_limit: input.budget_limits.total_usd,
    airline_preferences: { direct: input.preference_profiles.direct },
    passenger_details: input.passenger_manifest,
  });
  const stay = ({ input }: { readonly input: Journey }, city: "Berlin" | "Cologne") => ({
    ...{ location_constraints: city, checkout_date: input.travel_dates_per_city[city][1] },
    ...{ budget_limit: input.budget_limits.total_usd, guests: input.passenger_manifest },
    amenity_preferences: {
      ...{ stars: input.preference_profiles.stars, accessible: input.accessibility_requirements.step_free },
    },
  });

  const travel = defineWorkflow({
    name: "travel",
    version: 1,
    description: "Books a journey of five bookings, or what is left of it, or nothing.",
    input: Journey,
    output: z.object({
      pricing_breakdown: z.record(z.string(), z.number()),
      updated_total: z.number(),
      remaining_budget: z.number(),
      confirmations: z.record(z.string(), z.string()),
    }),
    result: (view) => {
      const booked = bookedIn(view);
      const total = booked.reduce((sum, { total_cost }) => sum + total_cost, 0);
      return {
        pricing_breakdown: Object.fromEntries(booked.map(({ node, total_cost }) => [node, total_cost])),
        ...{ updated_total: total, remaining_budget: view.input.budget_limits.total_usd - total },
        confirmations: Object.fromEntries(
          booked.map(({ node, booking_reference }) => [node, booking_reference]),
        ),
      };
    },
    signals: { cancelled: Cancelled },
    on: {
      cancelled: ({ booking, place, by, reason, on }, view) => {
        const node = nodeOfBooking(view, booking, place);
        return node === undefined
          ? []
          : [{ node, reason: `${by}: ${reason}`, keep: travelledBy(view, node, on) }];
      },
    },
    onFailure: "replan",
    replansMax: 3,
    replanner: planner.agent,
    openForMs: ({ input }) => input.open_for_days * DAY,
    validators: judges,
    pinned: {
      goals: [`${spec.route.join(" - ")} in ${spec.month}`, "train between the cities to save money"],
      constraints: [
        `${spec.budget_usd_max} USD at the most`,
        `${spec.nights_or_days.Berlin} nights in Berlin, ${spec.nights_or_days.Cologne} in Cologne`,
        `hotels of ${low} to ${high} stars`,
        `direct flights ${spec.direct_flights}`,
      ],
      dependencies: dependencies.map(([from = "", to = ""]) => [from, to]),
    },
    nodes: {
      T1: {
        ...{ run: flight.agent, description: "flight to Berlin", log: FlightLog },
        input: (view) => ({
          ...ride(view),
          route: "SFO-Berlin",
          travel_dates: { depart: view.input.departure },
        }),
      },
      T2: {
        ...{ run: hotel.agent, description: "hotel in Berlin", after: ["T1"], log: FlightLog },
        input: (view) => ({
          ...stay(view, "Berlin"),
          checkin_date: view.output("T1", { output: FlightBooked }).flight_details.end,
        }),
      },
      T3: {
        ...{ run: train.agent, description: "train to Cologne", after: ["T2"], log: TrainLog },
        input: (view) => ({
          ...{ departure_location: "Berlin", arrival_location: "Cologne" },
          travel_time: view.output("T2", { output: HotelBooked }).hotel_details.end,
          connection_requirements: { direct: view.input.preference_profiles.direct },
          passengers: view.input.passenger_manifest,
        }),
      },
      T4: {
        ...{ run: hotel.agent, description: "hotel in Cologne", after: ["T3"], log: FlightLog },
        input: (view) => ({
          ...stay(view, "Cologne"),
          checkin_date: view.output("T3", { output: TrainBooked }).train_details.end,
        }),
      },
      T5: {
        ...{ run: flight.agent, description: "flight home", after: ["T4"], log: FlightLog },
        input: (view) => ({
          ...{ ...ride(view), route: "Cologne-SFO" },
          travel_dates: { depart: view.output("T4", { output: HotelBooked }).hotel_details.end },
        }),
      },
    },
  });
  const models = Object.fromEntries(
    [flight.model, hotel.model, train.model, planner.model].map((model) => [model.name, model]),
  );
  return { travel, outside, models, app: defineApp({ sagas: [travel], models }) };
}

export default createTravel(createOutside()).app;
