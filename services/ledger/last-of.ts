/** Last of: the last few of what comes, in their order. */
export interface LastOf<T> {
  add(one: T): void;
  all(): T[];
}

/** Keeps so many, and up to as many again until they are cut. */
export function lastOf<T>(most: number): LastOf<T> {
  let kept: T[] = [];
  return {
    add: (one) => {
      kept.push(one);
      if (kept.length >= 2 * most) kept = kept.slice(-most);
    },
    all: () => kept.slice(-most),
  };
}
