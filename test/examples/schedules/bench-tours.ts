/** REALM-Bench 1 and 2: a campus tour, and tours of several groups. */
import { z } from "zod";
import { at, hours, knownRule, madeOf, onceRule, oneAtATime, spanRule, type Instance } from "./rows-of.ts";

const window = z.tuple([z.number(), z.number()]);
const time = z.number();

const Tour = z.object({
  instance_id: z.string(),
  start_location: z.string(),
  end_location: z.string(),
  locations: z.array(z.string()),
  distances: z.record(z.string(), z.number()),
  time_windows: z.record(z.string(), window),
  max_duration: z.number(),
});

/** P1. Rows: `{ "place", "start", "end" }`, a stay each, the start and the end of the tour among them. */
export function tourInstance(data: unknown): Instance | undefined {
  const read = Tour.safeParse(data);
  if (!read.success) return undefined;
  const {
    instance_id: title,
    locations,
    distances,
    time_windows: windows,
    max_duration: most,
    ...ends
  } = read.data;
  const row = z.strictObject({ place: z.string(), start: time, end: time });
  type Row = z.infer<typeof row>;
  const inOrder = (rows: readonly Row[]) => rows.toSorted((one, other) => one.start - other.start);
  const who = ["tour"];
  const stops = locations.filter((place) => place !== ends.start_location && place !== ends.end_location);
  return madeOf<Row>({
    title,
    unit: "clock",
    row,
    bar: ({ place, start, end }) => ({ lane: "tour", from: start, to: end, text: place, kind: place }),
    rules: [
      {
        id: "ENDS",
        says: `The tour begins at ${ends.start_location} and ends at ${ends.end_location}.`,
        find: (rows) => {
          const [first, last] = [inOrder(rows).at(0), inOrder(rows).at(-1)];
          if (first === undefined || last === undefined) return [{ what: "there is no tour", who }];
          return [
            ...(first.place === ends.start_location
              ? []
              : [{ what: `begins at ${first.place}`, ...at(first, who, first.place) }]),
            ...(last.place === ends.end_location && rows.length > 1
              ? []
              : [{ what: `ends at ${last.place}`, ...at(last, who, last.place) }]),
          ];
        },
      },
      onceRule(
        "stop",
        stops,
        ({ place }) => place,
        () => "tour",
      ),
      knownRule(
        ({ place }) => [["place", place, locations]],
        () => "tour",
      ),
      {
        id: "SPAN",
        says: "No stay ends before it begins.",
        find: (rows) =>
          rows
            .filter(({ start, end }) => end < start)
            .map((one) => ({ what: `ends before it begins`, ...at(one, who, one.place) })),
      },
      {
        id: "TRAVEL",
        says: "The way from stop to stop takes its minutes.",
        find: (rows) =>
          inOrder(rows).flatMap((one, index, all) => {
            const next = all[index + 1];
            if (next === undefined) return [];
            const takes =
              one.place === next.place ? 0 : (distances[`${one.place}-${next.place}`] ?? Infinity);
            if (next.start - one.end >= takes) return [];
            return [
              {
                what: `${one.place} to ${next.place} takes ${takes}, not ${next.start - one.end}`,
                at: one.end,
                until: next.start,
                who,
                place: one.place,
              },
            ];
          }),
      },
      {
        id: "WINDOW",
        says: "Every stop is visited while it is open.",
        find: (rows) =>
          rows.flatMap((one) => {
            const [opens, closes] = windows[one.place] ?? [-Infinity, Infinity];
            if (one.start >= hours(opens) && one.end <= hours(closes)) return [];
            return [{ what: `${one.place} is open ${opens} to ${closes} h`, ...at(one, who, one.place) }];
          }),
      },
      {
        id: "DURATION",
        says: `The tour takes ${most} minutes at most.`,
        find: (rows) => {
          const [from, to] = [
            Math.min(...rows.map(({ start }) => start)),
            Math.max(...rows.map(({ end }) => end)),
          ];
          return to - from <= most || rows.length === 0
            ? []
            : [{ what: `takes ${to - from}`, at: from, until: to, who }];
        },
      },
    ],
    unjudged: [{ what: "length of a visit", why: "the instance does not say it" }],
  });
}

const Tours = z.object({
  instance_id: z.string(),
  visitor_groups: z.array(z.object({ group_id: z.string(), size: z.number(), arrival_time: z.number() })),
  tour_guides: z.array(z.object({ guide_id: z.string(), availability: window, max_group_size: z.number() })),
  tour_duration: z.number(),
  max_group_size: z.number(),
});

/** P2. Rows: `{ "group", "guide", "start", "end" }`. */
export function toursInstance(data: unknown): Instance | undefined {
  const read = Tours.safeParse(data);
  if (!read.success) return undefined;
  const {
    instance_id: title,
    visitor_groups: groups,
    tour_guides: guides,
    tour_duration: takes,
    max_group_size: room,
  } = read.data;
  const row = z.strictObject({ group: z.string(), guide: z.string(), start: time, end: time });
  type Row = z.infer<typeof row>;
  const groupOf = ({ group }: Row) => groups.find(({ group_id }) => group_id === group);
  const guideOf = ({ guide }: Row) => guides.find(({ guide_id }) => guide_id === guide);
  const named = groups.map(({ group_id }) => group_id);
  return madeOf<Row>({
    title,
    unit: "clock",
    row,
    bar: ({ group, guide, start, end }) => ({ lane: guide, from: start, to: end, text: group, kind: group }),
    rules: [
      onceRule(
        "group",
        named,
        ({ group }) => group,
        ({ guide }) => guide,
      ),
      knownRule(
        ({ group, guide }) => [
          ["group", group, named],
          ["guide", guide, guides.map(({ guide_id }) => guide_id)],
        ],
        ({ guide }) => guide,
      ),
      spanRule(({ guide }) => guide),
      oneAtATime("OVERLAP", "A guide leads one group at a time.", ({ guide }) => guide),
      {
        id: "AVAILABLE",
        says: "A guide leads only while available.",
        find: (rows) =>
          rows.flatMap((one) => {
            const [from, to] = guideOf(one)?.availability ?? [-Infinity, Infinity];
            if (one.start >= hours(from) && one.end <= hours(to)) return [];
            return [{ what: `${one.guide} is there ${from} to ${to} h`, ...at(one, [one.guide]) }];
          }),
      },
      {
        id: "ARRIVED",
        says: "No tour begins before its group has arrived.",
        find: (rows) =>
          rows.flatMap((one) => {
            const from = hours(groupOf(one)?.arrival_time ?? -Infinity);
            return one.start >= from
              ? []
              : [{ what: `${one.group} arrives at ${from / 60} h`, ...at(one, [one.guide]) }];
          }),
      },
      {
        id: "SIZE",
        says: "No group is larger than its guide leads.",
        find: (rows) =>
          rows.flatMap((one) => {
            const [size, most] = [
              groupOf(one)?.size ?? 0,
              Math.min(room, guideOf(one)?.max_group_size ?? room),
            ];
            return size <= most
              ? []
              : [{ what: `${one.group} are ${size}, at most ${most}`, ...at(one, [one.guide]) }];
          }),
      },
      {
        id: "DURATION",
        says: `A tour takes ${takes} minutes at most.`,
        find: (rows) =>
          rows
            .filter(({ start, end }) => end - start > takes)
            .map((one) => ({ what: `takes ${one.end - one.start}`, ...at(one, [one.guide]) })),
      },
    ],
    unjudged: [{ what: "preferred_time", why: "a wish, of which the text does not say what it costs" }],
  });
}
