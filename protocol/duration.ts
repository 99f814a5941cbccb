/** Durations as people write them: `"3d"`, `"90s"`, `"1h 30m"`, or milliseconds. */
import { MeshError } from "./errors.ts";

/** Milliseconds, or a text of numbers with units: ms, s, m, h, d, w. */
export type Duration = number | string;

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/** The duration in milliseconds. Throws USAGE for what is none, a negative one included. */
export function msOf(duration: Duration): number {
  const ms = typeof duration === "number" ? duration : sumOf(duration);
  if (!(ms >= 0))
    throw new MeshError("USAGE", `"${duration}" is no duration`, {
      remedy: 'Write milliseconds, or a text such as "3d", "90s" or "1h 30m".',
    });
  return ms;
}

function sumOf(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)/g)];
  const rest = text.replaceAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)/g, "").trim();
  if (parts.length === 0 || rest !== "") return Number.NaN;
  return parts.reduce((sum, [, count, unit = ""]) => sum + Number(count) * (unitMs[unit] ?? Number.NaN), 0);
}
