/**
 * What a journey is asked for with. The facts beside it are those of the paper.
 */
import { z } from "zod";
import facts from "./journey.json" with { type: "json" };

export const { spec, dependencies } = facts;
export const [low = 3, high = 4] = spec.hotel_stars;

/** The members are what the state of the application is to hold. */
export const Journey = z.object({
  destination_sequence: z.array(z.string()).default(spec.route),
  departure: z.string().default("2025-06-02"),
  travel_dates_per_city: z
    .object({ Berlin: z.tuple([z.string(), z.string()]), Cologne: z.tuple([z.string(), z.string()]) })
    .default({ Berlin: ["2025-06-03", "2025-06-07"], Cologne: ["2025-06-07", "2025-06-09"] }),
  passenger_manifest: z.array(z.string()).min(1).default(["Ada"]),
  budget_limits: z.object({ total_usd: z.number() }).default({ total_usd: spec.budget_usd_max }),
  preference_profiles: z
    .object({ stars: z.tuple([z.int(), z.int()]), direct: z.boolean() })
    .default({ stars: [low, high], direct: true }),
  accessibility_requirements: z.object({ step_free: z.boolean() }).default({ step_free: false }),
  /** How long it can be told of changes once all is booked. */
  open_for_days: z.number().min(0).max(60).default(0),
});
export type Journey = z.infer<typeof Journey>;
