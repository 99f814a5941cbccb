/**
 * Tables text: what people are told while tables are filled, and rows as a table or as CSV.
 */
import type { Answer } from "../../tables/ask.ts";
import type { Filling } from "../../runtime/tables.ts";
import type { Place } from "../../tables/store.ts";
import type { Output } from "../frame/output.ts";
import { table } from "../frame/table.ts";

/** How often it is said how far they are, and after how long for the first time. */
const sayEveryMs = 2_000;

/** Says now and then how far the tables are, as long as much is left. */
export function tellProgress({ note }: Pick<Output, "note">): Pick<Filling, "report" | "note"> {
  let saidAt = Date.now();
  return {
    note,
    report: ({ read, stored, byAnother }) => {
      if (read >= stored || Date.now() - saidAt < sayEveryMs) return;
      saidAt = Date.now();
      note(`${read} of ${stored} messages of the ledgers are read${byAnother ? ", by another process" : ""}`);
    },
  };
}

/** Messages that were read and that are stored, over all shards. */
export const countedTo = (
  places: readonly Place[],
  stored: readonly number[],
): { readonly read: number; readonly stored: number } => ({
  read: places.reduce((sum, { through }) => sum + through, 0),
  stored: stored.reduce((sum, one) => sum + one, 0),
});

/** Rows for people. */
export const answerText = ({ columns, rows }: Answer): string =>
  table(
    columns.map((name) => name.toUpperCase()),
    rows.map((row) => row.map((cell) => (cell === null ? "" : String(cell)))),
  );

/** Rows for spreadsheets, the names of the columns first. */
export const answerCsv = ({ columns, rows }: Answer): string =>
  [columns, ...rows].map((row) => row.map(csvCell).join(",")).join("\n");

/** In quotes where it must be. A text that a spreadsheet would take for a formula is one in a saga's words as well: it is left as it is. */
function csvCell(cell: string | number | null): string {
  const text = cell === null ? "" : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
