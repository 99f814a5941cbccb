/**
 * Goal: the door tells new inputs from repeats, old views and nonsense, and is never broken by what comes in.
 * Method: inputs that no type allows beside ordinary ones.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { accept } from "../../../actors/kernel/accept.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { decideTurn } from "../../../actors/kernel/fold.ts";
import { callsAtMost } from "../../../actors/policies/ready-made.ts";
import type { Event } from "../../../protocol/event.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import { limits } from "../../../protocol/limits.ts";
import {
  given,
  replied,
  signalled,
  started,
  storyBegan,
  succeeded,
} from "../../../services/testing/given.ts";
import { agentOf, call, calling, hold, look } from "../../support/workbench.ts";

const begun = started({ of: "x" });
const waiting = given(
  defineSaga({
    name: "waiting",
    version: 1,
    input: z.json(),
    output: z.json(),
    signals: {
      note: z.object({ text: z.string() }),
      two: z.object({ a: z.string(), b: z.string() }),
      broken: z.json().refine(() => {
        throw new Error("no");
      }),
    },
    whenEarly: "keep",
    machine: setup({}).createMachine({}),
  }),
  started(null),
);

describe("a signal", () => {
  test("is new once: the same id again is known, whatever it says", () => {
    const taken = waiting.when(signalled("note", { text: "a" }, { id: "n" }));
    taken.thenNothing();
    taken.when(signalled("note", { text: "b" }, { id: "n" })).thenNotTaken("known");
  });

  test.each(["__proto__", "constructor", "7", "toString", ""])("of the id %j is new once", (id) => {
    const taken = waiting.when(signalled("note", { text: "a" }, { id }));
    taken.thenNothing();
    taken.when(signalled("note", { text: "a" }, { id })).thenNotTaken("known");
  });

  test.each(["nonsense", "constructor", "__proto__", "toString", "hasOwnProperty"])(
    "named %s is refused as unknown",
    (name) => {
      waiting.when(signalled(name)).thenRefused("SIGNAL_UNKNOWN");
    },
  );

  test("P8: that does not fit its schema is refused, and nothing is recorded", () => {
    waiting.when(signalled("note", { text: 7 })).thenRefused("INPUT_INVALID");
    waiting.when(signalled("note", 7)).thenRefused("INPUT_INVALID");
  });

  test("whose schema throws is refused", () => {
    waiting.when(signalled("broken", 1)).thenRefused("INPUT_INVALID");
  });

  test("of plain text fits a schema of one text, and no other", () => {
    const taken = waiting.when(signalled("note", "Tuesday only"));
    expect(taken.turns.at(-1)?.steps[0]?.event).toMatchObject({ data: { text: "Tuesday only" } });
    waiting.when(signalled("two", "Tuesday only")).thenRefused("INPUT_INVALID");
  });

  test("older than the horizon is refused, so that it is never taken twice", () => {
    const now = storyBegan + limits.signalHorizonMs + 2_000;
    waiting
      .when(signalled("note", { text: "a" }, { sentAt: storyBegan }), { at: now })
      .thenRefused("SIGNAL_EXPIRED");
  });

  test("is forgotten only when a repeat of it would be refused by its age", () => {
    let story = waiting.when(signalled("note", { text: "a" }, { id: "n", sentAt: storyBegan + 50_000 }));
    // Sixty-four turns, at the end of which old ids are forgotten.
    for (let turn = story.state.turn; turn < 64; turn++)
      story = story.when({ type: "adopted" }, { at: storyBegan + limits.signalHorizonMs + 40_000 });
    story
      .when(signalled("note", { text: "a" }, { id: "n", sentAt: storyBegan + 50_000 }))
      .thenNotTaken("known");
    for (let turn = 0; turn < 64; turn++)
      story = story.when({ type: "adopted" }, { at: storyBegan + 2 * limits.signalHorizonMs });
    expect(Object.keys(story.state.seen)).toEqual([]);
  });

  test("called cancel is taken by every saga until it has ended", () => {
    waiting
      .when(signalled("cancel", { reason: 7 }))
      .then({ kind: "end", status: "cancelled" })
      .when(signalled("cancel"))
      .thenRefused("SAGA_ENDED");
  });
});

describe("a result or timer", () => {
  const open = given(agentOf(), begun, replied({ calls: [call("hold"), call("wait", { forMs: 5 })] }));

  test("whose intent is settled is known", () => {
    const settled = open.when(succeeded("hold", { id: "i" }));
    settled.when(succeeded("2-0", { id: "i" }, 1)).thenNotTaken("known");
  });

  test("of an intent that never was is known, and of a turn to come shows that the reader is behind", () => {
    open.when(succeeded("1-99", 1, 1)).thenNotTaken("known");
    open.when(succeeded("3-0", 1, 1)).thenNotTaken("stale");
    open.when({ type: "timer", intent: "3-0" as IntentId }).thenNotTaken("stale");
  });

  test("that fires for what has no timer is known", () => {
    open.when({ type: "timer", intent: "2-0" as IntentId }).thenNotTaken("known");
  });

  test("named like a member that every object has is known", () => {
    for (const id of ["__proto__", "constructor", "toString"])
      for (const type of ["timer", "result", "deferred", "task"])
        open
          .when({
            type,
            intent: id,
            attempt: 1,
            by: "x",
            id: "v",
            result: { outcome: "succeeded", output: 1 },
            vote: { vote: "deny", by: "x" },
          } as never)
          .thenNotTaken(type === "task" ? "over" : "known");
  });
});

test("tools, actors and calls may be named like a member that every object has", () => {
  const named = (name: string) => ({ ...look, name });
  const tools = [named("constructor"), named("toString"), named("valueOf")];
  const agent = agentOf({
    tools,
    policies: tools.map((tool) => ({ ...callsAtMost(tool, 1), name: tool.name })),
  });
  const story = given(agent, begun, replied({ calls: [call("constructor"), call("toString")] }));
  expect(story.state.guards).toEqual({ constructor: 1, toString: 1 });
});

test("whatever the door lets through, the fold takes without throwing", () => {
  const stories = [
    waiting,
    given(calling(hold), begun),
    given(agentOf(), begun, replied({ calls: [call("hold"), call("ask", { question: "?" })] })),
  ];
  const word = fc.oneof(
    fc.constantFrom("__proto__", "constructor", "7", "note", "cancel", "1-0", "1-1", "2-0", "2-1", "9-9", ""),
    fc.string(),
  );
  const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>;
  const result = fc.oneof(
    fc.record({ outcome: fc.constant("succeeded"), output: json }),
    fc.record({
      outcome: fc.constantFrom("failed", "denied", "in_doubt", "cancelled"),
      code: word,
      reason: word,
    }),
  );
  const event = fc.oneof(
    fc.record({
      type: fc.constant("signal"),
      name: word,
      data: json,
      id: word,
      from: word,
      sentAt: fc.integer(),
    }),
    fc.record({ type: fc.constant("result"), intent: word, attempt: fc.integer(), by: word, result }),
    fc.record({ type: fc.constant("deferred"), intent: word, attempt: fc.integer(), dueAt: fc.integer() }),
    fc.record({ type: fc.constant("timer"), intent: word }),
    fc.record({
      type: fc.constant("task"),
      intent: word,
      id: word,
      vote: fc.record({ vote: fc.constantFrom("approve", "deny", "answer"), by: word, answer: json }),
    }),
  ) as unknown as fc.Arbitrary<Event>;
  fc.assert(
    fc.property(
      fc.constantFrom(...stories),
      fc.array(event, { minLength: 1, maxLength: 6, size: "max" }),
      ({ definition, state }, events) => {
        const accepted = events
          .map((one) => accept(definition, state, one, storyBegan))
          .flatMap((one) => (one.type === "new" ? [one.event] : []));
        decideTurn(definition, state, { saga: state.saga, at: storyBegan, events: accepted });
      },
    ),
    { numRuns: 2_000, seed: 20261121 },
  );
});
