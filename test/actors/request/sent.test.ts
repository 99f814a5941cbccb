/**
 * Goal: what is made of a conversation that only grows, from where it was made last, is what is made of it anew. Method: random
 * conversations and cuts that go on, each asked of the growing list and of a copy.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { chainOf, growing, keepSaid } from "../../../actors/request/conversation.ts";
import { sentMessages } from "../../../actors/request/sent.ts";
import type { ModelMessage } from "../../../protocol/model.ts";

const seed = 20261123;
const call = fc.record({ id: fc.nat(30), tool: fc.constantFrom("look", "hold") });
const said = fc.oneof(
  fc.array(call, { maxLength: 3 }).map((calls) => ({
    role: "assistant",
    calls: calls.map(({ id, tool }) => ({ id: `c${id}`, tool, input: null })),
  })),
  fc
    .array(
      fc.oneof(
        fc.record({
          type: fc.constant("result"),
          call: fc.nat(30).map((id) => `c${id}`),
          outcome: fc.constantFrom("succeeded", "pending", "in_doubt"),
        }),
        fc.record({ type: fc.constant("signal"), name: fc.constantFrom("go", "note"), data: fc.nat() }),
        fc.record({ type: fc.constant("instructions"), text: fc.string() }),
        fc.record({ type: fc.constant("memory"), memory: fc.nat() }),
      ),
      { maxLength: 4 },
    )
    .map((parts) => ({ role: "user", at: 0, parts })),
) as unknown as fc.Arbitrary<ModelMessage>;

test("a list that only grows is sent, and its chain reckoned, as a copy of it is", () => {
  const round = fc.record({
    said: fc.array(said, { minLength: 1, maxLength: 6 }),
    cuts: fc.boolean(),
    drops: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(round, { minLength: 1, maxLength: 12 }), fc.boolean(), (rounds, isWindow) => {
      const policy = isWindow
        ? ({ kind: "window", messages: 4 } as const)
        : ({ kind: "selective", keep: 2, pin: ["note"] } as const);
      const list = growing([]);
      let cut = { from: 0, whole: 0 };
      for (const { said: more, cuts, drops } of rounds) {
        keepSaid(list, more);
        if (cuts) cut = { from: drops ? cut.whole : cut.from, whole: Math.max(cut.whole, list.length - 2) };
        expect(chainOf(list)).toBe(chainOf(structuredClone(list)));
        expect(sentMessages(policy, cut, list)).toEqual(sentMessages(policy, cut, [...list]));
      }
      // An earlier cut again, as a request that is rebuilt has it.
      const first = { from: 0, whole: Math.min(1, list.length) };
      expect(sentMessages(policy, first, list)).toEqual(sentMessages(policy, first, [...list]));
    }),
    { seed, numRuns: 200, endOnFailure: true },
  );
});
