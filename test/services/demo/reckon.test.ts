/**
 * Goal: that the demo's table would show what it says is not there. A count that cannot become 1 proves nothing.
 * Method: small ledgers and accounts by hand, right ones and ones with a planted fault.
 */
import { describe, expect, test } from "vitest";
import { type Closing, closingBy } from "../../../protocol/closing.ts";
import type { Event } from "../../../protocol/event.ts";
import { parseIntentId, parseSagaId } from "../../../protocol/ids.ts";
import type { Intent } from "../../../protocol/intent.ts";
import { ledgerVersion, type Turn } from "../../../protocol/turn.ts";
import type { PlannedKill } from "../../../services/demo/kill-plan.ts";
import { type Entry, recoveryOf, sumOf, tallyByTool } from "../../../services/demo/reckon.ts";
import { accountOf } from "../../../services/ledger/account-reader.ts";

const saga = parseSagaId("hire-1");
const id = parseIntentId("1-0");
const key = "hire-1.1-0.abc";
const charge: Intent = { kind: "tool", id, name: "charge_deposit", key, contract: "c" };

const turnsOf = (steps: { event: Event; intents?: Intent[]; host?: string; at?: number }[]): Turn[] =>
  steps.map(({ event, intents = [], host = "h1", at }, index) => ({
    ...{ v: ledgerVersion, saga, turn: index + 1, at: at ?? index, host, prev: "" },
    steps: [{ event, intents, closed: closedBy(event, intents) }],
  }));
/** As the fold closes it: by its result, unless that is tried again. */
const closedBy = (event: Event, intents: Intent[]): Closing[] =>
  event.type === "result" && !intents.some(({ kind }) => kind === "retry")
    ? [closingBy(event.intent, event.result)]
    : [];
const start: Event = {
  type: "start",
  definition: { name: "hire_for_role", version: 1, hash: "" },
  input: {},
};
const said = (result: Extract<Event, { type: "result" }>["result"], by = "w1"): Event => ({
  ...{ type: "result", intent: id, attempt: 1, by },
  result,
});
const done = said({ outcome: "succeeded", output: {} });
const doubt = said({ outcome: "in_doubt", code: "IN_DOUBT", reason: "" });
const failed = said({ outcome: "failed", code: "TOOL_FAILED", reason: "" });
const entry = (more: Partial<Entry> = {}): Entry => ({
  ...{ at: 0, tool: "charge_deposit", key, did: "performed", input: { room: "R12" }, output: {} },
  ...more,
});
const sum = (turns: Turn[], books: Entry[]) => sumOf(tallyByTool(accountOf(turns), books).values());

describe("the tally", () => {
  test("of a charge that was made and recorded is clean", () => {
    expect(sum(turnsOf([{ event: start, intents: [charge] }, { event: done }]), [entry()])).toEqual({
      ...{ intended: 1, requests: 1, performed: 1, duplicates: 0, lost: 0, inDoubt: 0 },
    });
  });

  test("counts a second charge under the same key, another key of the same intent, and the same input", () => {
    const turns = turnsOf([{ event: start, intents: [charge] }, { event: done }]);
    expect(sum(turns, [entry(), entry()]).duplicates).toBe(1);
    expect(sum(turns, [entry(), entry({ key: "hire-1.1-0.def", input: {} })]).duplicates).toBe(1);
    expect(sum(turns, [entry(), entry({ key: "hire-1.9-0.abc" })]).duplicates).toBe(1);
  });

  test("counts neither what the outside remembered nor what it only read as a duplicate", () => {
    const turns = turnsOf([{ event: start, intents: [charge] }, { event: done }]);
    expect(sum(turns, [entry(), entry({ did: "remembered" }), entry({ did: "read" })])).toMatchObject({
      ...{ requests: 3, performed: 1, duplicates: 0 },
    });
  });

  test("counts as lost what was recorded and not done, and what was never settled", () => {
    expect(sum(turnsOf([{ event: start, intents: [charge] }, { event: done }]), []).lost).toBe(1);
    expect(sum(turnsOf([{ event: start, intents: [charge] }]), [entry()]).lost).toBe(1);
    const retried: Intent = { kind: "retry", id, attempt: 2, notBefore: 0 };
    const turns = turnsOf([
      { event: start, intents: [charge] },
      { event: failed, intents: [retried] },
    ]);
    expect(sum(turns, []).lost).toBe(1);
  });

  test("counts as lost what only the saga's end closed", () => {
    const turns = turnsOf([{ event: start, intents: [charge] }, { event: done }]);
    const closed: Closing[] = [{ intent: id, as: "cancelled", because: "end" }];
    const atEnd = turns.map((turn) => ({ ...turn, steps: turn.steps.map((step) => ({ ...step, closed })) }));
    expect(sum([...turns.slice(0, 1), ...atEnd.slice(1)], [entry()]).lost).toBe(1);
  });

  test("counts a doubt until it is corrected", () => {
    const turns = [{ event: start, intents: [charge] }, { event: doubt }];
    expect(sum(turnsOf(turns), [entry()])).toMatchObject({ inDoubt: 1, lost: 0 });
    expect(sum(turnsOf([...turns, { event: done }]), [entry()])).toMatchObject({ inDoubt: 0, lost: 0 });
  });
});

describe("a recovery", () => {
  const kill = {
    role: "host",
    tool: "charge_deposit",
    effect: "once",
    window: "after-record",
    nth: 1,
  } as const;
  const strike = (role: PlannedKill["role"]) => ({ kill: { ...kill, role }, pid: 1, key, at: 100 });
  const recoveryAfter = (role: PlannedKill["role"], turns: Turn[]) =>
    recoveryOf(strike(role), turns.at(-1) as Turn, accountOf(turns));

  test("from a host's death is the first turn of another host after it", () => {
    const turns = turnsOf([
      { event: start, intents: [charge], host: "h-machine-7-aaaaaa", at: 50 },
      { event: done, host: "h-machine-1-aaaaaa", at: 101 },
      { event: done, host: "h-machine-2-aaaaaa", at: 140 },
    ]);
    expect(recoveryAfter("host", turns)).toEqual({ by: "h-machine-2-aaaaaa", ms: 40 });
    expect(recoveryAfter("host", turns.slice(0, 1))).toBeUndefined();
    expect(recoveryAfter("host", turns.slice(0, 2))).toBeUndefined();
  });

  test("from a worker's death is the result of the effect that was hit", () => {
    const turns = turnsOf([
      { event: start, intents: [charge], at: 50 },
      { event: said({ outcome: "succeeded", output: {} }, "w2"), at: 160 },
    ]);
    expect(recoveryAfter("worker", turns)).toEqual({ by: "w2", ms: 60 });
    expect(recoveryAfter("worker", turns.slice(0, 1))).toBeUndefined();
  });
});
