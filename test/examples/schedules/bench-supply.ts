/** REALM-Bench 7 and 10: relief for regions, and components for a factory. */
import { z } from "zod";
import { at, type Found, knownRule, madeOf, oneAtATime, spanRule, type Instance } from "./rows-of.ts";

const time = z.number();

const ReliefFile = z.object({
  instance_id: z.string(),
  regions: z.array(z.object({ id: z.string(), severity: z.string(), needs: z.array(z.string()) })),
  resources: z.record(z.string(), z.number()),
  vehicles: z.array(z.object({ id: z.string(), capacity: z.number() })),
  deadlines: z.record(z.string(), z.number()),
  disruption_scenarios: z
    .array(z.object({ type: z.string(), resource: z.string().optional(), region: z.string().optional() }))
    .default([]),
});

/** P7. Rows: `{ "vehicle", "region", "resource", "amount", "start", "end" }`; times in hours. */
export function reliefInstance(data: unknown): Instance | undefined {
  const read = ReliefFile.safeParse(data);
  if (!read.success) return undefined;
  const {
    instance_id: title,
    regions,
    resources,
    vehicles,
    deadlines,
    disruption_scenarios: scenarios,
  } = read.data;
  const row = z.strictObject({
    vehicle: z.string(),
    region: z.string(),
    resource: z.string(),
    amount: z.number().positive(),
    start: time,
    end: time,
  });
  type Row = z.infer<typeof row>;
  // The needs say `medical` where the stores say `medical_supplies`.
  const meets = (resource: string, need: string) => resource === need || resource.startsWith(`${need}_`);
  const dueAt = (severity: string) => deadlines[severity] ?? Infinity;
  return madeOf<Row>({
    title,
    unit: "hours",
    row,
    bar: ({ vehicle, region, resource, start, end }) => ({
      lane: vehicle,
      from: start,
      to: end,
      text: `${resource} to ${region}`,
      kind: resource,
    }),
    rules: [
      {
        id: "NEEDS",
        says: "Every region gets some of all it needs, by its severity's deadline.",
        find: (rows) =>
          regions.flatMap(({ id, needs, severity }) =>
            needs.flatMap((need): Found[] => {
              const first = rows
                .filter(({ region, resource }) => region === id && meets(resource, need))
                .toSorted((one, other) => one.end - other.end)[0];
              if (first === undefined) return [{ what: `${id} gets no ${need}`, who: [], place: id }];
              return first.end <= dueAt(severity)
                ? []
                : [
                    {
                      what: `${need} is there after ${dueAt(severity)} h`,
                      ...at(first, [first.vehicle], id),
                    },
                  ];
            }),
          ),
      },
      knownRule(
        ({ vehicle, region, resource }) => [
          ["vehicle", vehicle, vehicles.map(({ id }) => id)],
          ["region", region, regions.map(({ id }) => id)],
          ["resource", resource, Object.keys(resources)],
        ],
        ({ vehicle }) => vehicle,
      ),
      spanRule(({ vehicle }) => vehicle),
      oneAtATime("OVERLAP", "A vehicle makes one delivery at a time.", ({ vehicle }) => vehicle),
      {
        id: "CAPACITY",
        says: "No vehicle carries more than it holds.",
        find: (rows) =>
          rows.flatMap((one) => {
            const holds = vehicles.find(({ id }) => id === one.vehicle)?.capacity ?? Infinity;
            return one.amount <= holds
              ? []
              : [{ what: `holds ${holds}, carries ${one.amount}`, ...at(one, [one.vehicle], one.region) }];
          }),
      },
      {
        id: "STOCK",
        says: "No more is delivered than there is.",
        find: (rows) =>
          Object.entries(resources).flatMap(([resource, stock]) => {
            const sum = rows
              .filter((one) => one.resource === resource)
              .reduce((all, { amount }) => all + amount, 0);
            return sum <= stock ? [] : [{ what: `${sum} of ${stock} ${resource}`, who: [] }];
          }),
      },
    ],
    unjudged: [
      { what: "how much a region needs", why: "the instance does not say it" },
      { what: "travel", why: "places are given, speeds are not" },
      { what: "personnel", why: "nothing says where they are needed" },
      ...scenarios.map(({ type, region, resource }) => ({
        what: `${type} ${region ?? resource ?? ""}`,
        why: "nothing says when it begins",
      })),
    ],
  });
}

