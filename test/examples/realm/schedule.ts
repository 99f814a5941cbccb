/**
 * A schedule: typed actions, in no particular order. Reading one is the first check of a planner's reply; whether it
 * is possible is for the predicates.
 */
import { z } from "zod";
import stored from "./data/schedules.json" with { type: "json" };
import { Minute } from "./problem.ts";

const who = z.array(z.string()).nonempty();
const span = { start: Minute, end: Minute };

const Drive = z.strictObject({
  type: z.literal("drive"),
  driver: z.string(),
  /** Everybody in the car, the driver among them. */
  who,
  from: z.string(),
  to: z.string(),
  ...span,
});
const Pickup = z.strictObject({ type: z.literal("pickup"), place: z.string(), who, ...span });
const Errand = z.strictObject({
  type: z.literal("task"),
  task: z.enum(["gift", "clothes"]),
  place: z.string(),
  who,
  ...span,
});
const Photo = z.strictObject({ type: z.literal("photo"), place: z.string(), who, start: Minute });
/** What the planner believes of a moment. */
const Status = z.strictObject({
  type: z.literal("state"),
  start: Minute,
  says: z.record(
    z.string(),
    z.union([z.strictObject({ at: z.string() }), z.strictObject({ on: z.string().regex(/^\w+-\w+$/) })]),
  ),
});
const Land = z.strictObject({ type: z.literal("land"), who, start: Minute });
const Exit = z.strictObject({ type: z.literal("exit"), who, start: Minute });
const Arrive = z.strictObject({ type: z.literal("arrive"), who, start: Minute });
const Rent = z.strictObject({ type: z.literal("rent"), who, ...span });
const Cook = z.strictObject({ type: z.literal("cook"), what: z.enum(["turkey", "sides"]), who, ...span });
const Dinner = z.strictObject({ type: z.literal("dinner"), who, start: Minute });

export const Action = z.discriminatedUnion("type", [
  Drive,
  Pickup,
  Errand,
  Photo,
  Status,
  Land,
  Exit,
  Arrive,
  Rent,
  Cook,
  Dinner,
]);
export type Action = z.infer<typeof Action>;
export type Drive = z.infer<typeof Drive>;

export const Schedule = z.array(Action);
export type Schedule = z.infer<typeof Schedule>;

export const actionsOf = <T extends Action["type"]>(schedule: readonly Action[], type: T) =>
  schedule.filter((action): action is Extract<Action, { type: T }> => action.type === type);

/** When an action is over; an instant is over when it begins. */
export const endOf = (action: Action): number => ("end" in action ? action.end : action.start);

/** Everybody an action occupies. */
export const actorsOf = (action: Action): readonly string[] =>
  action.type === "state"
    ? []
    : action.type === "drive"
      ? [...new Set([action.driver, ...action.who])]
      : action.who;

/** In order of start, then end: how a ledger would hold them. */
export const inOrder = (schedule: readonly Action[]): Action[] =>
  schedule.toSorted((one, other) => one.start - other.start || endOf(one) - endOf(other));

const Stored = z.strictObject({
  id: z.string(),
  problem: z.string(),
  actions: Schedule,
  paper: z.strictObject({ feasible: z.boolean(), violated: z.array(z.string()) }).optional(),
  computed: z
    .strictObject({
      feasible: z.boolean(),
      violated: z.array(z.string()),
      findings: z.array(
        z.strictObject({
          constraint: z.string(),
          subject: z.string(),
          required: z.union([z.string(), z.number()]),
          found: z.union([z.string(), z.number()]),
        }),
      ),
    })
    .optional(),
});
export type StoredSchedule = z.infer<typeof Stored>;

/** The schedules printed in the paper (tables 6 to 9, figures 4 and 5) and the witnesses found for them. */
export const storedSchedules: readonly StoredSchedule[] = z.array(Stored).parse(stored);

export function storedSchedule(id: string): StoredSchedule {
  const found = storedSchedules.find((one) => one.id === id);
  if (found === undefined)
    throw new Error(`no schedule ${id}: one of ${storedSchedules.map((one) => one.id).join(", ")}`);
  return found;
}
