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
import { filterOf, sagasWhere, tableFields } from "../../../services/tables/filter-sql.ts";
import { openSqliteStore } from "../../../services/tables/sqlite.ts";
import { printFilter } from "../../../services/views/filter.ts";
import { parseQuery, sagaFields } from "../../../services/views/query.ts";
import { drawnFilter, filteredAt, filteredBatch, filteredRows, quoted } from "../../support/drawn-filters.ts";

const folder = mkdtempSync(join(tmpdir(), "sagamesh-filter-"));
const file = join(folder, "t.sqlite");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(async () => {
  const store = openSqliteStore(file);
  await store.claim("w");
  await store.write(filteredBatch, "w");
  await store.close();
});

function found(filter: string): string[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const { sql, values } = sagasWhere(filterOf(filter, filteredAt), "saga");
    return db
      .prepare(sql)
      .all(...values)
      .map(({ saga }) => String(saga))
      .sort();
  } finally {
    db.close();
  }
}

describe("a filter", () => {
  test("that was read and printed reads as the same", () => {
    fc.assert(
      fc.property(drawnFilter, (text) => {
        const read = filterOf(text, filteredAt);
        expect(filterOf(printFilter(read), filteredAt)).toEqual(read);
      }),
      { numRuns: 500 },
    );
  });

  test("means of the tables what it means of rows, and what is written in it is never SQL", () => {
    fc.assert(
      fc.property(drawnFilter, (text) => {
        const isMeant = parseQuery(text, filteredAt);
        expect(found(text)).toEqual(
          filteredRows
            .filter(isMeant)
            .map(({ saga }) => saga)
            .sort(),
        );
      }),
      { numRuns: 300 },
    );
    expect(found("version>0")).toHaveLength(filteredRows.length);
  });

  test("says of calls what holds for one and the same call", () => {
    const both = filteredRows.map((_, k) => k).filter((k) => k % 3 === 0);
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
    ["started>2026-02-31", 1, "a date"],
    ['agent="hire', 1, "It takes"],
    ["outcome=maybe", 1, "in_doubt"],
    ["text=refund", 1, "~"],
    ["text~'...'", 1, "a word"],
  ])("%j is refused at character %i, and it is said what may stand there", (text, place, remedy) => {
    expect(() => filterOf(text, filteredAt)).toThrow(
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
