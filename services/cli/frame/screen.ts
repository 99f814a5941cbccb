/**
 * Screen: what a terminal that is written to can show, while a text for it is made.
 *
 * YN1 A colour is a mark with a key of this process, which no content can know; the door of the output makes it a colour
 *     after all else was made visible (output.ts). Without a terminal there are no marks.
 */
import { randomUUID } from "node:crypto";

export interface Screen {
  /** How many characters a line holds; no bound unless there is a terminal. */
  readonly columns?: number | undefined;
  readonly colours?: boolean;
}

export type Colour = "red" | "yellow" | "green";

let current: Screen = {};

/** The screen that the text which is just being made is for. */
export const screenNow = (): Screen => current;

/** Makes a text for a screen. It must be made at once, not later. */
export function madeFor(screen: Screen, text: () => string): string {
  const before = current;
  current = screen;
  try {
    return text();
  } finally {
    current = before;
  }
}

const key = randomUUID();

/** The text in this colour, where the screen has any. YN1. */
export const painted = (colour: Colour, text: string): string =>
  current.colours === true ? `${key}<${colour}>${text}${key}<>` : text;

const marked = new RegExp(`${key}<(red|yellow|green)>([^]*?)${key}<>`, "g");

/** The text with its marks made colours, and all else as `plain` makes it. */
export function unmarked(
  text: string,
  plain: (piece: string) => string,
  colour: (colour: Colour, piece: string) => string,
): string {
  let made = "";
  let end = 0;
  for (const found of text.matchAll(marked)) {
    const [whole, name, piece = ""] = found;
    made += plain(text.slice(end, found.index)) + colour(name as Colour, plain(piece)); // The pattern has no other.
    end = found.index + whole.length;
  }
  return made + plain(text.slice(end));
}
