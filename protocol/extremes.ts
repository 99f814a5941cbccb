/**
 * Extremes of lists of any length. `Math.max(...list)` hands each of them over as an argument, and throws a RangeError
 * from some 120,000 on.
 */

/** The largest, and no less than `least`: without it, of an empty list, -Infinity. */
export function maxOf(numbers: Iterable<number>, least = Number.NEGATIVE_INFINITY): number {
  let max = least;
  for (const number of numbers) if (number > max) max = number;
  return max;
}

/** The smallest, and no more than `most`: without it, of an empty list, Infinity. */
export function minOf(numbers: Iterable<number>, most = Number.POSITIVE_INFINITY): number {
  let min = most;
  for (const number of numbers) if (number < min) min = number;
  return min;
}
