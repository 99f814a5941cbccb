/** Figures: medians, and a table for people. */

/** What a benchmark found. Cells that are numbers go into `--json` as they are. */
export interface Report {
  readonly title: string;
  readonly rows: readonly Readonly<Record<string, string | number>>[];
  readonly notes: readonly string[];
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/** The value that so large a share of them does not exceed, 0 to 1; NaN of none. */
export const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * share) - 1)] ??
  Number.NaN;

/** Three significant digits: more would be noise. */
export const rounded = (value: number): number => Number(value.toPrecision(3));

/** `0.52 (0.48 to 0.57)`: the median and the extremes. */
export const spread = (values: readonly number[]): string =>
  `${rounded(median(values))} (${rounded(Math.min(...values))} to ${rounded(Math.max(...values))})`;

export function renderReport({ title, rows, notes }: Report): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cells = [columns, ...rows.map((row) => columns.map((column) => cellOf(row[column])))];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)));
  const lines = cells.map((line) =>
    line
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return [title, "", ...lines, ...(notes.length > 0 ? ["", ...notes] : []), ""].join("\n");
}

const cellOf = (cell: string | number | undefined): string =>
  typeof cell === "number" ? cell.toLocaleString("en-US", { maximumSignificantDigits: 6 }) : (cell ?? "");
