/**
 * Goal: a filter means of the tables what it means of rows at hand, whatever is written in it; and what is wrong in one is told with
 * its place.
 * Method: filters by chance are printed and read again; their SQL is asked of tables beside the predicate of the same words; values
 * that look like SQL are written into every field.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SagaRow } from "../../../protocol/documents/saga.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { filterOf, sagasWhere, tableFields } from "../../../services/tables/filter-sql.ts";
import { timeText } from "../../../services/tables/rows.ts";
import { openSqliteStore } from "../../../services/tables/sqlite.ts";
import { printFilter } from "../../../services/views/filter.ts";
import { parseQuery, sagaFields } from "../../../services/views/query.ts";

const now = Date.UTC(2026, 5, 10);
const folder = mkdtempSync(join(tmpdir(), "sagamesh-filter-"));
const file = join(folder, "t.sqlite");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const names = ["hire", "hire_all", `it's "so"`, "a%b_c", "x*"];
const rows: SagaRow[] = Array.from({ length: 60 }, (_, k) => ({
  ...{ saga: parseSagaId(`s-${k}`), name: names[k % names.length]!, version: (k % 3) + 1, hash: "h" },
  ...{ status: (["running", "completed", "failed", "cancelled"] as const)[k % 4]!, turns: k },
  ...{ startedAt: now - k * 3_600_000, updatedAt: now - k * 1_800_000, waitsFor: [] },
  used: { usd: (k % 7) / 4 },
  ...(k % 5 === 0 ? { parent: { saga: parseSagaId(`s-${k + 1}`), intent: "1-0" as never } } : {}),
}));

beforeAll(async () => {
  const store = openSqliteStore(file);
  await store.claim("w");
  await store.write(
    {
      places: new Map(),
      sagas: rows.map(({ saga, ...row }, k) => ({
        ...{ saga, anew: true, fault: undefined, gone: [], archived: undefined },
        head: { shard: 0, turn: 1, seq: k + 1, hash: "h", archived: false },
        rows: [
          {
            table: "sagas",
            cells: {
              ...{ saga, agent: row.name, version: row.version, status: row.status, turns: row.turns },
              ...{ started: timeText(row.startedAt), updated: timeText(row.updatedAt), cost: row.used?.usd },
              ...{ parent: row.parent?.saga, tokens: k, error: k % 2 === 0 ? "FAILED" : null },
            },
          },
          ...(["charge", "refund"] as const).map((name, place) => ({
            table: "intents" as const,
            cells: {
              ...{ saga, intent: `1-${place}`, kind: "tool", name },
              outcome: (k + place) % 3 === 0 ? "in_doubt" : "succeeded",
            },
          })),
          {
            table: "messages",
            cells: { saga, turn: 1, place: 0, role: "start", text: `number ${k} "quoted" and so` },
          },
        ],
      })),
    },
    "w",
  );
  await store.close();
});

function found(filter: string): string[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const { sql, values } = sagasWhere(filterOf(filter, now), "saga");
    return db
      .prepare(sql)
      .all(...values)
      .map(({ saga }) => String(saga))
      .sort();
  } finally {
    db.close();
  }
}

const value = fc.oneof(
  fc.constantFrom(
    ...names,
    "",
    "*",
    "hire*",
    `' or 1=1 --`,
    `"); drop table sagas; --`,
    "and",
    " and ",
    "a\nb",
  ),
  fc.string({ unit: "binary" }),
);
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
const texts = fc.tuple(fc.constantFrom("name", "agent", "id", "parent"), fc.constantFrom("=", "!="), value);
const words = fc.tuple(
  fc.constant("status"),
  fc.constantFrom("=", "!="),
  fc.constantFrom("running", "completed", "failed", "cancelled"),
);
const orders = fc.constantFrom("=", "!=", "<", "<=", ">", ">=");
const numbers = fc.tuple(
  fc.constantFrom("version", "turns", "cost"),
  orders,
  fc.oneof(
    fc.constantFrom("0.5", "1", "-0", "1e3"),
    fc.nat(60).map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  ),
);
const times = fc.tuple(
  fc.constantFrom("started", "changed", "ended"),
  fc.constantFrom("<", "<=", ">", ">="),
  fc.oneof(
    fc.constantFrom("7h", "1d", "2026-06-09", "2026-06-09T12:00Z", "99999w"),
    fc
      .date({ min: new Date(0), max: new Date("9999-12-31"), noInvalidDate: true })
      .map((at) => at.toISOString()),
  ),
);
const condition = fc
  .oneof(texts, words, numbers, times)
  .map(([field, op, text]) => `${field}${op}${quoted(text)}`);
const filter = fc.array(condition, { minLength: 1, maxLength: 4 }).map((all) => all.join(" and "));

describe("a filter", () => {
  test("that was read and printed reads as the same", () => {
    fc.assert(
      fc.property(filter, (text) => {
        const read = filterOf(text, now);
        expect(filterOf(printFilter(read), now)).toEqual(read);
      }),
      { numRuns: 500 },
    );
  });

  test("means of the tables what it means of rows, and what is written in it is never SQL", () => {
    fc.assert(
      fc.property(filter, (text) => {
        const isMeant = parseQuery(text, now);
        expect(found(text)).toEqual(
          rows
            .filter(isMeant)
            .map(({ saga }) => saga)
            .sort(),
        );
      }),
      { numRuns: 300 },
    );
    expect(found("version>0")).toHaveLength(rows.length);
  });

  test("says of calls what holds for one and the same call", () => {
    const both = rows.map((_, k) => k).filter((k) => k % 3 === 0);
    expect(found("tool=charge and outcome=in_doubt")).toEqual(both.map((k) => `s-${k}`).sort());
    expect(found("outcome=failed")).toEqual([]);
    expect(found("tool=re* and outcome!=in_doubt and status=running and turns<9")).toEqual(["s-0", "s-4"]);
  });

  test("finds words in their order, whatever stands in them", () => {
    expect(found('text~"number 7"')).toEqual(["s-7"]);
    expect(found("text~quoted and id=s-1")).toEqual(["s-1"]);
    expect(found('text~"7 number"')).toEqual([]);
    for (const odd of [`x" OR "number`, "a NOT b", "NEAR(a b)"])
      expect(found(`text~${quoted(odd)}`)).toEqual([]);
    expect(found("error=FAILED and tokens<3")).toEqual(["s-0", "s-2"]);
  });

  test.each([
    ["", 1, "It takes"],
    ["agent", 1, "It takes"],
    ["agent=hire and", 12, "joined by"],
    ["agent=hire or status=failed", 12, "joined by"],
    ["agent=hire and stauts=failed", 16, "status"],
    ["agent=hire and status=done", 16, "running, completed"],
    ["status>failed", 1, "=, !="],
    ["turns=many and agent=a", 1, "a number"],
    ["started>soon", 1, "a date"],
    ['agent="hire', 1, "It takes"],
    ["outcome=maybe", 1, "in_doubt"],
    ["text=refund", 1, "~"],
    ["text~'...'", 1, "a word"],
  ])("%j is refused at character %i, and it is said what may stand there", (text, place, remedy) => {
    expect(() => filterOf(text, now)).toThrow(
      expect.objectContaining({
        code: "USAGE",
        message: expect.stringContaining(`at character ${place},`) as unknown,
        remedy: expect.stringContaining(remedy) as unknown,
      }),
    );
  });

  test("can name all that a query of rows can", () => {
    for (const field of Object.keys(sagaFields)) expect(Object.keys(tableFields)).toContain(field);
  });
});
