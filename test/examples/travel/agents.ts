/**
 * The agents of the journey: three that book, each a saga of its own with tools of its own, and one that plans again.
 * They never see each other's conversations. Scripts stand in the places of their models.
 */
import { defineAgent, defineTool, type SagaDefinition, type Tool } from "sagamesh";
import type { ModelMessage, ModelRequest } from "sagamesh/models";
import { scriptedModel } from "sagamesh/testing";
import { z } from "zod";
import { Journey } from "./journey.ts";
import type { Entry, Kind, Offer, Outside } from "./outside.ts";

const Offered = z.object({
  ...{ id: z.string(), price: z.number(), direct: z.boolean(), stars: z.int().optional() },
  ...{ start: z.string(), end: z.string() },
});
const Wished = z.object({ place: z.string(), date: z.string(), nights: z.int().positive().optional() });
const passengers = z.array(z.string()).min(1);
const Details = z.object({ id: z.string(), place: z.string(), start: z.string(), end: z.string() });
/** How an agent says that it could not. An output is read by validators, for a text is easily taken for a success. */
const Failed = z.object({ status: z.string() });
const reservation = { reservation_status: z.string(), booking_reference: z.string(), payment: z.number() };

export const FlightRequest = z.object({
  ...{ travel_dates: z.object({ depart: z.string() }), route: z.string(), budget_limit: z.number() },
  ...{ airline_preferences: z.object({ direct: z.boolean() }), passenger_details: passengers },
});
export const FlightBooked = z.object({
  ...{ flight_details: Details, confirmation_number: z.string(), total_cost: z.number() },
  ...{ cancellation_policy: z.string(), ...reservation },
});
export const HotelRequest = z.object({
  ...{ checkin_date: z.string(), checkout_date: z.string(), location_constraints: z.string() },
  ...{ amenity_preferences: z.object({ stars: z.tuple([z.int(), z.int()]), accessible: z.boolean() }) },
  ...{ budget_limit: z.number(), guests: passengers },
});
export const HotelBooked = z.object({
  ...{ hotel_details: Details.extend({ stars: z.int() }), room_type: z.string() },
  ...{ confirmation_number: z.string(), total_cost: z.number(), cancellation_policy: z.string() },
  ...reservation,
});
export const TrainRequest = z.object({
  ...{ departure_location: z.string(), arrival_location: z.string(), travel_time: z.string() },
  ...{ connection_requirements: z.object({ direct: z.boolean() }), passengers },
});
export const TrainBooked = z.object({
  ...{ train_details: Details, seat_res: z.string(), total_cost: z.number() },
  ...{ schedule_details: z.object({ start: z.string(), end: z.string() }), ticket_status: z.string() },
  ...{ booking_reference: z.string(), refund_policy: z.string() },
});

/** What a request wishes, and how good an offer is to it: the first of the best is taken, undefined ones never. */
interface Trade<I> {
  readonly kind: Kind;
  readonly wish: (request: I) => z.infer<typeof Wished>;
  readonly rank: (request: I, offer: Offer) => number | undefined;
  readonly booked: (entry: Entry) => unknown;
}

const detailsOf = ({ offer: { id, start, end }, place }: Entry) => ({ id, place, start, end });
const reserved = ({ reference, offer }: Entry) => ({
  ...{ confirmation_number: reference, total_cost: offer.price, booking_reference: reference },
  ...{
    reservation_status: "confirmed",
    payment: offer.price,
    cancellation_policy: "refunded until departure",
  },
});
const DAY = 86_400_000;

const flights: Trade<z.infer<typeof FlightRequest>> = {
  kind: "flight",
  wish: ({ route, travel_dates }) => ({ place: route, date: travel_dates.depart }),
  rank: ({ airline_preferences, budget_limit }, { direct, price }) =>
    price > budget_limit ? undefined : airline_preferences.direct && !direct ? 1 : 0,
  booked: (entry) => ({ flight_details: detailsOf(entry), ...reserved(entry) }),
};
/** It takes the best hotel it may: what all of it costs together is not its affair. */
const hotels: Trade<z.infer<typeof HotelRequest>> = {
  kind: "hotel",
  wish: ({ location_constraints: place, checkin_date: date, checkout_date }) => ({
    ...{ place, date },
    nights: Math.round((Date.parse(checkout_date.slice(0, 10)) - Date.parse(date.slice(0, 10))) / DAY),
  }),
  rank: ({ amenity_preferences: { stars }, budget_limit }, { stars: has = 0, price }) =>
    has < stars[0] || has > stars[1] || price > budget_limit ? undefined : -has,
  booked: (entry) => ({
    ...{ hotel_details: { ...detailsOf(entry), stars: entry.offer.stars ?? 0 }, room_type: "double" },
    ...reserved(entry),
  }),
};
const trains: Trade<z.infer<typeof TrainRequest>> = {
  kind: "train",
  wish: ({ departure_location, arrival_location, travel_time }) => ({
    ...{ place: `${departure_location}-${arrival_location}`, date: travel_time },
  }),
  rank: ({ connection_requirements }, { direct }) => (connection_requirements.direct && !direct ? 1 : 0),
  booked: (entry) => ({
    ...{ train_details: detailsOf(entry), seat_res: "coach 7, seat 12", total_cost: entry.offer.price },
    ...{ schedule_details: { start: entry.offer.start, end: entry.offer.end }, ticket_status: "issued" },
    ...{ booking_reference: entry.reference, refund_policy: "refunded until departure" },
  }),
};

