/** Why, words: durations, amounts and values as people say them. */
import type { Json } from "../../../protocol/json.ts";
import { shortened } from "../../../protocol/shortened.ts";
import { oneLine } from "../graph/text.ts";

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;

/** A duration in its two largest units. */
export function lasting(ms: number): string {
  if (ms < 0) return "no time by its hosts' clocks";
  if (ms < 1_000) return counted(Math.round(ms), "millisecond");
  const first = units.findIndex(([, size]) => ms >= size);
  const parts: string[] = [];
  let rest = ms;
  for (const [noun, size] of units.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(counted(count, noun));
  }
  return parts.join(" ");
}

export const dateOf = (at: number): string =>
  `${new Date(at).toISOString().replace("T", " ").slice(0, 19)} UTC`;

const valueMax = 120;

/** A value on one line, cut where it grows long. */
export function valueOf(value: Json | undefined, lengthMax = valueMax): string {
  const text = value === undefined ? "nothing" : oneLine(JSON.stringify(value));
  return shortened(text, lengthMax);
}

/** What a person or a model wrote, in quotes. */
export const quoted = (text: string, lengthMax = 200): string => valueOf(text, lengthMax);

/** `a, b and c`. */
export function listed(parts: readonly string[], word = "and"): string {
  if (parts.length < 2) return parts[0] ?? "";
  return `${parts.slice(0, -1).join(", ")} ${word} ${parts.at(-1) ?? ""}`;
}

export const dollarsOf = (usd: number): string =>
  `$${usd.toLocaleString("en-US", { maximumFractionDigits: 6, useGrouping: false })}`;

/** Why something was not a success. */
export const reasonOf = ({
  code,
  reason,
}: {
  code?: string | undefined;
  reason?: string | undefined;
}): string => `${code === undefined || code === "" ? "" : `[${code}] `}${reason ?? ""}`.trim();

/** What became of a call, as its saga saw it or as a model was told. */
export const outcomeWords = {
  succeeded: "succeeded",
  failed: "failed",
  denied: "was refused",
  in_doubt: "is in doubt",
  cancelled: "was called off",
  superseded: "was superseded",
  pending: "still runs",
} as const;
