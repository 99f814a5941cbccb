/** REALM-Bench 5, 6, 8 and 9: a wedding as the wedding's own problem, and a dinner whose dishes are rows. */
import { z } from "zod";
import type { Disruption } from "../realm/problem.ts";
import { at, knownRule, madeOf, onceRule, spanRule, type Instance } from "./rows-of.ts";

const time = z.number();

const WeddingFile = z.object({
  instance_id: z.string(),
  locations: z.record(z.string(), z.string()),
  travel_times: z.record(z.string(), z.int().positive()),
  guests: z.array(
    z.object({
      name: z.string(),
      location: z.string(),
      arrival_time: z.int(),
      has_car: z.boolean().default(false),
      car_capacity: z.int().optional(),
    }),
  ),
  vehicles: z.array(z.object({ id: z.string(), location: z.string() })).default([]),
  errands: z.array(z.string()).default([]),
  constraints: z.object({ gift_store_opens: z.int(), tailor_closes: z.int(), photo_time: z.int() }),
  disruptions: z
    .array(
      z.object({
        type: z.string(),
        route: z.string().optional(),
        start_time: z.int(),
        duration: z.int().optional(),
      }),
    )
    .default([]),
});

/** P5, P8. The schedule is one of the wedding's own actions. Times are minutes by now. */
export function weddingInstance(data: unknown): Instance | undefined {
  const read = WeddingFile.safeParse(data);
  if (!read.success) return undefined;
  const {
    instance_id: id,
    locations,
    travel_times: travel,
    guests,
    vehicles,
    errands,
    constraints,
    disruptions,
  } = read.data;
  const placeOf = (words: RegExp) =>
    Object.entries(locations).find(([, name]) => words.test(name))?.[0] ?? "?";
  const venue = placeOf(/wedding|venue/i);
  const isLeg = (route = "") => route in travel || route.split("-").toReversed().join("-") in travel;
  const closures = disruptions.filter(({ type, route }) => type === "road_closure" && isLeg(route));
  const [closure] = closures;
  const disruption: Disruption | undefined =
    closure?.route === undefined
      ? undefined
      : {
          type: "closure",
          noticeAt: closure.start_time,
          legs: [closure.route],
          ...(closure.duration === undefined ? {} : { until: closure.start_time + closure.duration }),
        };
  const drivers = guests.filter(({ has_car }) => has_car);
  return {
    day: {
      id,
      kind: "wedding",
      travel,
      unspecified: [],
      seats: Math.min(...drivers.map(({ car_capacity = 5 }) => car_capacity), 9),
      cars: Math.max(1, drivers.length),
      people: guests.map(({ name, location, arrival_time: from, has_car: drives }) => ({
        name,
        at: location,
        from,
        drives,
      })),
      gift: { at: placeOf(/gift/i), opensAt: constraints.gift_store_opens },
      clothes: { at: placeOf(/tailor/i), closesAt: constraints.tailor_closes },
      photo: { at: venue, exactlyAt: constraints.photo_time, who: guests.map(({ name }) => name) },
      ...(disruption === undefined ? {} : { disruption }),
    },
    unjudged: [
      ...errands.map((what) => ({
        what: `errand ${what}`,
        why: "it has no place, no time and nobody who asks for it",
      })),
      ...vehicles
        .filter(({ location }) => !(location in locations))
        .map((one) => ({ what: `vehicle ${one.id}`, why: `no road leads to ${one.location}` })),
      ...disruptions
        .filter((one) => one !== closure)
        .map(({ type, route = "" }) => ({
          what: `${type} ${route}`,
          why: isLeg(route) ? "only one road closure is judged" : "it is on no road of the instance",
        })),
    ],
  };
}

const DinnerFile = z.object({
  instance_id: z.string(),
  cooking_tasks: z.array(z.string()),
  family_members: z.array(
    z.object({ id: z.string(), skills: z.array(z.string()), flight: z.string().nullable() }),
  ),
  flights: z.record(z.string(), z.object({ arrival_time: z.int() })),
  cooking_dependencies: z.array(z.tuple([z.string(), z.string()])),
  constraints: z.object({ dinner_deadline: z.int(), max_cooks: z.int(), kitchen_capacity: z.int() }),
  disruptions: z
    .array(
      z.object({ type: z.string(), flight: z.string().optional(), new_arrival_time: z.int().optional() }),
    )
    .default([]),
});

