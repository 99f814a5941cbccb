/**
 * Not yet: what the oracle asks for and the product does not keep yet, each with the reason. What is excused is told in
 * the report and breaks no run; an entry goes when the product keeps its word.
 */
import type { Violation } from "./violation.ts";

/** Attacks that take part only where they are named, and why. */
export const notYetAttacks: Readonly<Record<string, string>> = {
  depth: "what is accepted up to 100 levels deep cannot be read again inside a turn",
  foreign: "a message that does not chain stops its saga",
};

interface NotYet {
  readonly what: string;
  readonly excuses: (violation: Violation) => boolean;
}

const notYet: readonly NotYet[] = [];

/** The violations that count, and in words those that do not yet. */
export function excused(violations: readonly Violation[]): { counted: Violation[]; excuses: string[] } {
  const excuseOf = (violation: Violation) => notYet.find(({ excuses }) => excuses(violation))?.what;
  const times = Map.groupBy(
    violations.flatMap((one) => excuseOf(one) ?? []),
    (what) => what,
  );
  return {
    counted: violations.filter((one) => excuseOf(one) === undefined),
    excuses: [...times].map(([what, all]) => `${what} (${all.length} times)`),
  };
}
