/**
 * Goal: a ledger that is replayed some turns at a time comes to what it comes to where all of it is held; and as long as a run follows
 * its record, what is held does not grow with it.
 *
 * Method: the ledgers of the examples, in pages of a few messages, in both modes, leaving the record after turns drawn by chance, beside
 * all turns at hand; paths, calls and answers beside those of `replay-whole.ts`. What is held is counted as events that a collection of
 * garbage leaves, in a ledger and in one four times as long; what is asked for as requests, in a ledger and in one ten times as long.
 */
import fc from "fast-check";
import { beforeAll, describe, expect, test, vi } from "vitest";
import type { Turn } from "../../../protocol/turn.ts";
import type { App } from "../../../services/app/app.ts";
import { createCallReader } from "../../../services/ledger/recorded-results.ts";
import { replayFreely } from "../../../services/replay/replay-freely.ts";
import { replayDecisions } from "../../../services/replay/step-by-step.ts";
import { summing } from "../../../services/replay/summed.ts";
import { pagesOfTurns, storedPages, type TurnPages } from "../../../services/views/turn-pages.ts";
import { readLedger } from "../../../services/views/view.ts";
import { atOnce } from "../../../services/wire/loop.ts";
import { agents, inPagesOf, longest, machines, stored, watching } from "../../support/by-pages.ts";
import { everyDecision } from "../../support/every-decision.ts";
import { type RecordedLedger, recordExamples, sourceOf } from "../../support/recorded.ts";
import { answersWhole, callsWhole, pathWhole } from "../../support/replay-whole.ts";
import { replayOptions } from "../../support/replaying.ts";
import { toldLedgers } from "../../support/told-ledgers.ts";

let ledgers: RecordedLedger[];
beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // The examples' outside world speaks there.
  const told = Object.values(await toldLedgers()).map(({ app, turns }) => stored(app, turns));
  ledgers = [...told, ...(await recordExamples())];
  vi.restoreAllMocks();
}, 60_000);

const turnsOf = async (ledger: RecordedLedger): Promise<Turn[]> =>
  (await readLedger(sourceOf(ledger), ledger.saga)).map(({ turn }) => turn);

/** What is told, or the code of what is thrown. */
const told = async (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => (error as { code?: string }).code ?? Promise.reject(error as Error));

const stepwise = (app: App, ledger: TurnPages) =>
  replayDecisions(app, ledger, replayOptions(app, "recorded"));
const freely = async (app: App, ledger: TurnPages, leaveAfter?: number) => {
  const options = { ...replayOptions(app, "recorded"), onMiss: "sample" as const };
  return (
    await replayFreely(app, ledger, { ...options, ...(leaveAfter === undefined ? {} : { leaveAfter }) })
  ).document;
};

test("by pages a replay comes to what it comes to where all turns are held", async () => {
  const draw = fc.record({
    n: fc.nat(),
    size: fc.integer({ min: 1, max: 7 }),
    mode: fc.constantFrom("step by step", "free", "leaving"),
    at: fc.nat(),
  });
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(draw, async ({ n, size, mode, at }) => {
      const ledger = ledgers[n % ledgers.length]!;
      const { app, saga } = ledger;
      const turns = await turnsOf(ledger);
      const leaveAfter = mode === "leaving" ? 1 + (at % turns.length) : undefined;
      const replay = (pages: TurnPages) =>
        told(mode === "step by step" ? stepwise(app, pages) : freely(app, pages, leaveAfter));
      const paged = await replay(storedPages(inPagesOf(size, ledger), saga));
      expect(paged).toEqual(await replay(pagesOfTurns(turns)));
      if (typeof paged !== "object") return;
      expect(paged).toMatchObject({ saga, path: { recorded: pathWhole(turns) } });
      compared += 1;
    }),
    { numRuns: 60 },
  );
  expect(compared).toBeGreaterThan(30);
});

