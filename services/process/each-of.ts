/**
 * Each of: many things done a few at a time.
 */

/**
 * Runs each, so many at a time, and resolves to the results in their order. The first failure rejects: what is under way
 * then goes on, and nothing more is begun.
 */
export async function eachOf<T, R>(
  all: readonly T[],
  atOnce: number,
  run: (one: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const left = entriesOf(all); // Shared: each is taken once. A loop that throws ends it for all loops.
  const runSome = async () => {
    for (const [index, one] of left) results[index] = await run(one);
  };
  await Promise.all(Array.from({ length: atOnce }, runSome));
  return results;
}

/** A generator, because an array's own iterator goes on after a loop over it has thrown. */
function* entriesOf<T>(all: readonly T[]): Generator<[number, T]> {
  yield* all.entries();
}
