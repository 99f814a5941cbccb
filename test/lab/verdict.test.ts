/**
 * Goal: the lab's judge sees what is twice, lost and standing, and lets nothing pass for well that is not (LV1).
 * Method: what is left of a run in which all is right, and one thing spoiled at a time.
 */
import { describe, expect, test } from "vitest";
import type { SagaId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { StoredTurn } from "../../services/ledger/reader.ts";
import type { Act } from "../simulation/world.ts";
import { wordOf } from "./said.ts";
import { judgeRemains, type Remains } from "./verdict.ts";

const saga = "journey-1" as SagaId;
const other = "journey-2" as SagaId;

// Proof: the judge reads no more of a turn than its steps.
const turn = (...steps: object[]) =>
  ({ turn: { steps } as unknown as Turn, storedAt: 0 }) as unknown as StoredTurn;
const begun = turn({ event: { type: "start", id: "start" }, intents: [] });
const ended = turn({ event: { type: "signal", id: "go" }, intents: [{ kind: "end" }] });

const act = (change: Partial<Act> = {}): Act => ({
  ...{ at: 2_000, sentAt: 1_500, tool: "charge", effect: "once", key: `${saga}.k`, place: "1-charge" },
  ...{ by: "worker-1#7", attempt: 1, undoes: undefined, output: { id: "charge-1" } },
  ...change,
});

const well: Remains = {
  ledgers: new Map([[saga, [begun, ended]]]),
  before: new Map([[saga, 1]]),
  inputs: [
    {
      subject: `saga.${saga}.start`,
      seq: 1,
      headers: { "Saga-Event": "start" },
      msgId: "a",
      data: new Uint8Array(),
    },
    {
      subject: `saga.${saga}.signal.go`,
      seq: 2,
      headers: { "Saga-Event": "go" },
      msgId: "b",
      data: new Uint8Array(),
    },
  ],
  dead: [],
  acts: [act()],
  asked: [act()],
  stoodStill: () => false,
  struckAt: 1_000,
  standing: [],
  misListed: [],
  doctor: { text: "", ok: true },
  words: [{ word: "MESH_INCOMPLETE", by: "host-1", afterMs: 900 }],
  takes: [],
};

describe("the verdict of a run", () => {
  test("holds where nothing is twice, lost or standing, and says how soon what happened", () => {
    expect(judgeRemains(well)).toMatchObject({
      ...{ holds: true, effects: 1, sagas: 1, firstEffectMs: 1_000, stillMs: 1_000 },
      firstWord: { word: "MESH_INCOMPLETE" },
    });
  });

  test.each([
    ["a `once` effect twice", { acts: [act(), act({ key: `${saga}.other` })] }, { twice: { once: 1 } }],
    [
      "a `probe` effect twice",
      { acts: [act({ effect: "probe" }), act({ effect: "probe" })] },
      { twice: { probe: 1 } },
    ],
    [
      "an `idempotent` call under two keys",
      { asked: [act({ effect: "idempotent" }), act({ effect: "idempotent", key: `${saga}.other` })] },
      { twice: { idempotent: 1 } },
    ],
    ["a saga that was there and is gone", { before: new Map([[other, 1]]) }, { lost: { sagas: 1 } }],
    ["turns that were there and are gone", { before: new Map([[saga, 3]]) }, { lost: { turns: 1 } }],
    ["an acked signal that no ledger has", { ledgers: new Map([[saga, [begun]]]) }, { lost: { inputs: 1 } }],
    [
      "all is well beside a saga that stands",
      { standing: [saga] },
      { standing: 1, named: 0, allIsWell: true },
    ],
    [
      "a task that was not listed",
      { misListed: ["journey-1 asks by 1-0 and was not listed"] },
      { details: ["journey-1 asks by 1-0 and was not listed"] },
    ],
  ] as const)("does not hold with %s", (_, spoiled, seen) => {
    expect(judgeRemains({ ...well, ...spoiled })).toMatchObject({ holds: false, ...seen });
  });

  test("holds with a loss that the fault itself takes, and with a letter in place of an input", () => {
    const ledgers = new Map([[saga, [begun]]]);
    expect(judgeRemains({ ...well, ledgers, takes: ["inputs"] }).holds).toBe(true);
    const letter = {
      ...{ subject: "dead.inbox.journey-1", seq: 1, storedAt: 0, data: new Uint8Array(), msgId: undefined },
      headers: { "Saga-Origin": `inbox.0.${saga}.signal.go#2` },
    };
    expect(judgeRemains({ ...well, ledgers, dead: [letter] }).holds).toBe(true);
  });

  test("holds with what was listed of turns that the fault took", () => {
    const misListed = ["journey-1 is running and was listed as completed"];
    expect(judgeRemains({ ...well, misListed, takes: ["turns"] })).toMatchObject({
      holds: true,
      details: [],
    });
    expect(judgeRemains({ ...well, misListed, takes: ["inputs"] }).holds).toBe(false);
  });

  test("tells a saga that stands from one that waits for an input which the fault took", () => {
    const spoiled = { ledgers: new Map([[saga, [begun]]]), takes: ["inputs"] as const, standing: [saga] };
    expect(judgeRemains({ ...well, ...spoiled })).toMatchObject({ standing: 1, named: 0, bereft: 1 });
    const doctor = { text: saga, ok: false };
    expect(judgeRemains({ ...well, ...spoiled, doctor })).toMatchObject({ named: 1, bereft: 0 });
    expect(judgeRemains({ ...well, standing: [saga] })).toMatchObject({ standing: 1, bereft: 0 });
  });

  test("holds where doctor names a saga that stands, or says that something is wrong", () => {
    for (const doctor of [
      { text: saga, ok: true },
      { text: "", ok: false },
    ])
      expect(judgeRemains({ ...well, standing: [saga], doctor }).holds).toBe(true);
  });
});

test("a word is a warning's code, else its event, and the code of a process that does not start", () => {
  const line = (fields: object) => JSON.stringify({ level: "warn", msg: "not appended", ...fields });
  expect(wordOf(line({}))).toBe("not appended");
  expect(wordOf(line({ err: { code: "STORAGE_FULL" } }))).toBe("STORAGE_FULL");
  expect(wordOf(line({ msg: "stream KV_CLAIM is not there [MESH_INCOMPLETE]" }))).toBe("MESH_INCOMPLETE");
  expect(wordOf("sagamesh: [MESH_MIXED] LEDGER is of another mesh")).toBe("MESH_MIXED");
  expect(wordOf(line({ msg: "server heard", detail: "INBOX was gone: it is made again" }))).toBe(
    "INBOX was gone",
  );
  expect(wordOf(line({ err: { code: "TASK_OVER" } }))).toBeUndefined();
  expect(wordOf('{"error":{"code":"MESH_INCOMPLETE","message":"gone"}}')).toBe("MESH_INCOMPLETE");
  expect(wordOf(line({ level: "info" }))).toBeUndefined();
  expect(wordOf(line({ msg: "tool failed", err: { code: "TOOL_FAILED" } }))).toBeUndefined();
  expect(wordOf('{"level":"warn","ms')).toBeUndefined();
});
