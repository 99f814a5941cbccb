/**
 * Goal: whoever reads a ledger some turns at a time, up to whatever moment, shows what who holds it whole shows; and what they hold does
 * not grow with the ledger.
 *
 * Method: the ledgers of the examples, written by hosts that die and with people who vote, read in pages of a few messages, up to turns
 * and times drawn by chance, beside the same of all turns at hand. What is held is counted: of the events that were read, those that
 * a collection of garbage leaves, in a ledger and in one four times as long.
 */
import fc from "fast-check";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { dimensions } from "../../../protocol/documents/state.ts";
import type { WhySentence } from "../../../protocol/documents/why.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { App } from "../../../services/app/app.ts";
import { describedUpTo } from "../../support/inspected-of.ts";
import { readFolded, servedDefinition, viewingByFold } from "../../../services/views/folded.ts";
import { drawing } from "../../../services/views/graph/graph.ts";
import { readInspected } from "../../../services/views/inspected.ts";
import { promptOf, readPrompt } from "../../../services/views/prompt.ts";
import { readState } from "../../../services/views/state-view.ts";
import { ledgerUpTo, type Moment, type ReadUpTo, type TurnTaker } from "../../../services/views/up-to.ts";
import { readLedger } from "../../../services/views/view.ts";
import { tellWhy, whyIntent } from "../../../services/views/why/why.ts";
import { atOnce } from "../../../services/wire/loop.ts";
import { agents, inPagesOf, longest, machines, stored, watching } from "../../support/by-pages.ts";
import { graphWhole } from "../../support/graph-whole.ts";
import { type RecordedLedger, recordExamples, sourceOf } from "../../support/recorded.ts";
import { toldLedgers } from "../../support/told-ledgers.ts";
import { stateOf } from "../../support/state-of.ts";
import { whyOf } from "../../support/why-of.ts";
import { whyWhole } from "../../support/why-whole.ts";

let ledgers: RecordedLedger[];
beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // The examples' outside world speaks there.
  const told = Object.values(await toldLedgers()).map(({ app, turns }) => stored(app, turns));
  ledgers = [...told, ...(await recordExamples())];
  vi.restoreAllMocks();
}, 60_000);

/** What is given, or the code of what is thrown. */
const given = async (work: () => unknown): Promise<unknown> => {
  try {
    return await work();
  } catch (error) {
    return (error as { code?: string }).code ?? Promise.reject(error);
  }
};

/** The turns up to a moment, of all at hand. */
function firstOf(turns: readonly Turn[], { turn, time }: Moment): readonly Turn[] {
  if (turn !== undefined) return turns.slice(0, turn);
  if (time === undefined) return turns;
  return turns.slice(0, turns.findLastIndex(({ at }) => at <= time) + 1);
}

const listening = () => {
  const story: string[] = [];
  return { story, say: (some: readonly WhySentence[]) => void story.push(...some.map(({ text }) => text)) };
};

async function whyByPages(read: ReadUpTo, app: App | undefined, remembers: number) {
  const { listener, sum } = await tellWhy(read, app, listening, remembers);
  return {
    story: listener.story,
    sum: sum.filter(({ about }) => about !== "cost").map(({ text }) => text),
  };
}

