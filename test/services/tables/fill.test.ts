/**
 * Goal: the tables say what the views say of the whole ledgers, however the filling was cut, interrupted and taken up again.
 * Method: ledgers of every example and of told stories, stored in a drawn order, beside junk, in one shard or four; the tables are
 * filled in drawn portions by writers that are dropped in between, and compared with rows made of `viewOf` of each whole
 * ledger, and with tables that one writer filled at once.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { ModelReply } from "../../../protocol/model.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { tasksIn } from "../../../services/client/tasks.ts";
import { systemClock } from "../../../services/runtime/system.ts";
import { catchUp, type KeepDeps } from "../../../services/tables/keep.ts";
import { timeText } from "../../../services/tables/rows.ts";
import { openSqliteStore } from "../../../services/tables/sqlite.ts";
import { viewOf } from "../../../services/views/view.ts";
import { type LedgersAtHand, ledgersAtHand } from "../../support/ledgers-at-hand.ts";
import { examples, record } from "../../support/recorded-runs.ts";
import { rowsOf, tablesIn } from "../../support/tables-told.ts";
import { toldLedgers } from "../../support/told-ledgers.ts";

const folder = mkdtempSync(join(tmpdir(), "sagamesh-tables-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `${files++}.sqlite`);

let writers = 0;
const keeping = (at: LedgersAtHand, file: string, more: Partial<KeepDeps> = {}): KeepDeps => ({
  ...{ ports: at.ports, clock: systemClock, mesh: "m1", writer: `w${writers++}` },
  readArchived: async () => undefined,
  open: async () => openSqliteStore(file),
  signal: new AbortController().signal,
  ...more,
});

/** A saga's rows as the views have them. */
function told(turns: readonly Turn[]) {
  const view = viewOf(turns);
  const { saga, definition, spent, below } = view;
  return {
    saga: {
      ...{
        saga,
        agent: definition.name,
        version: definition.version,
        status: view.status,
        turns: view.turns,
      },
      ...{ started: timeText(view.startedAt), updated: timeText(view.updatedAt), usd: spent.usd },
      ...{ input_tokens: spent.inputTokens, output_tokens: spent.outputTokens, model_calls: spent.steps },
      ...{ tool_calls: spent.toolCalls, children: spent.children, error: view.end?.code ?? null },
      ...{ open: view.open.length, parent: view.parent?.saga ?? null },
      ...{ below: below?.usd ?? 0, asks: tasksIn(view).length },
    },
    intents: Object.fromEntries(
      view.intents.map(({ intent, outcome, reason, attempt, turn, settledTurn, by, deferred, output }) => {
        const isOpen = view.open.some((one) => one.intent.id === intent.id);
        const text = output === undefined ? null : JSON.stringify(output);
        return [
          intent.id,
          {
            ...{ kind: intent.kind, outcome: outcome ?? (isOpen ? "open" : null), reason: reason ?? null },
            ...{ attempt, turn, ended_turn: settledTurn ?? null, said_by: by ?? null },
            ...{ deferred: deferred ? 1 : 0, output: text !== null && text.length > 8_192 ? null : text },
          },
        ];
      }),
    ),
    effects: Object.fromEntries(view.effects.map(({ intent, outcome }) => [intent, outcome])),
    tasks: tasksIn(view).map(({ intent, question, to }) => ({ intent, question, whom: to.join(", ") })),
    said: turns.flatMap(({ steps }) =>
      steps.flatMap(({ event }) =>
        event.type === "result" && event.result.outcome === "succeeded"
          ? (ModelReply.safeParse(event.result.output).data?.text ?? [])
          : [],
      ),
    ),
  };
}

/** The same as the tables have them. */
function tabled(file: string, saga: string): ReturnType<typeof told> {
  const [row = {}] = rowsOf(file, "select * from sagas where saga = ?", saga);
  const { cost, usd } = row as { cost: number; usd: number };
  const pick = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, row[name]]));
  const intents = rowsOf(file, "select * from intents where saga = ?", saga);
  return {
    saga: {
      ...pick(["saga", "agent", "version", "status", "turns", "started", "updated", "usd", "input_tokens"]),
      ...pick(["output_tokens", "model_calls", "tool_calls", "children", "error", "parent", "open", "asks"]),
      below: Math.round((cost - usd) * 1e9) / 1e9,
    },
    intents: Object.fromEntries(
      intents.map(
        ({ intent, kind, outcome, reason, attempt, turn, ended_turn, said_by, deferred, output }) => [
          intent,
          { kind, outcome, reason, attempt, turn, ended_turn, said_by, deferred, output },
        ],
      ),
    ),
    effects: Object.fromEntries(
      rowsOf(file, "select intent, outcome from effects where saga = ? and stands = 1", saga).map(
        ({ intent, outcome }) => [intent, outcome],
      ),
    ),
    tasks: rowsOf(file, "select intent, question, whom from tasks where saga = ? and state = 'open'", saga),
    said: rowsOf(
      file,
      "select text from messages where saga = ? and role = 'model' and who is not null order by turn, place",
      saga,
    ).map(({ text }) => text),
  } as unknown as ReturnType<typeof told>;
}

