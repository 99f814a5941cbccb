/** A small kit for rules about rows: each rule says what breaks it, and the picture follows from the rows. */
import type { z } from "zod";
import type { Bar, Broken, Checked } from "./checked.ts";
import type { Problem } from "../realm/problem.ts";

/** A problem that was read: with rows and rules of its own, or as a day. */
export type Instance =
  | { readonly rows: z.ZodType; readonly check: (rows: unknown) => Checked }
  | { readonly day: Problem; readonly unjudged: Checked["unjudged"] };

/** What a rule finds: the broken rule without its name. */
export type Found = Omit<Broken, "rule">;

export interface Rule<Row> {
  readonly id: string;
  readonly says: string;
  readonly find: (rows: readonly Row[]) => readonly Found[];
}

interface Made<Row> {
  readonly title: string;
  readonly unit: string;
  readonly row: z.ZodType<Row>;
  readonly rules: readonly Rule<Row>[];
  readonly unjudged: Checked["unjudged"];
  readonly bar: (row: Row) => Bar;
}

/** An instance whose schedule is a list of such rows, judged by such rules in their order. */
export const madeOf = <Row>({ title, unit, row, rules, unjudged, bar }: Made<Row>): Instance => ({
  rows: row.array(),
  check: (written) => {
    const rows = row.array().parse(written);
    const bars = rows.map(bar);
    const broken = rules.flatMap(({ id, find }) => find(rows).map((one) => ({ rule: id, ...one })));
    return {
      title,
      unit,
      rules: rules.map(({ id, says }) => ({ id, says })),
      broken: broken.toSorted((one, other) => (one.at ?? 0) - (other.at ?? 0)),
      unjudged,
      lanes: [...new Set(bars.map(({ lane }) => lane))].toSorted(),
      bars,
    };
  },
});

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where a row is in time, for what is said of it. */
export const at = ({ start, end }: Span, who: readonly string[], place?: string): Omit<Found, "what"> => ({
  at: start,
  until: end,
  who,
  ...(place === undefined ? {} : { place }),
});

/** No row ends before it begins, or takes no time. */
export const spanRule = <Row extends Span>(whoOf: (row: Row) => string): Rule<Row> => ({
  id: "SPAN",
  says: "Every row ends after it begins.",
  find: (rows) =>
    rows
      .filter(({ start, end }) => end <= start)
      .map((row) => ({
        what: `ends at ${row.end}, begins at ${row.start}`,
        at: row.start,
        who: [whoOf(row)],
      })),
});

/** Everything that a row names is the instance's. */
export const knownRule = <Row extends Span>(
  named: (row: Row) => readonly (readonly [what: string, name: string, known: readonly string[]])[],
  whoOf: (row: Row) => string,
): Rule<Row> => ({
  id: "KNOWN",
  says: "Every row names what the instance has.",
  find: (rows) =>
    rows.flatMap((row) =>
      named(row)
        .filter(([, name, known]) => !known.includes(name))
        .map(([what, name]) => ({ what: `no ${what} ${name}`, ...at(row, [whoOf(row)]) })),
    ),
});

/** Each of those is there once. */
export const onceRule = <Row extends Span>(
  what: string,
  wanted: readonly string[],
  nameOf: (row: Row) => string,
  whoOf: (row: Row) => string,
): Rule<Row> => ({
  id: "ONCE",
  says: `Every ${what} is there once.`,
  find: (rows) =>
    wanted.flatMap((name): Found[] => {
      const [first, ...more] = rows.filter((row) => nameOf(row) === name);
      if (first === undefined) return [{ what: `${what} ${name} is missing`, who: [] }];
      return more.map((row) => ({
        what: `${what} ${name} is there ${more.length + 1} times`,
        ...at(row, [whoOf(row)]),
      }));
    }),
});

/** Who or what does one thing at a time. */
export const oneAtATime = <Row extends Span>(
  id: string,
  says: string,
  whoOf: (row: Row) => string,
): Rule<Row> => ({
  id,
  says,
  find: (rows) =>
    rows.flatMap((row, index) =>
      rows.slice(index + 1).flatMap((other) => {
        const [from, until] = [Math.max(row.start, other.start), Math.min(row.end, other.end)];
        if (whoOf(row) !== whoOf(other) || from >= until) return [];
        return [{ what: `${whoOf(row)} does two things at once`, at: from, until, who: [whoOf(row)] }];
      }),
    ),
});

/** Hours of the data as minutes of the day. */
export const hours = (count: number): number => Math.round(count * 60);
