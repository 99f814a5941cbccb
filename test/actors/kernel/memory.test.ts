/**
 * Goal: an agent's working memory always fits its schema, is changed by what is recorded and by nothing else, and
 * every change or refusal reaches the model. Method: given, when, then, which folds every turn a second time onto a
 * state at rest; what the model knows is what the messages show.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import type { ModelMessage, MessagePart } from "../../../protocol/model.ts";
import {
  failed,
  type Given,
  given,
  inDoubt,
  replied,
  resulted,
  signalled,
  started,
  type Story,
  succeeded,
} from "../../../services/testing/given.ts";
import { call, calling, chargeModel, finish, hold, look, Of } from "../../support/workbench.ts";

const Memory = z.object({
  goal: z.string().optional(),
  seen: z.array(z.string()).default([]),
  held: z.record(z.string(), z.string()).default({}),
  charged: z.int().max(2).default(0),
});

const child = calling(look);
const agent = defineAgent({
  name: "helper",
  version: 1,
  description: "Helps.",
  model: "scripted",
  instructions: "Help.",
  input: Of,
  output: z.object({ answer: z.string() }),
  signals: { note: z.object({ text: z.string().transform((text) => text.trim()) }), hint: z.null() },
  tools: [look, hold, chargeModel],
  agents: [child],
  memory: {
    schema: Memory,
    initial: { goal: "find x" },
    on: {
      look: (memory, { input, output }) => {
        if (output === "boom") throw new Error("no idea");
        memory.seen.push(`${input.of}=${output}`); // A copy: what it does to it is its own affair.
        return memory;
      },
      hold: (memory, { output }) => ({ ...memory, held: { ...memory.held, [output.id]: "held" } }),
      release: (memory, { input }) => ({ ...memory, held: { ...memory.held, [input.id]: "released" } }),
      charge_model: (memory) => ({ ...memory, charged: memory.charged + 1 }),
      calling: (memory, { output }) => ({ ...memory, seen: [...memory.seen, `child: ${output.said}`] }),
    },
    signals: { note: (memory, { text }) => ({ ...memory, goal: text }) },
  },
});

const begun = started({ of: "x" });
const asking = (...calls: ReturnType<typeof call>[]) => replied({ calls });
const parts = (story: Story): readonly MessagePart[] => {
  const message: ModelMessage | undefined = story.messages.findLast(({ role }) => role === "user");
  return message?.role === "user" ? message.parts : [];
};
const memories = (story: Story): MessagePart[] => parts(story).filter(({ type }) => type === "memory");
const story = (...turns: Given[]) => given(agent, begun, ...turns);

describe("a memory", () => {
  test("stands in the state from the first turn, and the first message shows it", () => {
    const first = story();
    expect(first.state.memory).toEqual({ goal: "find x" });
    expect(memories(first)).toEqual([{ type: "memory", by: "start", memory: { goal: "find x" } }]);
  });

  test("changes with a tool's success, and the message that has the result has the memory behind it", () => {
    const told = story(asking(call("look", { of: "a" })), succeeded("look", 1));
    expect(told.state.memory).toEqual({ goal: "find x", seen: ["a=1"], held: {}, charged: 0 });
    expect(parts(told).map(({ type }) => type)).toEqual(["result", "memory"]);
    expect(memories(told)).toMatchObject([{ by: "look (call 1.0)", memory: { seen: ["a=1"] } }]);
  });

  test("of several changes before the next message shows the last one alone", () => {
    const told = story(asking(call("look", { of: "a" }), call("look", { of: "b" })), [
      succeeded("1.0", 1),
      succeeded("1.1", 2),
    ]);
    expect(memories(told)).toMatchObject([{ memory: { seen: ["a=1", "b=2"] } }]);
  });

  test("changes with a sub-agent's success", () => {
    const told = story(asking(call("calling")), succeeded("calling", { said: "done" }));
    expect(told.state.memory).toMatchObject({ seen: ["child: done"] });
  });

  test("does not change with a failure, or with a success that cannot be read", () => {
    const calls = asking(call("look"), call("hold"));
    const after = story(calls, failed("look", { retry: false }), succeeded("hold", { wrong: true }));
    expect(after.state.memory).toEqual({ goal: "find x" });
    expect(memories(after)).toEqual([]);
  });

  test("changes once with an effect in doubt: when it turns out to have happened", () => {
    const doubtful = story(asking(call("charge_model")), inDoubt("charge_model"));
    expect(doubtful.state.memory).toEqual({ goal: "find x" });
    const corrected = doubtful.when(resulted("2-0", { outcome: "succeeded", output: { id: "i" } }, 1));
    expect(corrected.state.memory).toMatchObject({ charged: 1 });
    const again = corrected.when(resulted("2-0", { outcome: "succeeded", output: { id: "i" } }, 1));
    expect(again.state.memory).toMatchObject({ charged: 1 });
  });

  test("changes with a compensation that the model asked for", () => {
    const undone = story(
      asking(call("hold")),
      succeeded("hold", { id: "h" }),
      asking(call("undo", { calls: ["1.0"] })),
      succeeded("release", {}),
    );
    expect(undone.state.memory).toMatchObject({ held: { h: "released" } });
  });

  test("changes with a signal, which its schema has read, and the signal is told too", () => {
    const told = story(signalled("note", { text: "  find y " }));
    expect(told.state.memory).toMatchObject({ goal: "find y" });
    expect(parts(told)).toMatchObject([
      { type: "memory", by: "signal note" },
      { type: "signal", name: "note" },
    ]);
  });

  test("does not change with a signal that is sent twice", () => {
    const counting = defineAgent({
      ...base,
      memory: {
        schema: z.object({ n: z.int() }),
        initial: { n: 0 },
        signals: { hint: ({ n }) => ({ n: n + 1 }) },
      },
    });
    const told = given(counting, begun, signalled("hint", null, { id: "a" }));
    expect(told.when(signalled("hint", null, { id: "a" })).state.memory).toEqual({ n: 1 });
    expect(told.when(signalled("hint", null, { id: "b" })).state.memory).toEqual({ n: 2 });
  });
});

const base = {
  name: "counter",
  version: 1,
  description: "Counts.",
  model: "scripted",
  instructions: "Count.",
  input: Of,
  output: z.object({ answer: z.string() }),
  signals: { hint: z.null() },
  tools: [look],
};

describe("a change that is refused", () => {
  test.each([
    ["throws", "boom", "MEMORY_INVALID", /no idea/],
    ["gives too much", "x".repeat(70_000), "TOO_LARGE", /65536/],
  ])("because its reducer %s leaves the memory, and the model is told why", (_, output, code, reason) => {
    const told = story(asking(call("look", { of: "a" })), succeeded("look", output));
    expect(told.state.memory).toEqual({ goal: "find x" });
    expect(memories(told)).toEqual([
      { type: "memory", by: "look (call 1.0)", code, reason: expect.stringMatching(reason) },
    ]);
  });

  test("because it does not fit the schema leaves the memory, and the changes beside it count", () => {
    const once = asking(call("charge_model"));
    const paid = succeeded("charge_model", { id: "i" });
    const twice = story(once, paid, once, paid, asking(call("charge_model"), call("look", { of: "a" })));
    const told = twice.when([paid, succeeded("look", 1)]);
    expect(told.state.memory).toMatchObject({ charged: 2, seen: ["a=1"] });
    expect(memories(told)).toMatchObject([
      { code: "MEMORY_INVALID", by: "charge_model (call 3.0)" },
      { by: "look (call 3.1)", memory: { charged: 2, seen: ["a=1"] } },
    ]);
  });
});

describe("a human's edit", () => {
  test("sets members and removes others, whoever sent it is named, and the model sees it in the next message", () => {
    const edited = story(
      asking(call("look", { of: "a" })),
      signalled("memory", { set: { goal: null, charged: 2 } }, { from: "ann" }),
    );
    edited.thenNothing();
    expect(edited.state.memory).toEqual({ charged: 2 });
    const told = edited.when(succeeded("look", "boom"));
    expect(memories(told)).toMatchObject([
      { by: "ann", memory: { charged: 2 } },
      { code: "MEMORY_INVALID", by: "look (call 1.0)" },
    ]);
  });

  test("replaces the whole memory", () => {
    const edited = story(signalled("memory", { replace: { seen: ["z"] } }));
    expect(edited.state.memory).toEqual({ seen: ["z"] });
  });

  test("neither supersedes a decision nor ends a wait", () => {
    const asked = story();
    const edited = asked.when(signalled("memory", { set: { goal: "y" } })).thenNothing();
    expect(edited.open).toEqual(asked.open);
    const waiting = edited.when(asking(call("wait", { signals: ["hint"] })));
    expect(waiting.open).toEqual([]);
    expect(waiting.when(signalled("memory", { set: { goal: "z" } })).open).toEqual([]);
    const woken = waiting.when(signalled("hint"));
    expect(memories(woken)).toMatchObject([{ memory: { goal: "y" } }]);
  });

  test.each([
    ["that gives what does not fit", { set: { charged: 3 } }, "INPUT_INVALID"],
    ["to nothing", { replace: null }, "INPUT_INVALID"],
    ["to too much", { set: { goal: "x".repeat(70_000) } }, "TOO_LARGE"],
    ["with a mistyped member", { sett: {} }, "INPUT_INVALID"],
    ["that says nothing", {}, "INPUT_INVALID"],
    ["that is null", null, "INPUT_INVALID"],
    ["of both kinds", { set: {}, replace: {} }, "INPUT_INVALID"],
  ])("%s is refused at the door", (_, edit, code) => {
    story().when(signalled("memory", edit)).thenRefused(code);
  });

  test("that another change of the same turn overtook is refused in the fold, and told", () => {
    // Alone each fits; together there would be three charges.
    const charged = story(signalled("memory", { set: { charged: 1 } }), asking(call("charge_model")));
    const both = charged.when([
      signalled("memory", { set: { charged: 2 } }, { from: "ann" }),
      succeeded("charge_model", { id: "i" }),
    ]);
    expect(both.state.memory).toMatchObject({ charged: 2 });
    expect(memories(both)).toMatchObject([
      { by: "ann", memory: { charged: 2 } },
      { by: "charge_model (call 1.0)", code: "MEMORY_INVALID" },
    ]);
  });

  test("of an agent without a memory is an unknown signal, and after the end it comes too late", () => {
    const bare = defineAgent(base);
    given(bare, begun)
      .when(signalled("memory", { set: {} }))
      .thenRefused("SIGNAL_UNKNOWN");
    story(replied(finish))
      .when(signalled("memory", { set: {} }))
      .thenRefused("SAGA_ENDED");
  });

  test("while everything is undone asks no model", () => {
    const undoing = story(asking(call("hold")), succeeded("hold", { id: "h" }), signalled("cancel"));
    undoing.when(signalled("memory", { set: { goal: "y" } })).thenNothing();
  });
});

test("whatever happens, the memory fits its schema, and what the model was shown last is the memory", () => {
  const happening = fc.oneof(
    fc.string({ maxLength: 3 }).map((output) => ({ look: output })),
    fc.constant({ look: "boom" }),
    fc.string({ maxLength: 3 }).map((text) => ({ note: text })),
    fc.integer({ min: -1, max: 4 }).map((charged) => ({ edit: { set: { charged } } })),
    fc.constantFrom(
      { edit: { replace: {} } },
      { edit: { set: { goal: null } } },
      { edit: { replace: { goal: 1 } } },
      { edit: 7 },
    ),
  );
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 12 }), (happenings) => {
      let told = story();
      for (const [k, one] of happenings.entries()) {
        if ("note" in one) told = told.when(signalled("note", { text: one.note }, { id: `${k}` }));
        else if ("edit" in one) told = told.when(signalled("memory", one.edit, { id: `${k}` }));
        else told = told.when(asking(call("look", { of: `${k}` }))).when(succeeded("look", one.look));
        expect(Memory.safeParse(told.state.memory).success).toBe(true);
      }
      const last = told.when(asking(call("look"))).when(succeeded("look", "boom"));
      const shown = last.messages
        .flatMap((message) => (message.role === "user" ? message.parts : []))
        .findLast((part) => part.type === "memory" && part.memory !== undefined);
      expect(shown).toMatchObject({ memory: last.state.memory });
    }),
    { numRuns: 60, seed: 20261121 },
  );
});

describe("a definition", () => {
  const faults = (memory: object) => defineAgent({ ...base, memory: memory as never }).definition.faults;

  test("whose memory cannot be is told with what is wrong", () => {
    const schema = z.object({ n: z.int() });
    expect(faults({ schema, initial: { n: "1" } })).toEqual([
      expect.stringMatching(/initial memory does not fit/),
    ]);
    expect(faults({ schema, initial: { n: 1 }, on: { nobody: () => ({}) } })).toEqual([
      expect.stringMatching(/"nobody", which is none of its tools and agents/),
    ]);
    expect(faults({ schema, initial: { n: 1 }, signals: { nobody: () => ({}) } })).toEqual([
      expect.stringMatching(/"nobody", which is none of its signals/),
    ]);
    const own = defineAgent({ ...base, signals: { memory: z.null() } });
    expect(own.definition.faults).toEqual([expect.stringMatching(/"memory" is reserved/)]);
  });

  test("is another one with another memory, and the same without", () => {
    const schema = z.object({ n: z.int() });
    const hashOf = (memory?: object) =>
      defineAgent({ ...base, ...(memory && { memory }) } as never).definition.hash;
    const hashes = [
      hashOf(),
      hashOf({ schema, initial: { n: 1 } }),
      hashOf({ schema, initial: { n: 2 } }),
      hashOf({ schema: schema.extend({ m: z.string().optional() }), initial: { n: 1 } }),
      hashOf({ schema, initial: { n: 1 }, on: { look: () => ({ n: 1 }) } }),
      hashOf({ schema, initial: { n: 1 }, signals: { hint: () => ({ n: 1 }) } }),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  test("a compensating tool may have a reducer, a tool that is none of the agent's may not", () => {
    const schema = z.object({ n: z.int() });
    const memory = { schema, initial: { n: 1 }, on: { release: () => ({ n: 2 }) } };
    expect(defineAgent({ ...base, tools: [hold], memory }).definition.faults).toEqual([]);
    expect(defineAgent({ ...base, tools: [look], memory }).definition.faults).toHaveLength(1);
  });
});