interface Called {
  readonly tool: string;
  readonly outcome: string;
  readonly output?: unknown;
  readonly reason?: string | undefined;
}
const calledIn = (messages: readonly ModelMessage[]): Called[] =>
  messages.flatMap((one) => (one.role === "user" ? one.parts.filter((part) => part.type === "result") : []));
const givenIn = (messages: readonly ModelMessage[]): unknown => {
  const [first] = messages.flatMap((message) => (message.role === "user" ? message.parts : []));
  return JSON.parse(first?.type === "text" ? first.text : "{}");
};
const finish = (output: unknown) => [{ tool: "finish", input: { output: output as z.core.util.JSONType } }];

/** Looks, takes the best, and says why; what it cannot get it says it could not. */
function booking<I>(request: z.ZodType<I>, { kind, wish, rank }: Trade<I>) {
  return ({ messages }: ModelRequest) => {
    const asked = request.parse(givenIn(messages));
    const [found, booked] = calledIn(messages);
    if (found === undefined)
      return {
        text: `What is there for ${wish(asked).place}?`,
        calls: [{ tool: `find_${kind}`, input: wish(asked) }],
      };
    if (booked !== undefined)
      return {
        calls: finish(
          booked.outcome === "succeeded" ? booked.output : { status: `FAILED: ${booked.reason ?? ""}` },
        ),
      };
    const offers = z.array(Offered).parse((found.output as { offers: unknown }).offers) as Offer[];
    const fit = offers.filter((offer) => rank(asked, offer) !== undefined);
    const [best] = [...fit].sort(
      (a, b) => (rank(asked, a) ?? 0) - (rank(asked, b) ?? 0) || a.price - b.price,
    );
    if (best === undefined)
      return { calls: finish({ status: `FAILED: no ${kind} for ${wish(asked).place}` }) };
    return {
      text: `Of ${offers.length} offers ${fit.length} would do; ${best.id} for ${best.price} USD is the best of them.`,
      calls: [{ tool: `book_${kind}`, input: { ...wish(asked), offer: best.id } }],
    };
  };
}

function bookingAgent<I extends z.ZodType, B extends z.ZodType>(
  outside: Outside,
  name: string,
  request: I,
  booked: B,
  trade: Trade<z.infer<I>>,
) {
  const { kind } = trade;
  const find = defineTool({
    ...{ name: `find_${kind}`, description: "What is offered.", effect: "read", input: Wished },
    output: z.object({ offers: z.array(Offered) }),
    perform: async (wish) => ({ offers: outside.find(kind, wish) }),
  });
  const cancel = defineTool({
    ...{ name: `cancel_${kind}`, description: "Gives a booking back.", effect: "idempotent" },
    ...{ input: z.object({ madeWithKey: z.string() }), output: z.object({ refunded: z.number() }) },
    perform: async ({ madeWithKey }) => ({ refunded: outside.cancel(madeWithKey) }),
  });
  const book = defineTool({
    ...{ name: `book_${kind}`, description: "Books an offer.", effect: "idempotent" },
    input: Wished.extend({ offer: z.string() }),
    output: booked,
    compensation: { tool: cancel, input: ({ key }) => ({ madeWithKey: key }) },
    perform: async ({ offer, ...wish }, { key }) =>
      trade.booked(outside.book(key, kind, wish, offer)) as z.input<B>,
  });
  const agent = defineAgent({
    ...{ name, version: 1, description: `Books one ${kind}.`, model: name },
    instructions: `Look for a ${kind}, book the best that fits, and say FAILED with the reason where there is none.`,
    ...{ input: request, output: z.union([booked, Failed]), signals: {}, tools: [find, book] },
  });
  return {
    agent,
    find,
    model: scriptedModel(name, booking(request as unknown as z.ZodType<z.infer<I>>, trade)),
  };
}

