/**
 * Goal: whoever asks for sagas and tasks is told what the ledgers say, whatever dies, whichever versions of hosts run and whatever
 * becomes of the rows. Method: seeded runs on a memory mesh (listing.ts); what breaks a rule is found (listing-plants.ts).
 */
import { expect, test } from "vitest";
import { share } from "../support/share.ts";
import { simulateListing } from "./listing.ts";

test("sagas and tasks are told as their ledgers have them", { timeout: 240_000 }, async () => {
  const outcomes: Awaited<ReturnType<typeof simulateListing>>[] = [];
  for (let seed = 1; seed <= share(4, 40); seed++) outcomes.push(await simulateListing(seed));
  expect(outcomes.filter(({ violations }) => violations.length > 0)).toEqual([]);
  const sum = (of: (outcome: (typeof outcomes)[number]) => number) =>
    outcomes.reduce((all, one) => all + of(one), 0);
  expect(sum(({ turns }) => turns)).toBeGreaterThan(20 * outcomes.length);
  expect(sum(({ crashes }) => crashes)).toBeGreaterThan(2 * outcomes.length);
});
