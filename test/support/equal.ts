/** Equal: what a test compares after each of thousands of turns. */
import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";

/** As `expect(own).toEqual(other)`, which is asked only where they are not the same: Node finds that out much sooner. */
export function expectEqual(own: unknown, other: unknown, what?: string): void {
  if (!isDeepStrictEqual(own, other)) expect(own, what).toEqual(other);
}
