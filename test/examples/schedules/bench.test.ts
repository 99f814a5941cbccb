/**
 * Goal: of every problem of REALM-Bench that has rules here a right schedule is accepted and each rule is broken by what it
 * forbids and by its own name. Method: an instance of our own in the benchmark's form for each problem, a schedule that
 * keeps every rule, and for every rule an edit that breaks it.
 */
import { describe, expect, test } from "vitest";
import { checkTexts } from "./check.ts";
import type { Checked } from "./checked.ts";

type Rows = readonly Readonly<Record<string, unknown>>[];
interface Case {
  readonly instance: object;
  readonly good: Rows;
  readonly spoil: Readonly<Record<string, (rows: Rows) => Rows>>;
}

const check = (instance: object, rows: Rows): Checked =>
  checkTexts(
    { file: "problem.json", text: JSON.stringify(instance) },
    { file: "rows.json", text: JSON.stringify(rows) },
  );
const without = (index: number) => (rows: Rows) => rows.toSpliced(index, 1);
const change = (index: number, into: object) => (rows: Rows) =>
  rows.map((row, at) => (at === index ? { ...row, ...into } : row));
const again = (index: number) => (rows: Rows) => [...rows, { ...rows[index] }];

const tour: Case = {
  instance: {
    instance_id: "a tour",
    locations: ["gate", "hall", "lab"],
    start_location: "gate",
    end_location: "gate",
    distances: {
      "gate-hall": 10,
      "hall-lab": 5,
      "lab-gate": 20,
      "gate-lab": 20,
      "hall-gate": 10,
      "lab-hall": 5,
    },
    time_windows: { hall: [9, 10], lab: [9, 12] },
    max_duration: 120,
  },
  good: [
    { place: "gate", start: "09:00", end: "09:00" },
    { place: "hall", start: "09:10", end: "09:40" },
    { place: "lab", start: "09:45", end: "10:15" },
    { place: "gate", start: "10:35", end: "10:35" },
  ],
  spoil: {
    ENDS: without(3),
    ONCE: without(1),
    KNOWN: change(1, { place: "moon" }),
    SPAN: change(1, { end: "09:05" }),
    TRAVEL: change(3, { start: "10:20" }),
    WINDOW: change(1, { end: "10:01" }),
    DURATION: change(3, { end: "11:01" }),
  },
};
const tours: Case = {
  instance: {
    instance_id: "tours",
    visitor_groups: [
      { group_id: "a", size: 10, arrival_time: 9 },
      { group_id: "b", size: 4, arrival_time: 9 },
    ],
    tour_guides: [
      { guide_id: "gil", availability: [9, 12], max_group_size: 10 },
      { guide_id: "hal", availability: [9, 12], max_group_size: 5 },
    ],
    tour_duration: 60,
    max_group_size: 12,
  },
  good: [
    { group: "a", guide: "gil", start: 540, end: 600 },
    { group: "b", guide: "gil", start: 600, end: 660 },
  ],
  spoil: {
    ONCE: again(0),
    KNOWN: change(1, { guide: "ida" }),
    SPAN: change(1, { end: 600 }),
    OVERLAP: change(1, { start: 590, end: 650 }),
    AVAILABLE: change(1, { start: 700, end: 730 }),
    ARRIVED: change(0, { start: 530 }),
    SIZE: change(0, { guide: "hal" }),
    DURATION: change(1, { end: 661 }),
  },
};
const rides: Case = {
  instance: {
    instance_id: "rides",
    city_map: {
      locations: ["a", "b", "c"],
      distances: { "a-b": 10, "b-a": 10, "b-c": 20, "c-b": 20, "a-c": 15, "c-a": 15 },
    },
    ride_requests: [
      { passenger_id: "p", pickup: "a", dropoff: "c", time_window: [9, 10] },
      { passenger_id: "q", pickup: "b", dropoff: "c", time_window: [9, 10] },
    ],
    vehicles: [
      { vehicle_id: "v", location: "a", capacity: 2 },
      { vehicle_id: "w", location: "c", capacity: 1 },
    ],
    disruptions: [
      { type: "road_closure", route: "a-c", start_time: 8, duration: 180 },
      { type: "traffic_delay", route: "c-b", start_time: 9, duration: 60, delay: 5 },
      { type: "accident", location: "a", start_time: 9, duration: 5 },
    ],
  },
  good: [
    { vehicle: "v", from: "a", to: "b", start: 540, end: 550, passengers: ["p"] },
    { vehicle: "v", from: "b", to: "c", start: 550, end: 575, passengers: ["p", "q"] },
  ],
  spoil: {
    SERVED: change(0, { passengers: [] }),
    KNOWN: change(1, { passengers: ["p", "q", "z"] }),
    SPAN: change(1, { end: 550 }),
    OVERLAP: change(1, { start: 545 }),
    PLACE: change(0, { vehicle: "w" }),
    TRAVEL: change(1, { end: 574 }),
    CLOSED: change(1, { from: "a", end: 700 }),
    CAPACITY: (rows) => [
      ...rows,
      { vehicle: "w", from: "c", to: "b", start: 700, end: 730, passengers: ["p", "q"] },
    ],
  },
};
const dinner: Case = {
  instance: {
    instance_id: "dishes",
    cooking_tasks: ["turkey", "gravy", "pie"],
    family_members: [
      { id: "ann", skills: ["turkey", "gravy"], flight: null },
      { id: "bob", skills: ["gravy"], flight: "one" },
    ],
    flights: { one: { arrival_time: "14:00" } },
    cooking_dependencies: [
      ["turkey", "gravy"],
      ["pie", "cream"],
    ],
    constraints: { dinner_deadline: "18:00", max_cooks: 2, kitchen_capacity: 1 },
    disruptions: [{ type: "flight_delay", flight: "one", new_arrival_time: "15:00" }],
  },
  good: [
    { task: "turkey", who: "ann", start: "13:00", end: "16:00" },
    { task: "gravy", who: "bob", start: "16:00", end: "16:30" },
    { task: "pie", who: "bob", start: "16:30", end: "17:30" },
  ],
  spoil: {
    ONCE: without(2),
    KNOWN: change(2, { who: "cal" }),
    SPAN: change(1, { end: "15:30" }),
    SKILL: change(0, { who: "bob" }),
    LANDED: change(1, { start: "14:30" }),
    ORDER: change(1, { start: "15:30" }),
    KITCHEN: change(2, { start: "16:10" }),
    DEADLINE: change(2, { end: "18:01" }),
  },
};
const relief: Case = {
  instance: {
    instance_id: "relief",
    regions: [{ id: "r", severity: "critical", needs: ["medical", "food"] }],
    resources: { medical_supplies: 10, food: 20 },
    vehicles: [{ id: "truck", capacity: 8 }],
    deadlines: { critical: 4 },
    disruption_scenarios: [{ type: "weather_event", region: "r" }],
  },
  good: [
    { vehicle: "truck", region: "r", resource: "medical_supplies", amount: 8, start: 0, end: 2 },
    { vehicle: "truck", region: "r", resource: "food", amount: 8, start: 2, end: 4 },
  ],
  spoil: {
    NEEDS: change(1, { end: 5 }),
    KNOWN: change(1, { region: "s" }),
    SPAN: change(1, { end: 2 }),
    OVERLAP: change(1, { start: 1 }),
    CAPACITY: change(1, { amount: 9 }),
    STOCK: again(0),
  },
};
const supply: Case = {
  instance: {
    instance_id: "supply",
    suppliers: [{ supplier_id: "s", capacity: 10, lead_time: 20 }],
    components: ["chip", "fan"],
    facilities: [{ facility_id: "assembly", capacity: 6, cost_per_unit: 100 }],
    budget: 500,
    delivery_deadlines: { chip: 30 },
    dependencies: [["fan", "assembly"]],
    disruption_scenarios: [{ type: "machine_breakdown", facility: "assembly" }],
  },
  good: [
    { by: "s", what: "chip", amount: 5, start: 0, end: 20 },
    { by: "s", what: "fan", amount: 5, start: 0, end: 25 },
    { by: "assembly", what: "build", amount: 5, start: 25, end: 30 },
  ],
  spoil: {
    DELIVERED: change(0, { end: 31 }),
    KNOWN: change(1, { what: "fin" }),
    SPAN: change(2, { end: 25 }),
    LEAD: change(0, { end: 19 }),
    CAPACITY: change(1, { amount: 6 }),
    BUDGET: change(2, { amount: 6 }),
  },
};

