/** What is known beyond a ledger: which calls may have begun, which claims stand for that, and that nothing forged is more than a doubt. */
import { expect, test } from "vitest";
import {
  beyondName,
  callsBeyond,
  callsKnownIn,
  claimsFor,
  readNote,
} from "../../../services/ledger/beyond.ts";

const state = {
  open: {
    "4-0": { intent: { kind: "tool", id: "4-0", name: "charge", key: "s.a" }, attempt: 2, input: {} },
    "4-1": { intent: { kind: "tool", id: "4-1", name: "look", key: "s.b", reads: true }, attempt: 1 },
    "4-2": { intent: { kind: "model", id: "4-2" }, attempt: 1 },
  },
  effects: [
    { intent: "2-0", tool: "book", key: "s.c", outcome: "succeeded" },
    { intent: "2-1", tool: "trip", key: "trip-1", child: "trip-1" },
  ],
  doubts: { "3-0": { tool: "mail", key: "s.d", attempt: 1 } },
};

test("a state names every call that may have an effect, and of what is no state there is none", () => {
  expect(callsKnownIn(state).map(({ tool, key, attempt }) => [tool, key, attempt])).toEqual([
    ["charge", "s.a", 2],
    ["book", "s.c", 1],
    ["mail", "s.d", 1],
  ]);
  for (const forged of [
    undefined,
    null,
    7,
    "x",
    [],
    { open: 3, effects: {}, doubts: [] },
    { open: { a: 1 } },
  ])
    expect(callsKnownIn(forged)).toEqual([]);
});

test("what the ledger has settled is over, and of the rest the attempts from the ledger's on may have begun (VY2)", () => {
  const told = (key: string, attempt: number, ended?: object) => ({
    intent: { kind: "tool", key },
    attempt,
    ended,
  });
  const intents = new Map([
    ["4-0", told("s.a", 2)],
    ["2-0", told("s.c", 1, {})],
  ]) as never;
  expect(callsBeyond(callsKnownIn(state), { intents }).map(({ key, from }) => [key, from])).toEqual([
    ["s.a", 2],
    ["s.d", 1],
  ]);
  expect(callsBeyond(callsKnownIn(state), undefined)).toHaveLength(3);
});

test("a `once` attempt has a claim each, a `probe` effect the first of its row, and what is repeated none", () => {
  const call = { key: "k", from: 2, attempt: 3 };
  const of = (effect: Parameters<typeof claimsFor>[1]) =>
    claimsFor(call, effect).map(({ attempt }) => attempt);
  expect([of("once"), of("probe"), of(undefined), of("idempotent"), of("read")]).toEqual([
    [2, 3],
    [1],
    [1, 2, 3],
    [],
    [],
  ]);
});

test("a note that cannot be read is none", () => {
  const note = { turn: 3, hash: "h", endsWith: 1, by: "host a", at: 1, calls: [] };
  expect(readNote(Buffer.from(JSON.stringify(note)))).toEqual(note);
  for (const data of [undefined, Buffer.from("{"), Buffer.from("{}")]) expect(readNote(data)).toBeUndefined();
  expect(beyondName).toMatch(/^[a-z]+$/);
});
