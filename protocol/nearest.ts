/**
 * Nearest: what a misspelt word may have been meant to be. A hint for an error's text, and never a decision.
 */

/**
 * The one of `known` that the word was most likely meant to be, or undefined where none is near: at most a third of
 * the longer word's letters differ, or one of the two begins with the other's first four letters or more. Case and
 * separators do not count. A name that begins with the word is as near as one letter; of two that are as near, the first.
 */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const meant = plain(word);
  if (meant === "" || word.length > wordLengthMax) return undefined;
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of known) {
    const other = plain(name);
    if (name.length > wordLengthMax) continue;
    const differing = distanceOf(meant, other);
    const isNear = differing <= Math.floor(Math.max(meant.length, other.length) / 3) || isBegun(meant, other);
    const distance = other.startsWith(meant) ? Math.min(differing, 1) : differing;
    if (isNear && (best === undefined || distance < best.distance)) best = { name, distance };
  }
  return best?.name;
}

/** The nearest as the end of a sentence, `; did you mean "forMs"?`, or nothing. */
export function didYouMean(word: string, known: readonly string[]): string {
  const name = nearest(word, known);
  return name === undefined ? "" : `; did you mean "${name}"?`;
}

/** Longer words are no names, and a table of their letters would be large. */
const wordLengthMax = 128;

const plain = (word: string): string => word.toLowerCase().replaceAll(/[-_\s.]/g, "");

const isBegun = (one: string, other: string): boolean =>
  Math.min(one.length, other.length) >= 4 && (one.startsWith(other) || other.startsWith(one));

/** How many letters were added, left out, replaced or exchanged with their neighbour. */
function distanceOf(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, j) => j);
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      row[j] = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (before[j - 2] ?? 0) + 1 : Infinity,
      );
    }
    [before, last] = [last, row];
  }
  return last[other.length] ?? 0;
}
