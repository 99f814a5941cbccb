/**
 * Account: what a ledger says of itself is what it folds to, after each of its turns.
 *
 * Method: ledgers of every example and of the kernel's own stories, with crashes, votes, doubts, forks and undoings; the
 * fold stands beside the account at every turn. Linear: the reads of a long ledger are counted, not timed.
 */
import { describe, expect, test } from "vitest";
import type { SagaState } from "../../../actors/contract/state.ts";
import { foldTurn } from "../../../actors/kernel/replay.ts";
import type { Event } from "../../../protocol/event.ts";
import { intentId, parseSagaId } from "../../../protocol/ids.ts";
import { ledgerVersion, type Turn } from "../../../protocol/turn.ts";
import type { App } from "../../../services/app/app.ts";
import { accountOf, createAccountReader } from "../../../services/ledger/account-reader.ts";
import { segmentsOf, servedBy } from "../../../services/views/segments.ts";
import { expectSame } from "../../support/accounts.ts";
import { examples, record } from "../../support/recorded-runs.ts";
import { toldLedgers } from "../../support/told-ledgers.ts";

function compareAtEveryTurn(app: App, turns: readonly Turn[]): void {
  const [segment] = segmentsOf(turns);
  const definition = servedBy(app, { saga: turns[0]!.saga }, segment);
  const reader = createAccountReader();
  let state: SagaState | undefined;
  for (const turn of turns) {
    ({ state } = foldTurn(definition, state, turn));
    reader.take(turn);
    expectSame(reader.account, state);
  }
  expect(reader.account).toEqual(accountOf(turns));
}

describe("the account of a ledger is what it folds to, after each of its turns,", () => {
  test("of the told ledgers", { timeout: 120_000 }, async () => {
    for (const { app, turns } of Object.values(await toldLedgers())) compareAtEveryTurn(app, turns);
  });

  test.each(examples)("of the example $name", { timeout: 120_000 }, async (example) => {
    for (const seed of [1, 2, 3])
      for (const { app, turns } of await record(example, seed)) compareAtEveryTurn(app, turns);
  });
});

describe("an account", () => {
  test("costs each turn the same, however long the ledger is and however much stands", () => {
    const [few, many] = [reads(2_000), reads(20_000)];
    expect(few).toBeGreaterThan(2_000);
    expect(many / few).toBeLessThan(11);
  });

  test("says what each turn changed", () => {
    const reader = createAccountReader();
    const [first, second, third] = longLedger(3);
    expect(reader.take(first!).map(({ type }) => type)).toEqual(["opened", "spent"]);
    expect(reader.take(second!).map(({ type }) => type)).toEqual(["closed", "stood", "opened", "spent"]);
    expect(() => reader.take(second!)).toThrow(/LEDGER_BROKEN/);
    expect(reader.take(third!).map(({ type }) => type)).toEqual(["closed", "stood", "opened", "spent"]);
    expect(reader.account).toMatchObject({ turns: 3, spent: { toolCalls: 3 } });
  });

  test("of what does not begin with a start is none", () => {
    expect(() => createAccountReader().account).toThrow(/LEDGER_BROKEN/);
    expect(() => accountOf(longLedger(2).slice(1))).toThrow(/LEDGER_BROKEN/);
  });
});

/** A saga that calls one tool after another, whose effects all stand. */
function longLedger(turns: number): Turn[] {
  const start: Event = {
    type: "start",
    definition: { name: "long", version: 1, hash: "h" },
    input: {},
  };
  return Array.from({ length: turns }, (_, k): Turn => {
    const [turn, before] = [k + 1, intentId(k, 0)];
    const output = null;
    const event: Event =
      k === 0
        ? start
        : { type: "result", intent: before, attempt: 1, by: "w", result: { outcome: "succeeded", output } };
    const id = intentId(turn, 0);
    return {
      ...{ v: ledgerVersion, saga: parseSagaId("long"), turn, at: turn, host: "h", prev: "" },
      steps: [
        {
          event,
          intents: [{ kind: "tool", id, name: "hold", key: `long.${id}.x`, contract: "c", input: {} }],
          closed: k === 0 ? [] : [{ intent: before, as: "succeeded" }],
        },
      ],
    };
  });
}

/** How many members of maps, sets and lists a reader walks over while it takes so many turns. */
function reads(turns: number): number {
  const ledger = longLedger(turns);
  let walked = 0;
  const undo = [Map, Set, Array].flatMap(({ prototype }) =>
    (["values", "keys", "entries", Symbol.iterator] as const).map((name) => {
      const own = prototype as unknown as Record<PropertyKey, (...args: unknown[]) => Iterator<unknown>>;
      const before = own[name]!;
      own[name] = function (this: unknown) {
        const inner = before.call(this);
        const next = inner.next.bind(inner);
        inner.next = () => (walked++, next());
        return inner;
      };
      return () => (own[name] = before);
    }),
  );
  try {
    accountOf(ledger);
    return walked;
  } finally {
    for (let k = undo.length - 1; k >= 0; k--) undo[k]!();
  }
}
