/**
 * Goal: what a page shows of a saga is what its ledger says, however the page came to it: read whole, grown by what changed,
 * or looked at as it was after a turn.
 * Method: ledgers that the examples left behind, each cut after every turn.
 */
import { describe, expect, test } from "vitest";
import type { Turn } from "../../../protocol/turn.ts";
import { changedAfter, timelineOf } from "../../../services/console/timeline.ts";
import { asOf, asOfMoment, merged } from "../../../services/console/page/happened.ts";
import { viewOf } from "../../../services/views/view.ts";
import { atOnce } from "../../../services/wire/loop.ts";
import { editedPurchase, toldLedgers } from "../../support/told-ledgers.ts";

const told = await toldLedgers();
const whole = (turns: readonly Turn[]) => atOnce(timelineOf(turns, {}));

describe.each(Object.entries(told))("the timeline of %s", (_, { turns }) => {
  test("tells every intent with its outcome and the times that the ledger has", () => {
    const at = new Map(turns.map((turn) => [turn.turn, turn.at]));
    const items = new Map(whole(turns).items.map((item) => [item.id, item]));
    for (const { intent, turn, outcome, settledTurn } of viewOf(turns).intents) {
      const item = items.get(intent.id);
      expect(item, intent.id).toMatchObject({ turn, at: at.get(turn) });
      if (intent.kind !== "end") expect([outcome ?? "open", "undone"], intent.id).toContain(item?.status);
      expect(item?.settledTurn, intent.id).toBe(settledTurn);
      expect(item?.until, intent.id).toBe(settledTurn === undefined ? undefined : at.get(settledTurn));
    }
  });

  test("grown by what changed after any turn, is the one that is read whole", () => {
    const last = whole(turns);
    for (let known = 1; known < turns.length; known++) {
      const before = whole(turns.slice(0, known));
      expect(merged(before, changedAfter(last, known)), `from turn ${known}`).toEqual(last);
    }
  });

  test("as of any turn, tells what happened until then and no outcome that came later", () => {
    const all = whole(turns).items;
    for (let turn = 1; turn <= turns.length; turn++) {
      const then = whole(turns.slice(0, turn)).items;
      const shown = asOf(all, turn);
      const briefly = (items: typeof all) => items.map(({ id, status, until }) => ({ id, status, until }));
      expect(briefly(shown), `turn ${turn}`).toEqual(briefly(then));
    }
  });

  test("as of any moment, is as of the last turn that was no later", () => {
    const all = whole(turns).items;
    for (const { at } of turns) {
      const last = turns.filter((turn) => turn.at <= at).length;
      expect(asOfMoment(all, at), `at ${at}`).toEqual(asOf(all, last));
    }
    expect(asOfMoment(all, (turns[0]?.at ?? 0) - 1)).toEqual([]);
  });
});

test("a host that goes on after another one is told where it did", async () => {
  const { turns } = await editedPurchase();
  const hosts = turns.filter((turn, k) => k > 0 && turn.host !== turns[k - 1]?.host).map(({ turn }) => turn);
  const takeovers = whole(turns).items.filter(({ kind }) => kind === "takeover");
  expect(hosts.length).toBeGreaterThan(0);
  expect(takeovers.map(({ turn }) => turn)).toEqual(hosts);
});

test("what people said is told with who said it", async () => {
  const { turns } = await editedPurchase();
  const votes = whole(turns).items.filter(({ kind }) => kind === "vote");
  expect(votes.map(({ label, detail }) => `${label} ${detail}`)).toEqual([
    "edit fay as finance on pay: too dear",
    "approve fay as finance on pay",
    "approve finn as finance on pay",
  ]);
});
