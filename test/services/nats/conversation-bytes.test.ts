/**
 * What a conversation takes on disk, on a real server. The numbers are counts of bytes, not times: a run on any
 * machine weighs the same, but for the length of its host's name.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { type Taken, weighConversation } from "../../bench/conversation.ts";

const decisions = 100;

describe("P7: a conversation of a hundred decisions with the mix of answers that tools give", () => {
  let taken: Taken;
  beforeAll(async () => {
    taken = await weighConversation(decisions, "mix");
  });

  test("takes at most 1.3 times the JSON of its distinct messages, as stored and on disk", () => {
    expect(taken.messageBytes).toBeGreaterThan(decisions * 4_000);
    expect(taken.storedBytes / taken.messageBytes).toBeLessThan(1.3);
    expect(taken.fileBytes / taken.messageBytes).toBeLessThan(1.3);
  });

  test("has each thought, each call and each answer in the ledger once", () => {
    const ledger = taken.bodies.join("\n");
    const seeds = Array.from({ length: decisions - 1 }, (_, i) => i + 1).flatMap((step) => [
      `query ${step}:`,
      `answer ${step}:`,
      ...(step % 4 === 2 ? [] : [`thought ${step}:`]),
    ]);
    expect(seeds.filter((seed) => ledger.split(seed).length !== 2)).toEqual([]);
  });
});
