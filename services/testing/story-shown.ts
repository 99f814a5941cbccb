/**
 * Story shown: what a failed expectation shows of a story, and when an expectation holds.
 */
import { canonicalJson } from "../../protocol/json.ts";
import type { Turn } from "../../protocol/turn.ts";

/** Whether a value has every member that is expected; a pattern is for a text. */
export function holdsAll(value: unknown, expected: unknown): boolean {
  if (expected instanceof RegExp) return typeof value === "string" && expected.test(value);
  if (typeof expected !== "object" || expected === null) return Object.is(value, expected);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(expected))
    return (
      Array.isArray(value) &&
      value.length === expected.length &&
      expected.every((one, k) => holdsAll(value[k], one))
    );
  return Object.entries(expected).every(([key, member]) =>
    holdsAll((value as Record<string, unknown>)[key], member),
  );
}

/** A value with the members that were asked for, so that a difference shows nothing else. */
export function shownLike(value: unknown, expected: unknown): unknown {
  if (holdsAll(value, expected)) return expected;
  const isAsked = typeof expected === "object" && expected !== null && !Array.isArray(expected);
  if (!isAsked || typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(expected).map(([key, member]) => [
      key,
      shownLike((value as Record<string, unknown>)[key], member),
    ]),
  );
}

/** The story so far, a line for each event and each intent. */
export function tellTurns(turns: readonly Turn[]): string {
  const lines = turns.flatMap(({ turn, steps }) =>
    steps.flatMap(({ event, intents }) => [
      `${turn}  ${text(event)}`,
      ...intents.map((intent) => `     → ${text(intent)}`),
    ]),
  );
  return `the ledger:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

function text({ type, kind, ...rest }: { type?: string; kind?: string; [key: string]: unknown }): string {
  const said = canonicalJson(rest);
  return `${type ?? kind ?? ""} ${said.length <= 160 ? said : `${said.slice(0, 160)}…`}`;
}
