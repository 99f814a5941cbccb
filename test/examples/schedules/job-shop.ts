/**
 * Job shops in the usual texts, and a checker of their schedules.
 *
 * Two texts are read: a line `jobs machines` and a line for each job of pairs `machine minutes`, machines from 0 (ft06,
 * la01); and Taillard's, whose `Times` and `Machines` are two tables, machines from 1. Words around the numbers are left
 * out.
 *
 * A schedule is JSON: `[{ "job": 0, "step": 0, "machine": 2, "start": 0, "end": 1 }, …]`, all counted from 0; `machine` and
 * `end` may be left out, and are what the instance says.
 */
import { z } from "zod";
import type { Broken, Checked } from "./checked.ts";

export interface JobShop {
  readonly name: string;
  readonly machines: number;
  /** For each job its steps, in order. */
  readonly jobs: readonly (readonly { readonly machine: number; readonly takes: number }[])[];
  /** What the best known schedule takes, and the least that any can. */
  readonly best?: number;
  readonly least?: number;
}

/** Best known makespans, all of them proved to be the least. */
const known: Readonly<Record<string, number>> = {
  ...{ ft06: 55, ft10: 930, ft20: 1_165 },
  ...{
    la01: 666,
    la02: 655,
    la03: 597,
    la04: 590,
    la05: 593,
    la06: 926,
    la07: 890,
    la08: 863,
    la09: 951,
    la10: 958,
  },
  ...{ ta01: 1_231, ta02: 1_244, ta03: 1_218, ta04: 1_175, ta05: 1_224 },
};

const numbersIn = (line: string): number[] => (line.match(/-?\d+/g) ?? []).map(Number);
const onlyNumbers = (line: string): boolean => /^[\s\d]+$/.test(line) && /\d/.test(line);

/** Reads an instance; throws with the line's number where the text is none. */
export function readJobShop(text: string, name: string): JobShop {
  const lines = text.split(/\r?\n/).map((line, index) => ({ line, number: index + 1 }));
  const rows = lines
    .filter(({ line }) => onlyNumbers(line))
    .map(({ line, number }) => ({ numbers: numbersIn(line), number }));
  const [head, ...rest] = rows;
  const [count, machines] = head?.numbers ?? [];
  if (head === undefined || count === undefined || machines === undefined || count < 1 || machines < 1)
    throw new Error("no job shop: expected a line `jobs machines`");
  const isTaillard = lines.some(({ line }) => /^\s*times\b/i.test(line));
  const jobs = isTaillard ? taillard(rest, count, machines) : standard(rest, count, machines);
  const bare = name.toLowerCase();
  const [upper, lower] = isTaillard ? head.numbers.slice(4, 6) : [];
  return { name, machines, jobs, best: known[bare] ?? upper, least: known[bare] ?? lower };
}

type Rows = readonly { readonly numbers: readonly number[]; readonly number: number }[];

function standard(rows: Rows, count: number, machines: number): JobShop["jobs"] {
  if (rows.length < count) throw new Error(`no job shop: expected ${count} jobs, got ${rows.length}`);
  return rows.slice(0, count).map(({ numbers, number }) => {
    if (numbers.length !== 2 * machines)
      throw new Error(`line ${number}: expected ${machines} pairs, got ${numbers.length} numbers`);
    return Array.from({ length: machines }, (_, step) =>
      stepAt(numbers[2 * step], numbers[2 * step + 1], machines, number),
    );
  });
}

function taillard(rows: Rows, count: number, machines: number): JobShop["jobs"] {
  if (rows.length < 2 * count)
    throw new Error(`no job shop: expected ${count} rows of times and of machines, got ${rows.length}`);
  return rows.slice(0, count).map(({ numbers, number }, job) => {
    const order = rows[count + job]?.numbers ?? [];
    if (numbers.length !== machines || order.length !== machines)
      throw new Error(
        `line ${number}: expected ${machines} times and machines, got ${numbers.length} and ${order.length}`,
      );
    return numbers.map((takes, step) => stepAt((order[step] ?? 0) - 1, takes, machines, number));
  });
}

function stepAt(machine: number | undefined, takes: number | undefined, machines: number, number: number) {
  if (machine === undefined || takes === undefined || machine < 0 || machine >= machines || takes < 0)
    throw new Error(`line ${number}: no machine ${machine} of ${machines}`);
  return { machine, takes };
}

const count = z.int().nonnegative();
export const Operations = z.array(
  z.strictObject({
    job: count,
    step: count,
    machine: count.optional(),
    start: z.number(),
    end: z.number().optional(),
  }),
);
type Operation = { job: number; step: number; machine: number; start: number; end: number };

const rules = [
  { id: "COMPLETE", says: "Every step of every job is there once, and no other." },
  { id: "MACHINE", says: "A step is on the machine that the instance says." },
  { id: "DURATION", says: "A step takes the time that the instance says, and does not begin before 0." },
  { id: "ORDER", says: "A step of a job begins when the one before it has ended." },
  { id: "OVERLAP", says: "A machine does one thing at a time." },
] as const;

