/**
 * Who judges the journey: the plan, each request before it is carried out, each booking, and each commit. Each is an
 * actor of its own; none sees an agent's conversation, all see the goals, the constraints, the dependencies and what has
 * been committed.
 */
import {
  constraintAdherence,
  contextPreservation,
  honestOutput,
  type Occurrence,
  type ValidationRule,
  type CheckedMaterial,
  temporalOrder,
  type Validator,
} from "sagamesh/validators";
import { z } from "zod";

const pinned = ["goals", "constraints", "dependencies", "commitments"] as const;

/** The parts of a booking that say what it costs and when and where it is, whichever agent made it. */
const details = ["/total_cost", "/flight_details", "/hotel_details", "/train_details"];
const outputs = { T1: details, T2: details, T3: details, T4: details, T5: details };
const Span = z.object({ place: z.string(), start: z.string(), end: z.string() });
const Booking = z.object({
  total_cost: z.number().optional(),
  ...{ flight_details: Span.optional(), hotel_details: Span.optional(), train_details: Span.optional() },
});
type Booking = z.infer<typeof Booking>;

/** A ride takes the traveller from one place to another; a stay keeps him in one. */
function occurrenceOf(id: string, { flight_details, hotel_details, train_details }: Booking): Occurrence[] {
  const span = flight_details ?? hotel_details ?? train_details;
  if (span === undefined) return [];
  const [from = "", to = from] = span.place.split("-");
  return [{ id, who: ["traveller"], start: Date.parse(span.start), end: Date.parse(span.end), from, to }];
}

/** All that has been committed, and this. */
const journeyWith = ({ item, outputs: committed = {} }: CheckedMaterial<typeof Booking>): Occurrence[] => [
  ...Object.entries(committed).flatMap(([node, output]) => occurrenceOf(node, Booking.parse(output))),
  ...occurrenceOf("this", item),
];

const rule = (id: string, text: string, holds: ValidationRule["holds"]): ValidationRule => ({
  id,
  text,
  holds,
});
const datesIn = (item: unknown): string[] => JSON.stringify(item).match(/\d{4}-\d{2}-\d{2}/g) ?? [];
const Stay = z.object({ amenity_preferences: z.object({ stars: z.tuple([z.int(), z.int()]) }) });

export interface JourneyFacts {
  readonly month: string;
  readonly budget: number;
  readonly stars: readonly [number, number];
}

export function createJudges({ month, budget, stars }: JourneyFacts): {
  readonly plan: readonly Validator[];
  readonly before: readonly Validator[];
  readonly output: readonly Validator[];
  readonly commit: readonly Validator[];
} {
  const dependencies = contextPreservation({
    ...{ name: "plan_dependencies", context: { item: ["/edges"], pinned } },
    pinned: ({ pinned: { dependencies: kept = [] } = {} }) => z.array(z.json()).parse(kept),
    kept: ({ item }) => z.object({ edges: z.array(z.json()) }).parse(item).edges,
  });
  const request = constraintAdherence({
    ...{ name: "request_in_bounds", context: { pinned } },
    rules: [
      rule("month", `every date is in ${month}`, ({ item }) =>
        datesIn(item).every((date) => date.startsWith(month)),
      ),
      rule("stars", `a hotel has ${stars.join(" to ")} stars`, ({ item }) => {
        const stay = Stay.safeParse(item).data?.amenity_preferences.stars;
        return stay === undefined || (stay[0] >= stars[0] && stay[1] <= stars[1]);
      }),
      rule("limit", `nobody may spend more than ${budget} USD`, ({ item }) => {
        const limit = z.object({ budget_limit: z.number() }).safeParse(item).data?.budget_limit ?? 0;
        return limit <= budget;
      }),
    ],
  });
  const honest = honestOutput({ context: { pinned } });
  const journey = temporalOrder({
    ...{ name: "journey_in_order", item: Booking, context: { item: details, outputs, pinned }, unit: "ms" },
    occurrences: journeyWith,
  });
  const total = constraintAdherence({
    ...{ name: "total_cost", item: Booking, context: { item: ["/total_cost"], outputs, pinned } },
    rules: [
      {
        ...{ id: "budget", text: `all of it costs ${budget} USD at the most` },
        holds: ({ item, outputs: committed = {} }) => {
          const costs = Object.values(committed).map((output) => Booking.parse(output).total_cost ?? 0);
          const sum = costs.reduce((all, one) => all + one, item.total_cost ?? 0);
          return sum <= budget ? [] : { what: `${sum} USD of ${budget}`, by: sum - budget, unit: "USD" };
        },
      },
    ],
    missing: ({ item }) => (item.total_cost === undefined ? ["total_cost"] : []),
  });
  return { plan: [dependencies], before: [request], output: [honest, journey], commit: [total] };
}