test("by pages the same is shown as of all turns, up to whatever moment", async () => {
  const draw = fc.record({
    n: fc.nat(),
    size: fc.integer({ min: 1, max: 7 }),
    by: fc.constantFrom("turn", "time", "all"),
    at: fc.nat(),
    folds: fc.boolean(),
    remembers: fc.constantFrom(20, Number.POSITIVE_INFINITY),
  });
  const compared = { inspected: 0, prompts: 0, stories: 0, intents: 0, states: 0 };
  await fc.assert(
    fc.asyncProperty(draw, async ({ n, size, by, at, folds, remembers }) => {
      const ledger = ledgers[n % ledgers.length]!;
      const { saga } = ledger;
      const all = (await readLedger(sourceOf(ledger), saga)).map(({ turn }) => turn);
      const drawn = all[at % all.length]!;
      const moment = by === "turn" ? { turn: drawn.turn } : by === "time" ? { time: drawn.at } : {};
      const read = ledgerUpTo(inPagesOf(size, ledger), saga, moment);
      const turns = firstOf(all, moment);
      const app = folds ? ledger.app : undefined;
      const isPast = by !== "all";

      const shown = await given(() =>
        readInspected(read, { viewing: {}, remembers: undefined, app, isPast }),
      );
      expect(shown).toEqual(
        await given(() => atOnce(describedUpTo(turns, isPast ? all.length : undefined, {}, app))),
      );
      compared.inspected += 1;

      const why = await given(() => whyByPages(read, app, remembers));
      expect(why).toEqual(await given(() => whyWhole(turns, app)));
      compared.stories += typeof why === "object" ? 1 : 0;

      const graph = await given(async () => {
        const begin = () => drawing(remembers);
        const found = app === undefined ? undefined : await readFolded(app, read, begin);
        return (found ?? (await read(begin))).taker.graph(found?.state);
      });
      expect(graph).toEqual(
        await given(() => {
          const folding = app === undefined ? {} : atOnce(viewingByFold(app, turns));
          return atOnce(graphWhole(turns, folding));
        }),
      );

      const ids = all.flatMap(({ steps }) => steps.flatMap(({ intents }) => intents.map(({ id }) => id)));
      const intent = ids[(at * 7 + n) % ids.length];
      if (intent !== undefined) {
        const one = await given(() => whyIntent(read, app, intent, remembers));
        expect(one).toEqual(await given(() => atOnce(whyOf(turns, { intent, app }))));
        compared.intents += typeof one === "object" ? 1 : 0;
      }
      if (app === undefined) return;

      const folded = await given(async () => {
        const { state, definition } = await readFolded(app, read, () => ({ take: () => undefined }));
        return { state, hash: definition.hash };
      });
      expect(JSON.stringify(folded)).toBe(
        JSON.stringify(
          await given(() => ({
            state: atOnce(viewingByFold(app, turns)).state,
            hash: servedDefinition(app, turns).hash,
          })),
        ),
      );
      const dimension = dimensions[at % dimensions.length]!;
      const state = await given(() => readState(app, read, dimension));
      expect(state).toEqual(await given(() => atOnce(stateOf(app, turns, dimension, all.length))));
      compared.states += typeof state === "object" ? 1 : 0;
      const prompt = await given(() => readPrompt(app, read));
      expect(prompt).toEqual(await given(() => atOnce(promptOf(app, all, turns.at(-1)!.turn))));
      compared.prompts += typeof prompt === "object" ? 1 : 0;
    }),
    { numRuns: 150 },
  );
  expect(compared.stories).toBeGreaterThan(100);
  expect(compared.prompts).toBeGreaterThan(20);
  expect(compared.intents).toBeGreaterThan(50);
  expect(compared.states).toBeGreaterThan(30);
});

/** A ledger that is read, and how many events of it were held when most of it was read. */
function watched(ledger: RecordedLedger, size: number): { read: ReadUpTo; held: () => number } {
  const { saw, count, held } = watching();
  const beforeLast = (after: number, through: number) => {
    if (after >= through - size) count();
  };
  const reading = ledgerUpTo(inPagesOf(size, ledger, beforeLast), ledger.saga, {});
  const read: ReadUpTo = (begin, through) =>
    reading(() => {
      const taker = begin();
      const take = (turn: Turn) => {
        saw(turn);
        taker.take(turn);
      };
      return Object.assign(Object.create(taker) as typeof taker, { take } satisfies TurnTaker);
    }, through);
  return { read, held };
}

const remembers = 20;
const readers: Readonly<Record<string, (read: ReadUpTo, app: App) => Promise<unknown>>> = {
  "shows it": (read) => readInspected(read, { viewing: {}, remembers, app: undefined, isPast: false }),
  "shows it with its definition": (read, app) =>
    readInspected(read, { viewing: {}, remembers, app, isPast: false }),
  "folds it": (read, app) => readFolded(app, read, () => ({ take: () => undefined })),
  "tells its story": (read) => tellWhy(read, undefined, () => ({ say: () => undefined }), remembers),
  ...Object.fromEntries(
    dimensions.map((one) => [
      `shows its ${one} state`,
      (read: ReadUpTo, app: App) => readState(app, read, one),
    ]),
  ),
  "draws its graph": async (read) => (await read(() => drawing(remembers))).taker.graph(),
  "tells the story of one of its intents": (read) =>
    given(() => whyIntent(read, undefined, "2-0" as IntentId, remembers)),
  "tells its story with its definition": (read, app) =>
    tellWhy(read, app, () => ({ say: () => undefined }), remembers),
};

describe.each(Object.keys(readers))("whoever %s", (how) => {
  test.each([
    ["a machine's", (n: number) => machines(n)],
    ["an agent's", (n: number) => agents(n)],
  ])("holds as many turns of %s ledger, however long that is", async (_whose, ledgerOf) => {
    const heldOf = async (turns: number) => {
      const ledger = ledgerOf(turns);
      const { read, held } = watched(ledger, 10);
      await readers[how]!(read, ledger.app);
      return held();
    };
    const short = await heldOf(150);
    expect(short).toBeLessThan(100);
    expect(await heldOf(longest)).toBeLessThan(short + 20);
  });
});