describe.each([
  ["P1", tour],
  ["P2", tours],
  ["P3 and P4", rides],
  ["P6 and P9", dinner],
  ["P7", relief],
  ["P10", supply],
])("%s", (_, { instance, good, spoil }) => {
  test("accepts a schedule that keeps every rule, and says what it cannot judge", () => {
    const { broken, unjudged, rules } = check(instance, good);
    expect(broken).toEqual([]);
    expect(unjudged.length).toBeGreaterThan(0);
    expect(rules.map(({ id }) => id).toSorted()).toEqual(Object.keys(spoil).toSorted());
  });

  test.each(Object.entries(spoil))("finds %s broken, with who and when", (rule, spoilt) => {
    const found = check(instance, spoilt(good)).broken.filter((one) => one.rule === rule);
    expect(found.length).toBeGreaterThan(0);
    expect(found.every(({ what }) => what !== "")).toBe(true);
    // What is missing, and what is counted over the whole day, is at no time and nobody's.
    const whole = ["NEEDS", "STOCK", "DELIVERED", "BUDGET", "ONCE", "SERVED"].includes(rule);
    const placed = found.filter(({ at, who }) => at !== undefined && who.length > 0);
    expect(placed.length).toBeGreaterThanOrEqual(whole ? 0 : 1);
  });
});

