/** Which call a result is of, where turns were lost and their numbers are other calls' by now (QZ1, QZ2). */
import { describe, expect, test } from "vitest";
import { addressed, callKeyOf, undoKeyOf } from "../../../actors/kernel/address.ts";
import type { SagaState } from "../../../actors/contract/state.ts";
import type { Event } from "../../../protocol/event.ts";
import { intentId } from "../../../protocol/ids.ts";

const tool = (id: string, key: string) => ({ intent: { kind: "tool", id, key, name: "t" }, attempt: 1 });
const question = (id: string, text: string) => ({ kind: "task", id, about: "question", question: text });
const state = {
  turn: 9,
  open: {
    "8-0": tool("8-0", "s.new"),
    "7-0": { intent: { kind: "saga", id: "7-0", saga: "child-1" }, attempt: 1 },
    "9-0": { intent: question("9-0", "Go on?"), dueAt: 100_000, attempt: 1 },
  },
  doubts: { "3-0": { key: "s.doubted" } },
} as unknown as SagaState;
const result = (turn: number): Event => ({
  ...{ type: "result", intent: intentId(turn, 0), attempt: 1, by: "worker" },
  result: { outcome: "succeeded", output: null },
});
const at = (event: Event, key?: string, storedAt = 0) => addressed(state, event, { key, storedAt });

describe("a result", () => {
  test("of the call that has its id is that call's, and so is one that says nothing, as former workers' do", () => {
    expect(at(result(8), "s.new")).toEqual(result(8));
    expect(at(result(8))).toEqual(result(8));
    expect(at(result(3), "s.doubted")).toEqual(result(3));
  });

  test("of a call that was decided again under another id is that one's, a doubted one's and a child's end too", () => {
    expect(at(result(5), "s.new")).toEqual(result(8));
    expect(at(result(8), "s.doubted")).toEqual(result(3));
    expect(at(result(8), "child-1")).toEqual(result(7));
  });

  test("is never another call's that has its id by now, and an undone end is never a first one", () => {
    expect(at(result(8), "s.lost")).toBe("stale");
    expect(at(result(3), "s.lost")).toBe("stale");
    expect(at(result(7), undoKeyOf("child-1"))).toBe("stale");
    expect(at(result(6), "s.lost")).toEqual(result(6)); // Nothing open has its id: its saga judges it by that.
  });
});

test("a vote is on the question that its sender had read, under whatever id, and a signed one on no other id (QZ3)", () => {
  const vote = (turn: number, signature?: string): Event => ({
    ...{ type: "task", intent: intentId(turn, 0), id: "v" },
    vote: { vote: "answer", by: "ada", ...(signature === undefined ? {} : { signature }) },
  });
  const asked = (text: string) => callKeyOf(question("1-0", text) as never);
  expect(at(vote(9), asked("Go on?"))).toEqual(vote(9));
  expect(at(vote(9))).toEqual(vote(9));
  expect(at(vote(5), asked("Go on?"))).toEqual(vote(9));
  expect(at(vote(8), asked("Go on?"))).toEqual(vote(9));
  expect(at(vote(9), asked("Pay?"))).toBe("stale");
  expect(at(vote(8, "s"), asked("Go on?"))).toBe("stale");
  expect(at(vote(5, "s"), asked("Go on?"))).toEqual(vote(5, "s"));
  expect(at(vote(6), asked("Pay?"))).toEqual(vote(6));
});

test("a timer that fired before the task was due that has its id ends nothing", () => {
  const fired: Event = { type: "timer", intent: intentId(9, 0) };
  expect(at(fired, undefined, 50_000)).toBe("known");
  expect(at(fired, undefined, 99_000)).toEqual(fired);
  expect(at({ type: "timer", intent: intentId(1, 0) }, undefined, 0)).toMatchObject({ type: "timer" });
});

test("an order to undo is called under another key than the child's beginning", () => {
  const intent = { kind: "saga", id: "1-0", saga: "child-1", name: "child" } as never;
  expect(callKeyOf(intent)).toBe("child-1");
  expect(callKeyOf({ ...(intent as object), undoes: "1-0" } as never)).toBe("undo.child-1");
  expect(callKeyOf({ ...(intent as object), undoes: "1-0", starts: true } as never)).toBe("child-1");
});