/** Judges a schedule of the instance, and holds what it takes against the best that is known. */
export function checkJobShop(shop: JobShop, written: z.infer<typeof Operations>): Checked {
  const stepOf = ({ job, step }: { job: number; step: number }) => shop.jobs[job]?.[step];
  const operations = written.map((one): Operation => {
    const { machine = stepOf(one)?.machine ?? 0, end = one.start + (stepOf(one)?.takes ?? 0) } = one;
    return { ...one, machine, end };
  });
  const broken = [
    ...incomplete(shop, operations),
    ...operations.flatMap((one) => alone(shop, one)),
    ...disordered(operations),
    ...overlapping(operations),
  ];
  const makespan = Math.max(0, ...operations.map(({ end }) => end));
  return {
    title: shop.name,
    unit: "time",
    rules,
    broken: broken.toSorted((one, other) => (one.at ?? 0) - (other.at ?? 0)),
    unjudged: [],
    lanes: Array.from({ length: shop.machines }, (_, machine) => laneOf(machine)),
    bars: operations.map(({ job, step, machine, start, end }) => ({
      lane: laneOf(machine),
      from: start,
      to: end,
      text: `${job}.${step}`,
      kind: `job ${job}`,
    })),
    notes: [makespanText(shop, makespan, broken.length === 0)],
  };
}

/** What it takes against what is known; of a schedule that breaks a rule no comparison is worth anything. */
function makespanText({ best, least, jobs, machines }: JobShop, makespan: number, kept: boolean): string {
  const size = `${jobs.length} jobs on ${machines} machines; makespan ${makespan}`;
  if (!kept) return `${size}, of a schedule that is none`;
  if (best === undefined) return `${size}; no best is known here`;
  if (least !== undefined && makespan < least)
    return `${size}, less than the least that is possible, ${least}: look at the instance`;
  const gap = Math.round(((makespan - best) / best) * 1_000) / 10;
  if (makespan > best) return `${size}, ${gap} % over the best known, ${best}`;
  return `${size}, ${makespan === least ? "the least that is possible" : `no more than the best known, ${best}`}`;
}

const laneOf = (machine: number) => `machine ${machine}`;
const nameOf = ({ job, step }: { job: number; step: number }) => `job ${job} step ${step}`;
const at = ({ machine, start, end }: Operation) => ({ at: start, until: end, who: [laneOf(machine)] });

function incomplete({ jobs }: JobShop, operations: readonly Operation[]): Broken[] {
  const times = Map.groupBy(operations, nameOf);
  const missing = jobs.flatMap((steps, job) =>
    steps.flatMap(({ machine }, step) =>
      times.has(nameOf({ job, step }))
        ? []
        : [{ rule: "COMPLETE", what: `${nameOf({ job, step })} is missing`, who: [laneOf(machine)] }],
    ),
  );
  const extra = [...times].flatMap(([name, [first, ...more]]) => {
    if (first === undefined) return [];
    if (jobs[first.job]?.[first.step] === undefined)
      return [{ rule: "COMPLETE", what: `the instance has no ${name}`, ...at(first) }];
    return more.map((one) => ({
      rule: "COMPLETE",
      what: `${name} is there ${more.length + 1} times`,
      ...at(one),
    }));
  });
  return [...missing, ...extra];
}

function alone({ jobs }: JobShop, one: Operation): Broken[] {
  const asked = jobs[one.job]?.[one.step];
  if (asked === undefined) return [];
  const { start, end, machine } = one;
  return [
    ...(machine === asked.machine
      ? []
      : [{ rule: "MACHINE", what: `${nameOf(one)} is for machine ${asked.machine}`, ...at(one) }]),
    ...(end - start === asked.takes && start >= 0
      ? []
      : [{ rule: "DURATION", what: `${nameOf(one)} takes ${asked.takes}, not ${start}-${end}`, ...at(one) }]),
  ];
}

function disordered(operations: readonly Operation[]): Broken[] {
  return operations.flatMap((one) =>
    operations
      .filter(({ job, step, end }) => job === one.job && step < one.step && end > one.start)
      .map((before) => ({
        rule: "ORDER",
        what: `${nameOf(one)} begins at ${one.start}, ${nameOf(before)} ends at ${before.end}`,
        ...at(one),
      })),
  );
}

function overlapping(operations: readonly Operation[]): Broken[] {
  return operations.flatMap((one, index) =>
    operations.slice(index + 1).flatMap((other) => {
      const [from, until] = [Math.max(one.start, other.start), Math.min(one.end, other.end)];
      if (one.machine !== other.machine || from >= until) return [];
      const what = `${nameOf(one)} and ${nameOf(other)} at once, ${from}-${until}`;
      return [{ rule: "OVERLAP", what, at: from, until, who: [laneOf(one.machine)] }];
    }),
  );
}