describe("P5 and P8", () => {
  const instance = {
    instance_id: "a wedding",
    locations: { A: "Airport", S: "Gift shop", C: "Tailor shop", V: "Wedding venue" },
    travel_times: { "A-V": 30, "S-V": 10, "C-V": 10, "C-S": 10, "A-S": 30 },
    guests: [
      { name: "Ann", location: "A", arrival_time: "11:00" },
      { name: "Bob", location: "V", arrival_time: "10:00", has_car: true, car_capacity: 4 },
    ],
    vehicles: [{ id: "van", location: "hotel" }],
    errands: ["cake"],
    constraints: { gift_store_opens: "12:00", tailor_closes: "14:00", photo_time: "15:00" },
  };
  const drive = (from: string, to: string, start: number, end: number, ...who: string[]) => ({
    ...{ type: "drive", driver: "Bob", who: ["Bob", ...who], from, to, start, end },
  });
  const task = (name: string, place: string, start: number) => ({
    ...{ type: "task", task: name, place, who: ["Bob"], start, end: start },
  });
  const good = [
    drive("V", "A", 640, 670),
    drive("A", "V", 690, 720, "Ann"),
    drive("V", "C", 720, 730),
    task("clothes", "C", 730),
    drive("C", "S", 730, 740),
    task("gift", "S", 740),
    drive("S", "V", 740, 750),
    { type: "photo", place: "V", who: ["all"], start: 900 },
  ];

  test("a wedding of the benchmark is judged by the wedding's own rules, and its errands and vans are not judged", () => {
    const { broken, unjudged, rules } = check(instance, good);
    expect(broken).toEqual([]);
    expect(rules.map(({ id }) => id)).toContain("WED-TAILOR-CLOSE");
    expect(unjudged.map(({ what }) => what)).toEqual(["errand cake", "vehicle van"]);
  });

  test("a road of the instance that is closed is closed, and one that is none is not judged", () => {
    const disruptions = [
      { type: "road_closure", route: "V-A", start_time: "10:00", duration: 60 },
      { type: "road_closure", route: "hotel-church", start_time: "10:00", duration: 60 },
    ];
    const { broken, unjudged } = check({ ...instance, disruptions }, good);
    expect(broken.map(({ rule, at, who, place }) => [rule, at, who, place])).toEqual([
      ["WED-TRAVEL", 640, ["Bob"], "V"],
    ]);
    expect(unjudged.map(({ what }) => what)).toContain("road_closure hotel-church");
  });
});