const byIntent = (a: { intent: string }, b: { intent: string }) => (a.intent < b.intent ? -1 : 1);
const sorted = ({ tasks, said, ...rest }: ReturnType<typeof told>) => ({
  ...rest,
  tasks: [...tasks].sort(byIntent),
  said,
});

function expectTold(file: string, turns: readonly Turn[]): void {
  const expected = told(turns);
  const found = tabled(file, turns[0]!.saga);
  expect(sorted({ ...found, said: [] })).toEqual(sorted({ ...expected, said: [] }));
  for (const text of expected.said) expect(found.said).toContain(text);
  const [sum = {}] = rowsOf(
    file,
    "select coalesce(sum(usd), 0) as usd, coalesce(sum(input_tokens + cache_read_tokens + cache_write_tokens), 0) as tokens from spending where saga = ?",
    turns[0]!.saga,
  );
  expect(sum["usd"]).toBeCloseTo(expected.saga.usd, 6);
  expect(sum["tokens"]).toBe(expected.saga.input_tokens);
}

/** Ledgers of sagas whose ids are all their own. */
async function corpus(seed: number): Promise<Turn[][]> {
  const runs = await Promise.all(examples.map((example) => record(example, seed)));
  const all = [...runs.flat(), ...Object.values(await toldLedgers())];
  const seen = new Set<string>();
  return all.flatMap(({ turns }) => {
    const saga = turns[0]?.saga;
    if (saga === undefined || seen.has(saga)) return [];
    seen.add(saga);
    return [[...turns]];
  });
}

/** Appends all turns in an order in which those of one saga stay behind one another; calls back between some of them. */
async function store(
  at: LedgersAtHand,
  ledgers: readonly (readonly Turn[])[],
  draw: (n: number) => number,
  between: () => Promise<void> = async () => undefined,
): Promise<void> {
  const left = ledgers.map((turns) => [...turns]).filter((turns) => turns.length > 0);
  while (left.length > 0) {
    const k = draw(left.length);
    const turn = left[k]!.shift()!;
    at.append(turn);
    if (left[k]!.length === 0) left.splice(k, 1);
    if (draw(7) === 0) at.publish(turn.saga, Buffer.from(draw(2) === 0 ? "junk" : "{}"));
    if (draw(25) === 0) await between();
  }
}

const drawer = (seed: number) => {
  let state = seed >>> 0;
  return (n: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
};

const ledgers = await corpus(1);

describe("the tables say what the views say of the whole ledgers", () => {
  test("of every example and told story, filled at once", async () => {
    const at = ledgersAtHand();
    await store(at, ledgers, drawer(1));
    const file = newFile();
    await catchUp(keeping(at, file));
    expect(rowsOf(file, "select count(*) as n from sagas")).toEqual([{ n: ledgers.length }]);
    for (const turns of ledgers) expectTold(file, turns);
  });

  test("whatever the order, the shards, and wherever a writer was dropped and another one went on", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000_000), fc.constantFrom(1, 4), async (seed, shards) => {
        const shardOf = (saga: SagaId) => (shards === 1 ? 0 : saga.length % shards);
        const at = ledgersAtHand(shards, shardOf);
        const draw = drawer(seed);
        const some = ledgers.filter(() => draw(3) === 0);
        const [cut, whole] = [newFile(), newFile()];
        await store(at, some, draw, async () => {
          await catchUp(keeping(at, cut));
        });
        await catchUp(keeping(at, cut));
        await catchUp(keeping(at, whole));
        expect(tablesIn(cut)).toEqual(tablesIn(whole));
        for (const turns of some) expectTold(cut, turns);
      }),
      { numRuns: 8 },
    );
  });
});

