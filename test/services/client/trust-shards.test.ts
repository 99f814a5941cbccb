/**
 * Goal: from where on turns must be signed holds in each shard from its own place on, and in one that was added later from its
 * first message on.
 * Method: the two steps of a change, and the judgement of unsigned messages around each place.
 */
import { describe, expect, test } from "vitest";
import { TrustDocument } from "../../../protocol/trust.ts";
import { announce, settle } from "../../../services/client/trust.ts";
import { standingOf } from "../../../services/wire/standing.ts";

const nobody: TrustDocument = { v: 1, keys: { K: { by: "me", at: 1 } } };
const said = { by: "me", at: 1 };
const change = { type: "require" } as const;
const judged = (document: TrustDocument, shard: number, seq: number) => {
  const subject = shard === 0 ? "saga.a.ledger" : `saga.a.ledger.${shard}`;
  return standingOf(document, { subject, seq, data: new Uint8Array(), headers: {} }, () => false).kind;
};

describe("trust over shards", () => {
  const announced = announce(nobody, change, { place: 10, others: [500, 3], ...said });
  const settled = TrustDocument.parse(
    JSON.parse(JSON.stringify(settle(announced, change, { place: 12, others: [504, 3, 7], ...said }))),
  );

  test.each([
    [0, 10, 12],
    [1, 500, 504],
    [2, 3, 3],
    [3, 0, 7], // Added between the steps.
    [4, 0, 0], // Added since.
  ])(
    "in shard %s what was stored up to %s counts, between is undecided, after %s must be signed",
    (...row) => {
      const [shard, from, after] = row;
      for (let seq = Math.max(1, from - 1); seq <= after + 2; seq++) {
        expect(judged(announced, shard, seq)).toBe(seq <= from ? "counts" : "unsettled");
        expect(judged(settled, shard, seq)).toBe(seq <= after ? "counts" : "foreign");
      }
    },
  );

  test("a mesh of one shard says it as ever", () => {
    const one = settle(announce(nobody, change, { place: 10, ...said }), change, { place: 12, ...said });
    expect(one.required).toEqual({ announced: 10, after: 12, ...said });
  });

  test("a key that nobody named counts in no shard, wherever a mesh ends", () => {
    const withdraw = { type: "withdraw", key: "S" } as const;
    const named = announce(settled, withdraw, { place: 900, others: [900, 900], ...said });
    expect(named.keys["S"]?.withdrawn).toEqual({ announced: 0, after: 0, ...said });
  });
});