test("what is gathered of any first turns of a ledger is what all of them hold", async () => {
  for (const ledger of ledgers) {
    const turns = await turnsOf(ledger);
    const [sum, calls] = [summing(), createCallReader()];
    for (const [k, turn] of turns.entries()) {
      sum.take(turn);
      calls.take(turn);
      if (k % 7 !== 0 && k !== turns.length - 1) continue;
      const first = turns.slice(0, k + 1);
      expect(sum.sum().path()).toEqual(pathWhole(first));
      const { settled, unanswered } = calls.calls();
      const all = callsWhole(first);
      const brief = all.map(({ intent, turn: decided, votes, ends }) => ({
        ...{ intent, turn: decided, votes },
        settled: ends[0],
      }));
      expect([...settled, ...unanswered]).toHaveLength(all.length);
      expect(
        settled.map(({ intent, turn: decided, votes, settledTurn, durationMs }) => ({
          ...{ intent, turn: decided, votes: votes?.length ?? 0 },
          settled: { turn: settledTurn, ms: durationMs },
        })),
      ).toEqual(brief.filter((one) => one.settled !== undefined));
      const inputs = new Map(all.map(({ intent, input }) => [intent.id, input]));
      for (const { intent, kind, input } of [...settled, ...unanswered])
        if (kind !== "task") expect(input).toEqual(inputs.get(intent.id));
    }
  }
});

test("each decision is told once, in order, with the answer that counts", async () => {
  let seen = 0;
  for (const ledger of ledgers) {
    const turns = await turnsOf(ledger);
    if (turns.some(({ steps }) => steps.some(({ event }) => event.type === "migrated"))) continue;
    const answers = answersWhole(turns);
    const asked = turns.flatMap(({ steps }) =>
      steps.flatMap(({ intents }) => intents.flatMap((one) => (one.kind === "model" ? [one.id] : []))),
    );
    const decisions = atOnce(everyDecision(ledger.app, turns));
    expect(asked.filter((id) => decisions.some(({ intent }) => intent.id === id))).toEqual(
      decisions.map(({ intent }) => intent.id),
    );
    for (const { intent, reply, without } of decisions)
      expect(reply === undefined ? without : JSON.stringify(reply)).toEqual(
        answers.get(intent.id) ?? "it has not been answered yet",
      );
    seen += decisions.length;
  }
  expect(seen).toBeGreaterThan(20);
});

const size = 10;
const modes: Readonly<Record<string, (app: App, ledger: TurnPages) => Promise<unknown>>> = {
  "step by step": stepwise,
  "freely, along its record": freely,
};

describe.each(Object.keys(modes))("whoever replays %s", (how) => {
  test.each([
    ["a machine's", machines],
    ["an agent's", agents],
  ])("holds as many turns of %s ledger, however long that is", async (_whose, ledgerOf) => {
    const heldOf = async (turns: number) => {
      const ledger = ledgerOf(turns);
      const { saw, count, held } = watching();
      const beforeLast = (after: number, through: number) => {
        if (after >= through - size) count();
      };
      const pages = storedPages(inPagesOf(size, ledger, beforeLast), ledger.saga);
      await modes[how]!(ledger.app, async function* () {
        for await (const page of pages()) {
          for (const turn of page) saw(turn);
          yield page;
        }
      });
      return held();
    };
    const short = await heldOf(150);
    expect(short).toBeLessThan(100);
    expect(await heldOf(longest)).toBeLessThan(short + 20);
  });

  test("asks for ten times as much where a ledger is ten times as long", async () => {
    const askedOf = async (turns: number) => {
      let asked = 0;
      const ledger = machines(turns);
      await modes[how]!(
        ledger.app,
        storedPages(
          inPagesOf(size, ledger, () => (asked += 1)),
          ledger.saga,
        ),
      );
      return asked;
    };
    expect(await askedOf(600)).toBe(10 * (await askedOf(60)));
  });
});
