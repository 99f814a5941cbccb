/**
 * Turn: what is stored of a turn, and that reading puts back what is left out.
 *
 * Method: turns of agents' stories as the kernel decides them, stored, and read from their bytes.
 */
import { describe, expect, test } from "vitest";
import { type Closing, impliedClosing } from "../../protocol/closing.ts";
import type { Event } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { Intent } from "../../protocol/intent.ts";
import { toStored, Turn } from "../../protocol/turn.ts";
import {
  failed,
  given,
  inDoubt,
  replied,
  signalled,
  started,
  succeeded,
} from "../../services/testing/given.ts";
import { agentOf, call, finish } from "../support/workbench.ts";

const stored = (turn: Turn) => JSON.parse(JSON.stringify(toStored(turn))) as ReturnType<typeof toStored>;

const story = given(
  agentOf(),
  started({ of: "x" }),
  replied({ calls: [call("hold"), call("nothing_of_that_name"), call("look"), call("charge_ask")] }),
  [succeeded("look", { n: 1 }), failed("hold", { code: "E", reason: "busy", retry: true })],
  succeeded("hold", { id: "1" }, 2),
  inDoubt("charge_ask"),
  signalled("note", { text: "a" }),
  failed("model", { code: "MODEL_FAILED", reason: "busy", retry: true }),
);

/** A turn with one step. */
const turnOf = (event: Event, ...intents: Intent[]): Turn =>
  ({ ...story.turns[1]!, turn: 7, host: "h-1", steps: [stepOf(event, intents)] }) satisfies Turn;

/** As the event implies it. */
const stepOf = (event: Event, intents: Intent[]) => ({
  event,
  intents,
  closed: [impliedClosing(event, intents)].filter((one) => one !== undefined),
});

const result = (output: unknown, by = "h-1") =>
  ({
    type: "result",
    intent: "6-0",
    attempt: 1,
    by,
    result: { outcome: "succeeded", output },
  }) as Event;

const reply = { text: "I look.", calls: [{ tool: "look", input: { of: "x" } }], model: "m" };
const look = {
  kind: "tool",
  id: "7-0",
  name: "look",
  key: `${story.turns[0]!.saga}.7-0.0123456789ab`,
  contract: "89abcdef01234567",
  call: "3.0",
} as Intent;

