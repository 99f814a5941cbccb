/**
 * Goal: reading the decisions of a long ledger, and verifying it, costs in proportion to its turns; and what a reply met is
 * what was there before it. Method: the members of lists of what stands that are copied are counted, in a ledger of steps that all
 * stand; each kept state beside the same turns folded alone.
 */
import { describe, expect, test } from "vitest";
import { foldLedger, stateToJson } from "../../../actors/kernel/replay.ts";
import { chainHash } from "../../../protocol/digest.ts";
import { encodeJson } from "../../../protocol/codec.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { toJson } from "../../../protocol/json.ts";
import { toStored } from "../../../protocol/turn.ts";
import { defineApp } from "../../../services/app/app.ts";
import { everyDecision } from "../../support/every-decision.ts";
import { given, replied, started, succeeded } from "../../../services/testing/given.ts";
import { verifyMessages } from "../../../services/views/verify.ts";
import { atOnce } from "../../../services/wire/loop.ts";
import { traceIdOf, turnHeaders } from "../../../services/wire/turn-headers.ts";
import { noopApp, noopSaga } from "../../bench/noop-saga.ts";
import { longLedger } from "../../support/long-ledger.ts";
import { agentOf, call, finish } from "../../support/workbench.ts";

const steps = 400;
const saga = parseSagaId("long");
const { definition } = noopSaga("host");
const turns = longLedger(definition, saga, { steps, stays: true }, steps);
const blobs = { get: async () => Promise.reject(new Error("no blobs here")) };

/** How many members of lists of what stands are gone through, a spread included, until it is done. */
async function copiedBy(act: () => unknown): Promise<number> {
  const lists = Array.prototype as unknown as Record<symbol, (this: unknown[]) => Iterator<unknown>>;
  const plain = lists[Symbol.iterator]!;
  let members = 0;
  lists[Symbol.iterator] = function () {
    const first = this[0];
    if (typeof first === "object" && first !== null && "settledAt" in first) members += this.length;
    return plain.call(this);
  };
  try {
    await act();
  } finally {
    lists[Symbol.iterator] = plain;
  }
  return members;
}

describe("a ledger of n steps that stand", () => {
  test("is read for its decisions without a copy of what stands for each turn", async () => {
    const copied = await copiedBy(() => expect(atOnce(everyDecision(noopApp(), turns))).toEqual([]));
    expect(copied).toBeLessThan(4 * steps);
  });

  test("is verified without a copy of what stands for each turn", async () => {
    let prev = "";
    const messages = turns.map((turn, index) => {
      const data = encodeJson(toJson(toStored({ ...turn, prev })));
      prev = chainHash(data);
      const headers = turnHeaders(turn, prev, { definition, traceId: traceIdOf(saga) });
      return { subject: `saga.${saga}.ledger`, seq: index + 1, headers, data, storedAt: turn.at };
    });
    const copied = await copiedBy(async () =>
      expect(await verifyMessages({ blobs }, saga, messages, { app: noopApp() })).toMatchObject({
        ...{ ok: true, turns: steps, folded: true },
      }),
    );
    expect(copied).toBeLessThan(4 * steps);
  });
});

test("what a reply met is what the turns before it fold to, however many effects came after it", () => {
  const agent = agentOf();
  const rounds = Array.from({ length: 6 }, (_, k) => [
    replied({ calls: [call("hold")] }),
    succeeded("hold", { id: `${k}` }),
  ]);
  const story = given(agent, started({ of: "x" }), ...rounds.flat(), replied(finish));
  const decisions = atOnce(everyDecision(defineApp({ sagas: [agent] }), story.turns));
  expect(decisions).toHaveLength(7);
  const textOf = (state: Parameters<typeof stateToJson>[1] | undefined) =>
    state && stateToJson(agent.definition, state);
  for (const [k, { answered }] of decisions.entries()) {
    const before = answered!.before();
    const alone = foldLedger(agent.definition, story.turns.slice(0, answered!.turn.turn - 1)).state;
    expect(textOf(before)).toEqual(textOf(alone));
    expect(before?.effects).toHaveLength(k);
  }
});
