/**
 * Goal: what people, models, tools and the outside said is in no span unless it was asked for.
 * Method: a word is planted in everything that a ledger holds of them, in agents and machines, in what succeeds, fails, is in doubt
 * and is refused. With content it is found, which proves that it was there to be found.
 */
import { describe, expect, test } from "vitest";
import type { Turn } from "../../../protocol/turn.ts";
import { createSpanReader } from "../../../services/traces/spans.ts";
import {
  failed,
  given,
  inDoubt,
  replied,
  signalled,
  started,
  succeeded,
  voted,
} from "../../../services/testing/given.ts";
import { agentOf, call, calling, finish, hold } from "../../support/workbench.ts";

const secret = "planted-7f3a-word";
const codeOfSecret = "PLANTED 7f3a";

const told = (turns: readonly Turn[], content: boolean): string => {
  const reader = createSpanReader({ content });
  return JSON.stringify([turns.map((turn) => reader.take(turn)), reader.open()]);
};

const stories = {
  "an agent's words, arguments, results, memory, and what people said": given(
    agentOf(),
    started({ of: secret }),
    signalled("note", { text: secret }, { from: secret }),
    signalled(secret, { text: secret }),
    signalled("instruct", { text: secret }, { from: secret }),
    replied({
      text: secret,
      calls: [call("look", { of: secret }), call(secret, { of: secret })],
      reason: secret,
    }),
    succeeded("look", { seen: secret }),
    replied({ calls: [call("ask", { question: secret })] }),
    voted("question", "answer", { by: secret, answer: secret, reason: secret }),
    replied({ text: secret, model: `${secret} & Co`, ...finish }),
  ),
  "a doubt and what settled it": given(
    agentOf(),
    started({ of: secret }),
    replied({ calls: [call("charge_ask", { of: secret })] }),
    inDoubt("charge_ask"),
    voted("doubt", "answer", { by: secret, answer: { outcome: "happened", output: { id: secret } } }),
    signalled("cancel", { reason: secret }, { from: secret }),
  ),
  "a body's failures": given(
    calling(hold),
    started({ of: secret }),
    failed("hold", { code: codeOfSecret, reason: secret }),
    failed("hold", { code: codeOfSecret, reason: secret, retry: false }),
  ),
} as const;

describe("content", () => {
  test.each(Object.entries(stories))("of %s is in no span", (_, { turns }) => {
    expect(JSON.stringify(turns)).toContain(secret);
    const spans = told(turns, false);
    expect(spans).not.toContain(secret);
    expect(spans).not.toContain(codeOfSecret);
    expect(spans.length).toBeGreaterThan(500);
  });

  test.each(Object.entries(stories))("of %s is there where it was asked for", (_, { turns }) => {
    expect(told(turns, true)).toContain(secret);
  });

  test("shows each message of a conversation with the decision that it was new to", () => {
    const { turns } = given(
      agentOf(),
      started({ of: "x" }),
      replied({ calls: [call("look", { of: "first" })] }),
      succeeded("look", { seen: "answered" }),
      replied(finish),
    );
    const reader = createSpanReader({ content: true });
    const chats = turns.flatMap((turn) => reader.take(turn)).filter(({ name }) => name.startsWith("chat "));
    const messages = chats.map(({ attributes }) => String(attributes["gen_ai.input.messages"]));
    expect(messages).toHaveLength(2);
    expect(messages[0]).toContain('"content":"{\\"of\\":\\"x\\"}"');
    expect(messages[1]).toContain("answered");
    expect(messages[1]).not.toContain('\\"of\\":\\"x\\"');
  });
});
