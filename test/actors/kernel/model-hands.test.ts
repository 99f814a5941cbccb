/**
 * Goal: the model has no hands: what it says is data, and all that comes of it is recorded intents. That the fold has
 * none either, no file, socket or timer, is the import law's and lint's to hold.
 *
 * Method: replies of every form, with calls nobody offered among them, to an agent with a few tools.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { readWith } from "../../../actors/values/schema.ts";
import type { Json } from "../../../protocol/json.ts";
import { given, replied, started } from "../../../services/testing/given.ts";
import { agentOf, call } from "../../support/workbench.ts";

const agent = agentOf();
const asked = given(agent, started({ of: "x" }));
const offered = ["look", "hold", "send", "charge_model", "charge_ask"];
/** `release` is a tool of the saga's and none of the model's. */
const never = ["release", "exec", "fs.readFile", "__proto__", "constructor", "sagamesh.start", ""];
const reserved = ["wait", "ask", "undo", "finish"];

const reply = fc.record(
  {
    text: fc.string(),
    stop: fc.constantFrom("pause" as const, "length" as const, "refusal" as const),
    calls: fc.array(
      fc.record({
        tool: fc.constantFrom(...offered, ...never, ...reserved),
        input: fc.oneof(
          { weight: 3, arbitrary: fc.constant({ of: "x" }) },
          { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
        ) as fc.Arbitrary<Json>,
      }),
      { maxLength: 6 },
    ),
  },
  { requiredKeys: ["calls"] },
);

test("P6: whatever a model says, what follows is intents of the tools it was given, with inputs that fit", () => {
  let tools = 0;
  fc.assert(
    fc.property(reply, (said) => {
      const { intents, state } = asked.when(replied(said));
      for (const intent of intents) {
        expect(["tool", "task", "timer", "model", "denied", "end"]).toContain(intent.kind);
        if (intent.kind !== "tool") continue;
        tools += 1;
        expect(offered).toContain(intent.name);
        const tool = agent.definition.tools.get(intent.name);
        expect(readWith(tool!.input, state.open[intent.id]?.input).success).toBe(true);
      }
    }),
    { numRuns: 500, seed: 20261121 },
  );
  expect(tools).toBeGreaterThan(100);
});

test("P6: a compensation that the model names is refused to it, and the rest of its reply goes on", () => {
  const said = asked.when(replied({ calls: [call("release", { key: "k" }), call("look")] }));
  said.then({ kind: "tool", name: "look" });
  expect(Object.values(said.state.open).map(({ intent }) => intent.kind)).toEqual(["tool"]);
});