/** P6, P9. Rows: `{ "task", "who", "start", "end" }`. */
export function dinnerInstance(data: unknown): Instance | undefined {
  const read = DinnerFile.safeParse(data);
  if (!read.success) return undefined;
  const {
    instance_id: title,
    cooking_tasks: tasks,
    family_members: family,
    flights,
    cooking_dependencies: before,
    constraints,
    disruptions,
  } = read.data;
  const row = z.strictObject({ task: z.string(), who: z.string(), start: time, end: time });
  type Row = z.infer<typeof row>;
  const names = family.map(({ id }) => id);
  const landsAt = (name: string) => {
    const flight = family.find(({ id }) => id === name)?.flight ?? undefined;
    const delay = disruptions.findLast(
      (one) => one.type === "flight_delay" && one.flight === flight && flight !== undefined,
    );
    return flight === undefined
      ? -Infinity
      : (delay?.new_arrival_time ?? flights[flight]?.arrival_time ?? -Infinity);
  };
  const skilled = (name: string) => family.find(({ id }) => id === name)?.skills ?? [];
  const nobodys = tasks.filter((task) => !family.some(({ skills }) => skills.includes(task)));
  const most = Math.min(constraints.max_cooks, constraints.kitchen_capacity);
  return madeOf<Row>({
    title,
    unit: "clock",
    row,
    bar: ({ task, who, start, end }) => ({ lane: who, from: start, to: end, text: task, kind: task }),
    rules: [
      onceRule(
        "task",
        tasks,
        ({ task }) => task,
        ({ who }) => who,
      ),
      knownRule(
        ({ task, who }) => [
          ["task", task, tasks],
          ["person", who, names],
        ],
        ({ who }) => who,
      ),
      spanRule(({ who }) => who),
      {
        id: "SKILL",
        says: "Everybody cooks what they can, where somebody can.",
        find: (rows) =>
          rows
            .filter(({ task, who }) => !nobodys.includes(task) && !skilled(who).includes(task))
            .map((one) => ({ what: `${one.who} cannot make ${one.task}`, ...at(one, [one.who]) })),
      },
      {
        id: "LANDED",
        says: "Nobody cooks before their plane has landed.",
        find: (rows) =>
          rows
            .filter(({ who, start }) => start < landsAt(who))
            .map((one) => ({ what: `${one.who} lands later`, ...at(one, [one.who]) })),
      },
      {
        id: "ORDER",
        says: "What another dish needs is ready before it is begun.",
        find: (rows) =>
          before.flatMap(([first, then]) => {
            const [needed, one] = [
              rows.find(({ task }) => task === first),
              rows.find(({ task }) => task === then),
            ];
            return needed === undefined || one === undefined || one.start >= needed.end
              ? []
              : [{ what: `${then} begins before ${first} is ready`, ...at(one, [one.who]) }];
          }),
      },
      {
        id: "KITCHEN",
        says: `At most ${most} dishes at once.`,
        find: (rows) =>
          rows.flatMap((one) => {
            const busy = rows.filter(({ start, end }) => start <= one.start && end > one.start).length;
            return busy <= most ? [] : [{ what: `${busy} at once`, ...at(one, [one.who]) }];
          }),
      },
      {
        id: "DEADLINE",
        says: "Everything is ready at dinner.",
        find: (rows) =>
          rows
            .filter(({ end }) => end > constraints.dinner_deadline)
            .map((one) => ({ what: `${one.task} is late`, ...at(one, [one.who]) })),
      },
    ],
    unjudged: [
      { what: "time of a dish", why: "the instance does not say it" },
      { what: "way from the airport", why: "the instance has no roads" },
      ...nobodys.map((task) => ({ what: `skill for ${task}`, why: "nobody has it, so anybody may" })),
      ...before
        .filter(([, then]) => !tasks.includes(then))
        .map(([first, then]) => ({ what: `${first} before ${then}`, why: `${then} is no task` })),
    ],
  });
}
