/**
 * Folding: values that are too large for a page are shown by their beginnings, and say so. The raw turn has them whole.
 */
import type { Json } from "../../protocol/json.ts";

const textMax = 20_000;
const membersMax = 500;

/** The same value where it is small; else long texts and lists cut, each with a word of how much there is. */
export function folded(value: Json): Json {
  if (typeof value === "string") return cut(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const shown = value.slice(0, membersMax).map(folded);
    return value.length <= membersMax ? shown : [...shown, more(value.length - membersMax, "elements")];
  }
  const entries = Object.entries(value);
  const shown = entries.slice(0, membersMax).map(([key, member]) => [key, folded(member)] as const);
  const left = entries.length - shown.length;
  return Object.fromEntries(left === 0 ? shown : [...shown, ["…", more(left, "members")]]);
}

const cut = (text: string): string =>
  text.length <= textMax
    ? text
    : `${text.slice(0, textMax).toWellFormed()}${more(text.length - textMax, "characters")}`;

const more = (count: number, of: string): string => `… ${count.toLocaleString("en-US")} more ${of}`;