const SupplyFile = z.object({
  instance_id: z.string(),
  suppliers: z.array(z.object({ supplier_id: z.string(), capacity: z.number(), lead_time: z.number() })),
  components: z.array(z.string()),
  facilities: z.array(z.object({ facility_id: z.string(), capacity: z.number(), cost_per_unit: z.number() })),
  budget: z.number(),
  delivery_deadlines: z.record(z.string(), z.number()),
  disruption_scenarios: z
    .array(z.object({ type: z.string(), component: z.string().optional(), facility: z.string().optional() }))
    .default([]),
});

/** P10. Rows: `{ "supplier" or "facility", "what", "amount", "start", "end" }`; times in days. */
export function supplyInstance(data: unknown): Instance | undefined {
  const read = SupplyFile.safeParse(data);
  if (!read.success) return undefined;
  const {
    instance_id: title,
    suppliers,
    components,
    facilities,
    budget,
    delivery_deadlines: deadlines,
    disruption_scenarios: scenarios,
  } = read.data;
  const row = z.strictObject({
    by: z.string(),
    what: z.string(),
    amount: z.number().positive(),
    start: time,
    end: time,
  });
  type Row = z.infer<typeof row>;
  const supplierOf = ({ by }: Row) => suppliers.find(({ supplier_id }) => supplier_id === by);
  const facilityOf = ({ by }: Row) => facilities.find(({ facility_id }) => facility_id === by);
  return madeOf<Row>({
    title,
    unit: "days",
    row,
    bar: ({ by, what, start, end }) => ({ lane: by, from: start, to: end, text: what, kind: what }),
    rules: [
      {
        id: "DELIVERED",
        says: "Every component is ordered, and there by its deadline.",
        find: (rows) =>
          components.flatMap((component): Found[] => {
            const orders = rows.filter((one) => one.what === component && supplierOf(one) !== undefined);
            const due = deadlines[component] ?? Infinity;
            if (orders.length === 0) return [{ what: `${component} is not ordered`, who: [] }];
            return orders
              .filter(({ end }) => end > due)
              .map((one) => ({ what: `${component} is due on day ${due}`, ...at(one, [one.by]) }));
          }),
      },
      knownRule(
        (one) => [
          [
            "supplier or facility",
            one.by,
            [
              ...suppliers.map(({ supplier_id }) => supplier_id),
              ...facilities.map(({ facility_id }) => facility_id),
            ],
          ],
          ...(supplierOf(one) === undefined ? [] : [["component", one.what, components] as const]),
        ],
        ({ by }) => by,
      ),
      spanRule(({ by }) => by),
      {
        id: "LEAD",
        says: "An order takes its supplier's lead time.",
        find: (rows) =>
          rows.flatMap((one) => {
            const lead = supplierOf(one)?.lead_time ?? 0;
            return one.end - one.start >= lead
              ? []
              : [{ what: `takes ${lead} days, not ${one.end - one.start}`, ...at(one, [one.by]) }];
          }),
      },
      {
        id: "CAPACITY",
        says: "No supplier and no facility does more than it can, all rows together.",
        find: (rows) =>
          [...Map.groupBy(rows, ({ by }) => by)].flatMap(([by, all]) => {
            const [first] = all;
            const most =
              first === undefined
                ? Infinity
                : (supplierOf(first)?.capacity ?? facilityOf(first)?.capacity ?? Infinity);
            const sum = all.reduce((total, { amount }) => total + amount, 0);
            return sum <= most || first === undefined
              ? []
              : [{ what: `${sum} of ${most}`, ...at(first, [by]) }];
          }),
      },
      {
        id: "BUDGET",
        says: `The facilities' work costs ${budget} at most.`,
        find: (rows) => {
          const cost = rows.reduce((sum, one) => sum + one.amount * (facilityOf(one)?.cost_per_unit ?? 0), 0);
          return cost <= budget ? [] : [{ what: `costs ${cost}`, who: [] }];
        },
      },
    ],
    unjudged: [
      { what: "price of a component", why: "only its multiplier is given" },
      { what: "dependencies", why: "they name steps that the instance does not have as such" },
      { what: "how much is wanted", why: "the instance does not say it" },
      ...scenarios.map(({ type, component, facility }) => ({
        what: `${type} ${component ?? facility ?? ""}`,
        why: "nothing says when it begins",
      })),
    ],
  });
}