describe("a saga", () => {
  const [turns = []] = ledgers.filter(({ length }) => length > 4);
  const saga = turns[0]!.saga;

  test("that is archived keeps its rows; where they were lost they come from its archive, else its end alone is known", async () => {
    const at = ledgersAtHand();
    for (const turn of turns) at.append(turn);
    const file = newFile();
    await catchUp(keeping(at, file));
    const before = tablesIn(file);
    const { file: name } = at.archive(saga, "completed");
    await catchUp(keeping(at, file));
    const after = tablesIn(file);
    expect(after).toEqual({ ...before, sagas: [{ ...(before["sagas"]?.[0] as object), archived: name }] });

    const read = newFile();
    await catchUp(keeping(at, read, { readArchived: async () => turns }));
    expect(tablesIn(read)).toEqual(after);

    const alone = newFile();
    await catchUp(keeping(at, alone));
    expect(tablesIn(alone)).toMatchObject({
      sagas: [{ saga, status: "completed", turns: turns.length, archived: name, whole: 0 }],
      turns: [],
    });
  });

  test("whose ledger cannot be read is told as far as it could be, and hinders no other", async () => {
    const at = ledgersAtHand();
    const [other = []] = ledgers.filter((one) => one[0]?.saga !== saga);
    for (const turn of turns.slice(0, 2)) at.append(turn);
    at.append({ ...turns[2]!, steps: [], turn: 3 });
    for (const turn of other) at.append(turn);
    const file = newFile();
    await catchUp(keeping(at, file));
    expect(rowsOf(file, "select status, turns, fault from sagas where saga = ?", saga)).toEqual([
      { status: "unreadable", turns: 2, fault: expect.stringContaining("LEDGER_BROKEN") as unknown },
    ]);
    expectTold(file, other);
  });

  test("whose ledgers were put back from a copy is filled anew", async () => {
    const at = ledgersAtHand();
    for (const turn of turns) at.append(turn);
    const file = newFile();
    await catchUp(keeping(at, file));
    at.setBack([2]);
    const notes: string[] = [];
    await catchUp(keeping(at, file, { note: (line) => notes.push(line) }));
    expect(rowsOf(file, "select turns from sagas")).toEqual([{ turns: 2 }]);
    expect(rowsOf(file, "select max(turn) as turn from turns")).toEqual([{ turn: 2 }]);
    expect(notes.join()).toContain("filled anew");
  });

  test("of another mesh is not in the tables of this one", async () => {
    const at = ledgersAtHand();
    for (const turn of turns) at.append(turn);
    const file = newFile();
    await catchUp(keeping(at, file));
    await catchUp(keeping(ledgersAtHand(), file, { mesh: "m2" }));
    expect(rowsOf(file, "select saga from sagas")).toEqual([]);
  });

  test("is found by the words of its texts, and by none of those that are gone", async () => {
    const at = ledgersAtHand();
    for (const turn of turns) at.append(turn);
    const file = newFile();
    await catchUp(keeping(at, file));
    const match = "select count(*) as n from words where words match ?";
    const [{ name } = {}] = rowsOf(file, "select name from messages where role = 'start'");
    expect(name).toBeTypeOf("string");
    const [{ text } = {}] = rowsOf(file, "select text from messages order by length(text) desc limit 1");
    const [word = ""] = /\p{L}{4,}/u.exec(String(text)) ?? [];
    expect(rowsOf(file, match, `"${word}"`)[0]?.["n"]).toBeGreaterThan(0);
    at.setBack([0]);
    await catchUp(keeping(at, file));
    expect(rowsOf(file, match, `"${word}"`)).toEqual([{ n: 0 }]);
  });
});

test("two writers on one file give what one gives, and one of them writes at a time", async () => {
  const at = ledgersAtHand();
  const [one, two] = [newFile(), newFile()];
  const stores = [openSqliteStore(one), openSqliteStore(one)] as const;
  expect(await stores[0].claim("a")).toBe(true);
  expect(await stores[1].claim("b")).toBe(false);
  expect(await stores[1].write({ sagas: [], places: new Map([[0, { through: 5 }]]) }, "b")).toBe(false);
  expect((await stores[1].standing()).places).toEqual([]);
  await stores[0].release("a");
  for (const store of stores) await store.close();
  await store(at, ledgers.slice(0, 6), drawer(3), async () => {
    await Promise.all([catchUp(keeping(at, one)), catchUp(keeping(at, one))]);
  });
  await Promise.all([catchUp(keeping(at, one)), catchUp(keeping(at, one))]);
  await catchUp(keeping(at, two));
  expect(tablesIn(one)).toEqual(tablesIn(two));
});

test("one that stood still while another one took over empties nothing, and the other one's rows stay", async () => {
  const at = ledgersAtHand();
  const file = newFile();
  const still = openSqliteStore(file);
  expect(await still.claim("still")).toBe(true);
  const db = new DatabaseSync(file);
  db.exec("update facts set value = '1 still' where name = 'writer'"); // It said nothing for long.
  db.close();
  await store(at, ledgers.slice(0, 2), drawer(4));
  await catchUp(keeping(at, file));
  const filled = tablesIn(file);
  expect(await still.clear("m1", "still")).toBe(false);
  await still.close();
  expect(tablesIn(file)).toEqual(filled);
});

test("a file that is no database, or is taken away while it is filled, is filled anew", async () => {
  const at = ledgersAtHand();
  const file = newFile();
  writeFileSync(file, "no database at all, but long enough to be looked at as one: ".repeat(50));
  await store(at, ledgers.slice(0, 3), drawer(5), async () => {
    await catchUp(keeping(at, file));
    rmSync(file);
  });
  await catchUp(keeping(at, file));
  for (const turns of ledgers.slice(0, 3)) expectTold(file, turns);
});
