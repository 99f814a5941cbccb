/**
 * Intervals: how far a sample's figure may lie from that of all such sagas. With 95 %.
 *
 * IV1 A share by Wilson's interval: it stays between 0 and 1 and holds for small samples and for none or all of them.
 * IV2 A mean by the normal interval. Costs lean to one side, so below some 30 sagas its bounds are rough; the number is
 *     told beside them.
 */
import type { Mean, Rate } from "../../protocol/documents/replay.ts";

const z = 1.959_963_984_540_054;

export function rateOf(what: string, hit: number, of: number): Rate {
  if (of === 0) return { what, hit, of, share: 0, low: 0, high: 1 };
  const share = hit / of;
  const spread = 1 + z ** 2 / of;
  const middle = (share + z ** 2 / (2 * of)) / spread;
  const half = (z / spread) * Math.sqrt((share * (1 - share)) / of + z ** 2 / (4 * of ** 2));
  const low = hit === 0 ? 0 : Math.max(0, middle - half);
  return { what, hit, of, share, low, high: hit === of ? 1 : Math.min(1, middle + half) };
}

/** Undefined where nothing is known. */
export function meanOf(what: string, values: readonly number[]): Mean | undefined {
  const n = values.length;
  if (n === 0) return undefined;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  if (n === 1) return { what, n, mean };
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1);
  const half = z * Math.sqrt(variance / n);
  return { what, n, mean, low: mean - half, high: mean + half };
}
