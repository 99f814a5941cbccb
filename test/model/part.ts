/**
 * Part: a piece of a state, of which equal ones are one object with a number. So states share what they have in common,
 * and two are equal if their parts' numbers are.
 */

/** A piece, and its number. */
export interface Part<T> {
  readonly id: number;
  readonly is: T;
}

const parts = new Map<string, Part<unknown>>();

/** The part that is equal to a value: plain data, which nobody changes from here on. */
export function part<T>(value: T): Part<T> {
  const text = JSON.stringify(value);
  const known = parts.get(text);
  if (known !== undefined) return known as Part<T>; // Proof: the same text is the same value, of the same kind of part.
  const made = { id: parts.size, is: value };
  parts.set(text, made);
  return made;
}

/** The part of a list whose order says nothing. */
export const bag = <T>(values: readonly T[]): Part<readonly T[]> =>
  part(values.length < 2 ? values : inOrder(values));

function inOrder<T>(values: readonly T[]): readonly T[] {
  const texts = new Map(values.map((value) => [value, JSON.stringify(value)]));
  return [...values].sort((a, b) => ((texts.get(a) ?? "") < (texts.get(b) ?? "") ? -1 : 1));
}
