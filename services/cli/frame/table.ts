/**
 * Table: rows in aligned columns, the header first. On a terminal it has the terminal's width; elsewhere nothing is cut.
 *
 * TW1 The widest column of text gives way first. What a person types again is never cut: names of sagas, calls, letters.
 * TW2 A width is what a terminal shows: without colours, with control characters by their numbers.
 */
import { maxOf } from "../../../protocol/extremes.ts";
import { type Colour, painted, screenNow } from "./screen.ts";
import { visible } from "./visible.ts";

/** Rows of a shape, as text without a line end; on a terminal the cells have no line ends either. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const { columns } = screenNow();
  const shown = columns === undefined ? rows : rows.map((row) => row.map(onOneLine));
  const natural = header.map((title, column) =>
    maxOf(
      shown.map((row) => widthOf(row[column] ?? "", columns)),
      title.length,
    ),
  );
  const widths = columns === undefined ? natural : fitted(header, natural, columns);
  const line = (row: readonly string[], isTitle: boolean) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        const text = columns === undefined ? cell : cut(cell, width);
        const colour = isTitle ? undefined : colourOf(header[column] ?? "", cell);
        const pad = " ".repeat(Math.max(0, width - widthOf(text, columns)));
        return (colour === undefined ? text : painted(colour, text)) + pad;
      })
      .join("  ")
      .trimEnd();
  return [line(header, true), ...shown.map((row) => line(row, false))].join("\n");
}

const kept = new Set([
  ...["SAGA", "INTENT", "TASK", "LETTER", "DEFINITION", "ENTITY", "NODE", "UNDONE BY", "SENT TO", "CODE"],
  ...["HOST", "OLDEST", "TOOL", "HASH"],
]);
const textMin = 8;

/** TW1: widths of the same columns, as wide as the terminal together where that can be. */
function fitted(header: readonly string[], natural: readonly number[], columns: number): number[] {
  const widths = [...natural];
  const least = header.map((title, column) =>
    kept.has(title) ? (natural[column] ?? 0) : Math.max(title.length, textMin),
  );
  let over = widths.reduce((sum, width) => sum + width, 2 * (widths.length - 1)) - columns;
  for (; over > 0; over--) {
    let widest = -1;
    for (const [column, width] of widths.entries())
      if (width > (least[column] ?? 0) && width > (widths[widest] ?? 0)) widest = column;
    if (widest === -1) break; // The rest wraps.
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

const onOneLine = (cell: string): string => visible(cell.replaceAll(/[\t\r\n]+/g, " "));

/** Of letters that take two places in a terminal; marks that stand on another letter take none. */
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const placesOf = (letter: string): number => (wide.test(letter) ? 2 : /\p{M}/u.test(letter) ? 0 : 1);

/** TW2. Where no terminal is, letters are counted as they always are there. */
function widthOf(text: string, columns: number | undefined): number {
  if (columns === undefined || /^[ -~]*$/.test(text)) return text.length;
  let places = 0;
  for (const letter of text) places += placesOf(letter);
  return places;
}

function cut(text: string, width: number): string {
  if (widthOf(text, width) <= width) return text;
  let made = "";
  let places = 1; // The ellipsis.
  for (const letter of text) {
    places += placesOf(letter);
    if (places > width) break;
    made += letter;
  }
  return `${made}…`;
}

const statusTitles = new Set(["STATUS", "OUTCOME", "IS"]);

/** By what a column of ours says, never by what a saga says elsewhere. */
function colourOf(title: string, cell: string): Colour | undefined {
  return statusTitles.has(title) ? statusColour(cell) : undefined;
}

/** The colour of a status or an outcome, which may say more behind it. */
export function statusColour(text: string): Colour | undefined {
  if (/^(completed|succeeded)\b/.test(text)) return "green";
  if (/^(failed|unreadable|dead)\b/.test(text)) return "red";
  return /^in[_ ]doubt\b/.test(text) ? "yellow" : undefined;
}
