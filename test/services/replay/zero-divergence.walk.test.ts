/**
 * Goal: the same model with the same script diverges nowhere, step by step and in a free run, which decides the recorded
 * ledger's intents, every one; and a free run that is made to leave the record at any turn ends as the record does.
 *
 * Method: every example saga (test/examples), recorded on the mesh in memory over many seeds: other inputs, votes,
 * signals, failures, crashes (test/support/recorded-runs.ts).
 */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { examples, record, type RecordedRun } from "../../support/recorded-runs.ts";
import { freely, stepwise } from "../../support/replaying.ts";
import { share } from "../../support/share.ts";

// The patterns' outside is slow so that a person can kill them; here nobody waits for it.
vi.mock("node:timers/promises", () => ({ setTimeout: async () => undefined }));
beforeAll(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterAll(() => {
  vi.restoreAllMocks();
});

const intentsOf = (turns: RecordedRun["turns"]) =>
  turns.flatMap(({ steps }) => steps.map(({ intents }) => intents));

async function expectNoDivergence({ app, saga, turns }: RecordedRun): Promise<void> {
  const stepped = await stepwise(app, turns);
  expect(stepped, saga).toMatchObject({ different: 0, failed: 0, beyond: 0 });
  expect(stepped.agreement.exact).toBe(stepped.agreement.compared);
  const { document, run } = await freely(app, turns);
  expect(document, saga).toMatchObject({ different: 0, failed: 0, beyond: 0, outcome: { equal: true } });
  expect(document.firstDivergence).toBeUndefined();
  expect(document.leftRecordAt, saga).toBeUndefined();
  expect(intentsOf(run.turns)).toEqual(intentsOf(turns));
  expect(document.fired.got).toEqual(document.fired.recorded);
}

const runs = share(3, 25);

test.each(examples.map((example) => [example.name, example] as const))(
  `%s diverges nowhere in ${runs} recorded runs`,
  async (_, example) => {
    let decided = 0;
    for (let seed = 1; seed <= runs; seed++)
      for (const run of await record(example, seed)) {
        await expectNoDivergence(run);
        decided += intentsOf(run.turns).length;
      }
    expect(decided).toBeGreaterThanOrEqual(2 * runs);
  },
);

describe("a free run that leaves the record", () => {
  test.each(examples.map((example) => [example.name, example] as const))(
    "after any turn of %s ends as the record does",
    async (_, example) => {
      let left = 0;
      for (const { app, saga, turns } of await record(example, 7))
        for (let turn = 1; turn < turns.length; turn++) {
          left += 1;
          const { document } = await freely(app, turns, "own", { leaveAfter: turn });
          expect({ saga, turn, ...document.outcome, stopped: document.stopped }).toMatchObject({
            equal: true,
          });
        }
      expect(left).toBeGreaterThan(0);
    },
  );
});