describe("a stored turn", () => {
  test("says nothing of what it closed where that follows from its event, and all of it elsewhere", () => {
    const told = (turn: Turn) => stored(turn).steps.map(({ closed, stays }) => ({ closed, stays }));
    expect(told(turnOf(result(1)))).toEqual([{}]);
    expect(Object.keys(stored(turnOf(result(1))).steps[0]!)).toEqual(["event"]);
    const [step] = turnOf(result(1)).steps;
    const of = (...closed: Closing[]) => ({ ...turnOf(result(1)), steps: [{ ...step!, closed }] });
    const [id, other] = ["6-0", "5-0"] as [IntentId, IntentId];
    const read = (turn: Turn) => Turn.parse(stored(turn));
    for (const [closed, words] of [
      [[], { stays: true }],
      [
        [
          { intent: id, as: "succeeded" },
          { intent: other, as: "cancelled" },
        ],
        { closed: ["5-0"] },
      ],
      [[{ intent: other, as: "cancelled", because: "end" }], { stays: true }],
      [
        [
          { intent: other, as: "cancelled" },
          { intent: id, as: "succeeded" },
        ],
        {},
      ],
      [[{ intent: id, as: "failed", code: "BAD_RESULT", reason: "r", stands: true }], {}],
    ] as [Closing[], object][]) {
      expect(told(of(...closed))[0]).toMatchObject(words);
      expect(read(of(...closed))).toEqual(of(...closed));
    }
  });

  test("is read as it was decided, whatever it holds", () => {
    const kinds = new Set(
      story.turns.flatMap(({ steps }) => steps.flatMap(({ intents }) => intents.map(({ kind }) => kind))),
    );
    expect([...kinds].sort()).toEqual(["model", "retry", "task", "tool"]);
    for (const turn of story.turns) expect(Turn.parse(stored(turn))).toEqual(turn);
  });

  test("is read alike where everything is written out", () => {
    for (const turn of story.turns) expect(Turn.parse(turn)).toEqual(turn);
  });

  test("holds of a call that the reply beside it proposed only which one it is, its key's end and its contract", () => {
    expect(stored(turnOf(result(reply), look)).steps).toEqual([
      {
        event: { type: "result", intent: "6-0", output: reply },
        intents: [{ kind: "tool", key: "0123456789ab", contract: "89abcdef01234567", call: "3.0" }],
      },
    ]);
  });

  test("names the tool of a call that another turn's reply proposed", () => {
    const approval = { type: "task", intent: "6-0", id: "v", vote: { vote: "approve", by: "ana" } } as Event;
    const turn = turnOf(approval, look);
    expect(stored(turn).steps[0]?.intents).toMatchObject([{ kind: "tool", name: "look", call: "3.0" }]);
    expect(Turn.parse(stored(turn))).toEqual(turn);
  });

  test("names the tool where the reply's call of that place is another's", () => {
    const turn = turnOf(result(reply), { ...look, name: "hold" } as Intent);
    expect(stored(turn).steps[0]?.intents).toMatchObject([{ kind: "tool", name: "hold" }]);
    expect(Turn.parse(stored(turn))).toEqual(turn);
  });

  test("says who observed a result where that is not the turn's host", () => {
    const turn = turnOf(result({ n: 1 }, "w-1"));
    expect(stored(turn).steps[0]?.event).toEqual({
      type: "result",
      intent: "6-0",
      output: { n: 1 },
      by: "w-1",
    });
    expect(Turn.parse(stored(turn))).toEqual(turn);
  });

  test("keeps an intent's id that is not its place, and does not count a retry as a place", () => {
    const retry = { kind: "retry", id: "2-0", attempt: 2, notBefore: 5 } as Intent;
    const turn = turnOf(result(reply), retry, look, { ...look, id: "7-4" } as Intent);
    expect(stored(turn).steps[0]?.intents?.map((one) => one.id)).toEqual(["2-0", undefined, "7-4"]);
    expect(Turn.parse(stored(turn))).toEqual(turn);
  });

  test("keeps the whole key of what a fork inherited", () => {
    const turn = turnOf(result(reply), { ...look, key: "parent.2-0.0123456789ab" } as Intent);
    expect(stored(turn).steps[0]?.intents).toMatchObject([{ key: "parent.2-0.0123456789ab" }]);
    expect(Turn.parse(stored(turn))).toEqual(turn);
  });

  test.each([
    ["a reply without that call", { ...reply, calls: [] }],
    ["an answer that is no reply", null],
    ["a reply whose calls are none", { calls: [null] }],
  ])("is refused where an intent names no tool beside %s", (_, output) => {
    const turn = stored(turnOf(result(reply), look));
    const event = { type: "result", intent: "6-0", output };
    const read = Turn.safeParse({ ...turn, steps: [{ ...turn.steps[0], event }] });
    expect(read.success).toBe(false);
    expect(read.error?.message).toContain("names neither its tool nor a call");
  });

  test.each([
    ["neither an output nor a result", {}],
    ["both", { output: 1, result: { outcome: "succeeded", output: 2 } }],
  ])("is refused where a result has %s", (_, said) => {
    const turn = stored(turnOf(result(1)));
    const event = { type: "result", intent: "6-0", ...said };
    expect(Turn.safeParse({ ...turn, steps: [{ event, intents: [] }] }).success).toBe(false);
  });
});

test("a story's last turn reads like its first: a finish and the end it brings", () => {
  const ended = given(agentOf(), started({ of: "x" }), replied(finish));
  expect(ended.turns.map((turn) => Turn.parse(stored(turn)))).toEqual(ended.turns);
});