/** The three that book. */
export const createBookers = (outside: Outside) => ({
  flight: bookingAgent(outside, "flight_booking", FlightRequest, FlightBooked, flights),
  hotel: bookingAgent(outside, "hotel_booking", HotelRequest, HotelBooked, hotels),
  train: bookingAgent(outside, "train_booking", TrainRequest, TrainBooked, trains),
});

/** What the workflow asks whoever plans again: as much of it as this one reads. */
const Question = z.object({
  ...{
    input: Journey,
    affected: z.array(z.string()),
  },
  nodes: z.record(
    z.string(),
    z.object({ status: z.string(), code: z.string().optional(), output: z.unknown().optional() }),
  ),
});
/** Where each transaction goes, so that it can be looked for again. */
export const placeOf: Readonly<Record<string, { readonly kind: Kind; readonly place: string }>> = {
  T1: { kind: "flight", place: "SFO-Berlin" },
  T2: { kind: "hotel", place: "Berlin" },
  T3: { kind: "train", place: "Berlin-Cologne" },
  T4: { kind: "hotel", place: "Cologne" },
  T5: { kind: "flight", place: "Cologne-SFO" },
};
/** What is looked for may have any date: an offer that is left is left on all of them. */
const lookOf = (node: string) => {
  const { kind, place } = placeOf[node] ?? { kind: "hotel" as const, place: "" };
  return {
    tool: `find_${kind}`,
    input: { place, date: "2025-06-02", ...(kind === "hotel" ? { nights: 2 } : {}) },
  };
};
const costOf = (output: unknown): number => (output as { total_cost?: number } | undefined)?.total_cost ?? 0;

/** Looks what is left of everything that fell. All of it: the same again. Some of it not: it is given up, and says why. */
function planning({ messages }: ModelRequest) {
  const { affected, nodes, input } = Question.parse(givenIn(messages));
  const found = calledIn(messages);
  if (found.length === 0) return { text: "What is left?", calls: affected.map(lookOf) };
  const none = affected.find((_, k) => (found[k]?.output as { offers: unknown[] }).offers.length === 0);
  if (none !== undefined)
    return { calls: finish({ giveUp: `nothing is left of ${none} (${placeOf[none]?.place ?? ""})` }) };
  const spent = Object.values(nodes).reduce(
    (sum, { status, output }) => sum + (status === "committed" ? costOf(output) : 0),
    0,
  );
  // The way back is still to be paid where it has not been booked.
  const back = nodes["T5"]?.status === "committed" ? 0 : 920;
  const left = input.budget_limits.total_usd - spent - back;
  const tooDear = affected.filter(
    (node) => nodes[node]?.code === "VALIDATION_REJECTED" && placeOf[node]?.kind === "hotel",
  );
  const cheapest = (node: string) =>
    Math.min(
      ...z
        .object({ offers: z.array(Offered) })
        .parse(found[affected.indexOf(node)]?.output)
        .offers.flatMap(({ price, stars = 0 }) => (stars >= 3 && stars <= 4 ? [price] : [])),
    );
  const over = tooDear.find((node) => cheapest(node) > left);
  if (over !== undefined)
    return {
      calls: finish({ giveUp: `${over} is ${cheapest(over) - left} USD over what is left of the budget` }),
    };
  return { calls: finish({ nodes: tooDear.map((node) => cheaperStay(node, left)) }) };
}

/** The same stay as a node that is data, with what may be spent on it. */
const cheaperStay = (node: string, budget_limit: number) => ({
  ...{ name: node, run: "hotel_booking", when: { node: "T3" } },
  input: {
    ...{
      checkin_date: { $ref: "input /travel_dates_per_city/Cologne/0" },
      checkout_date: { $ref: "input /travel_dates_per_city/Cologne/1" },
    },
    ...{ location_constraints: "Cologne", budget_limit, guests: { $ref: "input /passenger_manifest" } },
    amenity_preferences: {
      stars: { $ref: "input /preference_profiles/stars" },
      accessible: { $ref: "input /accessibility_requirements/step_free" },
    },
  },
});

/** Whoever plans again: an agent that may look and book nothing. */
export function createPlanner(tools: readonly Tool[]): {
  agent: SagaDefinition;
  model: ReturnType<typeof scriptedModel>;
} {
  const name = "itinerary_planning";
  const agent = defineAgent({
    ...{ name, version: 1, description: "Plans the rest of a journey anew.", model: name },
    instructions: "Look what is left. Answer the nodes to change, or give up and say why.",
    input: Question.loose(),
    output: z.object({ nodes: z.array(z.json()).optional(), giveUp: z.string().optional() }),
    ...{ signals: {}, tools },
  });
  return { agent, model: scriptedModel(name, planning) };
}
