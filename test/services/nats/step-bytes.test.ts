/**
 * What a step that does nothing takes in the ledger, on a real server and by its own count, which has subject,
 * headers and the record's frame in it. A count of bytes, not a time: any machine weighs the same, but for the
 * length of its host's name.
 */
import { expect, test } from "vitest";
import { measureStepBytes } from "../../bench/bytes.ts";

test("a step that does nothing takes less than 750 bytes in the ledger, in the host and through WORK", async () => {
  const { rows } = await measureStepBytes(40);
  expect(rows.map(({ effect }) => effect)).toEqual(["in the host", "through WORK"]);
  for (const row of rows) {
    expect(row["turns"]).toBeGreaterThan(40);
    expect(row["bytes per turn"]).toBeLessThan(750);
  }
});
