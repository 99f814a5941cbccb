/**
 * Aligned: two sequences beside each other, as a diff lays them: what is the same in both stands in one row, in order, and of the rest
 * what is alike.
 *
 * HF1 Each member is in one row, and each side keeps its order.
 * HF2 As many rows as can be are the same, and of the others as many as can be alike; what is left between two of those stands
 *     beside each other by its place. What is the same from the start on stands together.
 */

/** A row; undefined where one side has nothing there. */
export type Row<T> = readonly [ours: T | undefined, theirs: T | undefined];

/** By what members are known. */
export interface Known<T> {
  /** By which two are the same; undefined of what is the same as nothing else. */
  readonly exact: (one: T) => string | undefined;
  /** By which two are alike. Those that are the same are, too. */
  readonly alike: (one: T) => string;
}

/** Longer ones are laid beside each other by their place from there on: the work for two grows by their product. */
const membersMax = 1_000;
/** What is the same counts more than all that is alike together. */
const exactly = 2 * membersMax;

export function aligned<T>(ours: readonly T[], theirs: readonly T[], known: Known<T>): Row<T>[] {
  const rows: Row<T>[] = [];
  let [a, b] = [0, 0];
  for (const [i, j] of matches(ours.slice(0, membersMax), theirs.slice(0, membersMax), known)) {
    rows.push(...byPlace(ours.slice(a, i), theirs.slice(b, j)), [ours[i], theirs[j]]);
    [a, b] = [i + 1, j + 1];
  }
  rows.push(...byPlace(ours.slice(a), theirs.slice(b)));
  return rows;
}

const byPlace = <T>(ours: readonly T[], theirs: readonly T[]): Row<T>[] =>
  Array.from({ length: Math.max(ours.length, theirs.length) }, (_, k) => [ours[k], theirs[k]]);

/** HF2. The places of those that stand in one row. */
function matches<T>(
  ours: readonly T[],
  theirs: readonly T[],
  { exact, alike }: Known<T>,
): [number, number][] {
  const [own, other] = [ours, theirs].map((members) => ({
    exact: members.map(exact),
    alike: members.map(alike),
  }));
  const worth = (i: number, j: number): number => {
    const one = own?.exact[i];
    if (one !== undefined && one === other?.exact[j]) return exactly;
    return own?.alike[i] === other?.alike[j] ? 1 : 0;
  };
  const width = theirs.length + 1;
  // The most that rows of what begins at i and at j are worth.
  const most = new Uint32Array((ours.length + 1) * width);
  const at = (i: number, j: number) => most[i * width + j] ?? 0;
  for (let i = ours.length - 1; i >= 0; i--)
    for (let j = theirs.length - 1; j >= 0; j--)
      most[i * width + j] = Math.max(worth(i, j) + at(i + 1, j + 1), at(i + 1, j), at(i, j + 1));
  const places: [number, number][] = [];
  for (let i = 0, j = 0; i < ours.length && j < theirs.length;) {
    if (worth(i, j) > 0 && at(i, j) === worth(i, j) + at(i + 1, j + 1)) places.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return places;
}
