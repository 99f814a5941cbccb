/**
 * Goal: a saga is inspected as it was at any turn, and what its model was sent is summed up as it was sent.
 * Method: every beginning of the examples' ledgers against the fold of that beginning; an agent with a context policy,
 * whose sent requests are counted by themselves.
 */
import { beforeAll, describe, expect, test, vi } from "vitest";
import { foldLedger } from "../../../actors/kernel/replay.ts";
import { selectiveContext, windowedContext } from "../../../actors/contract/context-policy.ts";
import { InspectDocument } from "../../../protocol/documents/inspect.ts";
import type { ModelRequest } from "../../../protocol/model.ts";
import { defineApp } from "../../../services/app/app.ts";
import { servedDefinition } from "../../../services/views/folded.ts";
import { inspectedOf } from "../../support/inspected-of.ts";
import { promptOf } from "../../../services/views/prompt.ts";
import { describeInspected } from "../../../services/cli/telling/inspect-text.ts";
import { given, replied, started, succeeded } from "../../../services/testing/given.ts";
import { type ToldLedger, toldLedgers } from "../../support/told-ledgers.ts";
import { agentOf, call } from "../../support/workbench.ts";
import { atOnce } from "../../../services/wire/loop.ts";

let ledgers: Readonly<Record<string, ToldLedger>>;
beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // The examples' outside world speaks there.
  ledgers = await toldLedgers();
  vi.restoreAllMocks();
});

test("at every turn of an example it is what the fold of that beginning says", () => {
  const short = Object.values(ledgers).filter(({ turns }) => turns.length < 30);
  expect(short.length).toBeGreaterThan(1);
  for (const { app, turns } of short)
    for (let n = 1; n <= turns.length; n++) {
      const then = turns.slice(0, n);
      const document = atOnce(inspectedOf(then, {}, app));
      expect(InspectDocument.parse(JSON.parse(JSON.stringify(document)))).toMatchObject({ turns: n });
      const { state } = foldLedger(servedDefinition(app, then), then);
      expect(document.phase).toBe(state.phase.kind);
      expect([...document.open].sort()).toEqual(
        Object.keys(state.open)
          .filter((id) => state.open[id as never]?.intent.kind !== "end")
          .sort(),
      );
      expect(document.effects.map(({ intent }) => intent)).toEqual(state.effects.map(({ intent }) => intent));
      expect(document.spent).toEqual(state.spent);
      expect(document.machine?.value).toEqual(state.snapshot.value);
    }
});

describe("the context sent", () => {
  const looks = (rounds: number) =>
    Array.from({ length: rounds }, (_, k) => [
      replied({
        calls: [call("look", { of: `${k}` })],
        usage: { inputTokens: 70 + k, cacheReadTokens: 30, outputTokens: 5 },
      }),
      succeeded("look", { text: "long ".repeat(200) }),
    ]).flat();
  const sentBy = (context: Parameters<typeof agentOf>[0] & object, rounds: number) => {
    const helper = agentOf(context);
    const app = defineApp({ sagas: [helper] });
    const { turns } = given(helper, started({ of: "x" }), ...looks(rounds));
    const request = atOnce(promptOf(app, turns, turns.length)).request as unknown as ModelRequest;
    return { document: atOnce(inspectedOf(turns, {}, app)), request, turns, app };
  };

  test("of a whole conversation is all of it, and nothing is cut", () => {
    const { document, request } = sentBy({}, 3);
    expect(document.contextSent).toEqual({
      intent: "7-0",
      turn: 7,
      about: "decision",
      model: "scripted",
      messages: 7,
      conversation: 7,
      tokens: {
        estimated: Math.ceil(
          Buffer.byteLength(JSON.stringify([request.instructions, request.messages, request.tools])) / 4,
        ),
      },
      proved: true,
    });
  });

  test("has the provider's own count once it has answered", () => {
    const { turns, app } = sentBy({}, 2);
    expect(atOnce(inspectedOf(turns.slice(0, 4), {}, app)).contextSent?.tokens.reported).toBe(101);
  });

  test("of a window says how many messages were dropped", () => {
    const { document, request } = sentBy({ context: windowedContext({ messages: 6 }) }, 8);
    const { messages = 0, conversation = 0, cut } = document.contextSent ?? {};
    expect(messages).toBe(request.messages.length);
    expect(conversation).toBe(17);
    expect(cut?.shortened).toBe(0);
    expect(1 + (cut?.dropped ?? 0) + (messages - 1)).toBe(conversation);
    expect(describeInspected(document)).toMatch(
      new RegExp(
        `^sent +for decision .*: ${messages} messages for the 17 there were, about \\d+ tokens, ${cut?.dropped} dropped, proved$`,
        "m",
      ),
    );
  });

  test("of a selection says in how many messages longer results are references", () => {
    const { document, request } = sentBy({ context: selectiveContext({ keep: 3 }) }, 8);
    const { messages = 0, conversation = 0, cut } = document.contextSent ?? {};
    const references = request.messages.filter((message) =>
      JSON.stringify(message).includes('"recall"'),
    ).length;
    expect(references).toBeGreaterThan(0);
    expect(cut?.shortened).toBeGreaterThanOrEqual(references);
    expect(1 + (cut?.dropped ?? 0) + (messages - 1)).toBe(conversation);
  });

  test("is not told where no model was asked, or the definition is not at hand", () => {
    const trip = ledgers["undone trip"] as ToldLedger;
    expect(atOnce(inspectedOf(trip.turns, {}, trip.app)).contextSent).toBeUndefined();
    const dinner = ledgers["waited dinner"] as ToldLedger;
    expect(atOnce(inspectedOf(dinner.turns, {}, undefined)).contextSent).toBeUndefined();
  });
});
