/** REALM-Bench 3 and 4: rides in a city, and rides that are disturbed. */
import { z } from "zod";
import { at, type Found, hours, knownRule, madeOf, oneAtATime, spanRule, type Instance } from "./rows-of.ts";

const window = z.tuple([z.number(), z.number()]);
const time = z.number();

const Rides = z.object({
  instance_id: z.string(),
  city_map: z.object({ locations: z.array(z.string()), distances: z.record(z.string(), z.number()) }),
  ride_requests: z.array(
    z.object({ passenger_id: z.string(), pickup: z.string(), dropoff: z.string(), time_window: window }),
  ),
  vehicles: z.array(z.object({ vehicle_id: z.string(), location: z.string(), capacity: z.number() })),
  disruptions: z
    .array(
      z.object({
        type: z.string(),
        route: z.string().optional(),
        start_time: z.number(),
        duration: z.number().optional(),
        delay: z.number().optional(),
      }),
    )
    .default([]),
});

/** P3, P4. Rows: `{ "vehicle", "from", "to", "start", "end", "passengers": [] }`, a leg each. */
export function ridesInstance(data: unknown): Instance | undefined {
  const read = Rides.safeParse(data);
  if (!read.success) return undefined;
  const { instance_id: title, city_map: city, ride_requests: requests, vehicles, disruptions } = read.data;
  const row = z.strictObject({
    vehicle: z.string(),
    from: z.string(),
    to: z.string(),
    start: time,
    end: time,
    passengers: z.array(z.string()).default([]),
  });
  type Row = z.infer<typeof row>;
  const named = requests.map(({ passenger_id }) => passenger_id);
  const inOrder = (rows: readonly Row[]) => rows.toSorted((one, other) => one.start - other.start);
  const disturbing = (one: Row, type: string) =>
    disruptions.filter(({ type: what, route, start_time, duration = Infinity }) => {
      const here = route === `${one.from}-${one.to}` || route === `${one.to}-${one.from}`;
      return what === type && here && one.start < hours(start_time) + duration && one.end > hours(start_time);
    });
  const takes = (one: Row) =>
    (city.distances[`${one.from}-${one.to}`] ?? Infinity) +
    disturbing(one, "traffic_delay").reduce((sum, { delay = 0 }) => sum + delay, 0);
  return madeOf<Row>({
    title,
    unit: "clock",
    row,
    bar: ({ vehicle, from, to, start, end, passengers }) => ({
      lane: vehicle,
      from: start,
      to: end,
      text: `${from}→${to}`,
      kind: passengers.length === 0 ? "empty" : "ride",
    }),
    rules: [
      {
        id: "SERVED",
        says: "Every passenger gets in at the pickup, not before the window opens, and out at the dropoff.",
        find: (rows) =>
          requests.flatMap(({ passenger_id: name, pickup, dropoff, time_window: [opens] }): Found[] => {
            const legs = inOrder(rows.filter(({ passengers }) => passengers.includes(name)));
            const [first, last] = [legs.at(0), legs.at(-1)];
            if (first === undefined || last === undefined)
              return [{ what: `${name} is not served`, who: [], place: pickup }];
            const torn = legs.some((leg, index) => index > 0 && legs[index - 1]?.to !== leg.from);
            return [
              ...(first.from === pickup && last.to === dropoff && !torn
                ? []
                : [
                    {
                      what: `${name} goes ${pickup} to ${dropoff}, not ${legs.map(({ from, to }) => `${from}-${to}`).join(", ")}`,
                      ...at(first, [first.vehicle], first.from),
                    },
                  ]),
              ...(first.start >= hours(opens)
                ? []
                : [
                    {
                      what: `${name} is there from ${Math.round(opens * 100) / 100} h`,
                      ...at(first, [first.vehicle], pickup),
                    },
                  ]),
            ];
          }),
      },
      knownRule(
        ({ vehicle, from, to, passengers }) => [
          ["vehicle", vehicle, vehicles.map(({ vehicle_id }) => vehicle_id)],
          ["place", from, city.locations],
          ["place", to, city.locations],
          ...passengers.map((name) => ["passenger", name, named] as const),
        ],
        ({ vehicle }) => vehicle,
      ),
      spanRule(({ vehicle }) => vehicle),
      oneAtATime("OVERLAP", "A vehicle drives one leg at a time.", ({ vehicle }) => vehicle),
      {
        id: "PLACE",
        says: "A vehicle leaves from where it is.",
        find: (rows) =>
          vehicles.flatMap(({ vehicle_id: vehicle, location }) => {
            const legs = inOrder(rows.filter((one) => one.vehicle === vehicle));
            return legs.flatMap((leg, index) => {
              const stands = legs[index - 1]?.to ?? location;
              return stands === leg.from
                ? []
                : [{ what: `it stands at ${stands}`, ...at(leg, [vehicle], leg.from) }];
            });
          }),
      },
      {
        id: "TRAVEL",
        says: "A leg takes its minutes, and what delays it.",
        find: (rows) =>
          rows
            .filter((one) => one.end - one.start < takes(one))
            .map((one) => ({
              what: `${one.from} to ${one.to} takes ${takes(one)}, not ${one.end - one.start}`,
              ...at(one, [one.vehicle], one.from),
            })),
      },
      {
        id: "CLOSED",
        says: "No leg is driven while its road is closed.",
        find: (rows) =>
          rows
            .filter((one) => disturbing(one, "road_closure").length > 0)
            .map((one) => ({
              what: `${one.from} to ${one.to} is closed`,
              ...at(one, [one.vehicle], one.from),
            })),
      },
      {
        id: "CAPACITY",
        says: "No vehicle carries more than it holds.",
        find: (rows) =>
          rows.flatMap((one) => {
            const holds = vehicles.find(({ vehicle_id }) => vehicle_id === one.vehicle)?.capacity ?? Infinity;
            const carries = new Set(one.passengers).size;
            return carries <= holds
              ? []
              : [{ what: `holds ${holds}, carries ${carries}`, ...at(one, [one.vehicle], one.from) }];
          }),
      },
    ],
    unjudged: [
      { what: "deadline", why: "minutes from a beginning that the instance does not say" },
      { what: "end of a window", why: "not said of what, and some end before they open" },
      { what: "fuel", why: "no unit, and nothing says what a minute of driving takes" },
      ...disruptions
        .filter(({ type }) => type !== "road_closure" && type !== "traffic_delay")
        .map(({ type }) => ({ what: type, why: "the instance does not say by how much it slows" })),
    ],
  });
}
