/**
 * Goal: an account that remembers a few of the intents that are over says of all else what one says that remembers all.
 * Method: both take the ledgers of every example and of the kernel's own stories, turn by turn, side by side; and a long one, of
 * which what is held is counted.
 */
import { describe, expect, test } from "vitest";
import type { Account } from "../../../services/ledger/account.ts";
import { createAccountReader } from "../../../services/ledger/account-reader.ts";
import { createInspecting } from "../../../services/views/inspected.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { expectEqual } from "../../support/equal.ts";
import { examples, record } from "../../support/recorded-runs.ts";
import { toldLedgers } from "../../support/told-ledgers.ts";
import { tickingLedger } from "../../support/ticking.ts";
import { decodeTurn } from "../../../services/ledger/reader.ts";

const few = [0, 1, 3, 20];

/** Of what is held of decisions and intents only that which is left is compared. */
function expectSameBut(remembers: number, own: Account, all: Account): void {
  const { intents, forgotten, news: _news, numbers: _numbers, superseded: _superseded, ...rest } = own;
  const { intents: every, forgotten: none, news: _n, numbers: _m, superseded: _s, ...whole } = all;
  for (const member of [
    "open",
    "effects",
    "undone",
    "undoing",
    "doubts",
    "spent",
    "end",
    "reserved",
    "raises",
  ] as const)
    expectEqual(rest[member], whole[member], member);
  for (const member of [
    "turns",
    "hosts",
    "below",
    "paused",
    "flags",
    "moves",
    "definition",
    "exceeded",
  ] as const)
    expectEqual(rest[member], whole[member], member);
  expect(none).toBe(0);
  expect(forgotten).toBe(every.size - intents.size);
  for (const [id, told] of intents) expectEqual(told, every.get(id));
  const lost = [...every.values()].filter(({ intent }) => !intents.has(intent.id));
  expect(lost.filter(({ intent }) => all.open.has(intent.id))).toEqual([]);
  if (every.size <= remembers) expect(forgotten).toBe(0);
}

function compare(turns: readonly Turn[]): void {
  for (const remembers of few) {
    const [own, all] = [createAccountReader(remembers), createAccountReader()];
    for (const turn of turns) {
      expectEqual(own.take(turn), all.take(turn));
      expectSameBut(remembers, own.account, all.account);
    }
  }
  for (const remembers of few.filter((count) => count > 0)) {
    const [own, all] = [createInspecting(remembers), createInspecting()];
    for (const turn of turns) {
      own.take(turn);
      all.take(turn);
    }
    const { leftOut, intents, children, effects, ...rest } = own.document({});
    const { leftOut: none, intents: every, children: born, effects: standing, ...whole } = all.document({});
    expect(rest).toEqual(whole);
    expect(none).toBeUndefined();
    expect(every.length - intents.length).toBe(leftOut?.intents ?? 0);
    expect(every).toEqual(expect.arrayContaining(intents));
    expect(born).toEqual(expect.arrayContaining(children));
    expect(effects).toEqual(standing.slice(-remembers));
    expect(standing.length - effects.length).toBe(leftOut?.effects ?? 0);
  }
}

describe("an account that forgets says of what is open, stands and was spent what one does that remembers all,", () => {
  test("of the told ledgers", { timeout: 120_000 }, async () => {
    for (const { turns } of Object.values(await toldLedgers())) compare(turns);
  });

  test.each(examples)("of the example $name", { timeout: 120_000 }, async (example) => {
    for (const seed of [1, 2]) for (const { turns } of await record(example, seed)) compare(turns);
  });
});

test("what a long ledger leaves in an account that forgets does not grow with it", async () => {
  const held = async (count: number) => {
    const reader = createAccountReader(10);
    for (const message of tickingLedger(count)) {
      const blobs = { get: () => Promise.reject(new Error("no blobs here")) };
      reader.take(await decodeTurn(blobs, message));
    }
    const { intents, news, open } = reader.account;
    const fresh = (reader.account as unknown as { fresh: unknown[] }).fresh.length;
    expect(fresh).toBeLessThan(30);
    return { intents: intents.size, news: news.size, open: open.size };
  };
  expect(await held(2_000)).toEqual(await held(1_000));
});
