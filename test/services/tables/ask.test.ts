/**
 * Goal: whoever asks reads, and nothing else; and no statement takes more time or rows than it was given.
 * Method: statements that write, open other files, load, or never end, asked of a real file by a real process.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, askDefaults } from "../../../services/tables/ask.ts";
import { assertOneReading } from "../../../services/tables/one-reading.ts";
import { publicSql, tableNames, tables } from "../../../services/tables/schema.ts";
import { openSqliteStore } from "../../../services/tables/sqlite.ts";
import { rowsOf } from "../../support/tables-told.ts";

const folder = mkdtempSync(join(tmpdir(), "sagamesh-ask-"));
const file = join(folder, "t.sqlite");
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeAll(() => openSqliteStore(file).close());

const endless = "with recursive n(k) as (values (1) union all select k + 1 from n) select ";

describe("a statement", () => {
  test.each([
    "delete from sagas",
    "insert into sagas (saga) values ('x')",
    "update sagas set status = 'completed'",
    "drop table sagas",
    "create table x (y)",
    "attach database 'other.sqlite' as other",
    "vacuum into 'copy.sqlite'",
    "pragma writable_schema = 1",
    "begin",
    "",
    "  -- only a comment",
    "select 1; delete from sagas",
    "select ';' /* ; */ ; select 2",
  ])("%j is refused before anything is asked", (sql) => {
    expect(() => assertOneReading(sql)).toThrow(expect.objectContaining({ code: "USAGE" }));
  });

  test.each([
    "select 1;",
    " SELECT ';', \"saga;\" from sagas -- ; delete",
    "/* x */ with a as (select 1) select * from a ;  ",
  ])("%j is one that reads", (sql) => expect(() => assertOneReading(sql)).not.toThrow());

  test.each([
    "with a as (select 1) insert into sagas (saga) select 'x'",
    "with a as (select 1) delete from sagas",
    "select load_extension('x')",
    "explain attach database 'other.sqlite' as other",
    "select * from pragma_database_list",
    "select * from nowhere",
    "select (",
  ])("%j is refused by the process that is asked, and nothing has changed", async (sql) => {
    const before = rowsOf(file, "select * from sqlite_master");
    await expect(ask({ file }, { sql })).rejects.toMatchObject({ code: "USAGE" });
    expect(rowsOf(file, "select * from sqlite_master")).toEqual(before);
    expect(rowsOf(file, "select count(*) as n from sagas")).toEqual([{ n: 0 }]);
    expect(existsSync("other.sqlite")).toBe(false);
  });

  test("that never ends is ended at its time, with a row or without", async () => {
    for (const sql of [`${endless} count(*) from n`, `${endless} k from n where k < 0`])
      await expect(ask({ file }, { sql }, { ...askDefaults, withinMs: 1_500 })).rejects.toMatchObject({
        code: "QUERY_TOO_LONG",
      });
  });

  test("that is called off ends", async () => {
    const signal = AbortSignal.timeout(500);
    const asking = ask({ file }, { sql: `${endless} count(*) from n` }, askDefaults, signal);
    await expect(asking).rejects.toMatchObject({ name: "TimeoutError" });
  });

  test("gives so many rows and says that there are more; of each its columns in their order", async () => {
    const bounds = { ...askDefaults, rowsMax: 1_234 };
    const cut = await ask(
      { file },
      { sql: `${endless} k, k as k, 'x' as t, null, x'00ff', 1.5 from n` },
      bounds,
    );
    expect(cut).toMatchObject({ columns: ["k", "k", "t", "null", "x'00ff'", "1.5"], isCut: true });
    expect(cut.rows).toHaveLength(1_234);
    expect(cut.rows[1_233]).toEqual([1_234, 1_234, "x", null, "00ff", 1.5]);
    expect(await ask({ file }, { sql: "select ? + 1 as n", values: [41] })).toEqual({
      ...{ columns: ["n"], rows: [[42]], isCut: false },
    });
    const big = await ask({ file }, { sql: "select 9007199254740993 as n, 9007199254740991 as m" });
    expect(big.rows).toEqual([["9007199254740993", 9_007_199_254_740_991]]);
  });

  test("reads every table, and the index of words", async () => {
    for (const name of tableNames) {
      const { columns } = await ask({ file }, { sql: `select * from ${name}` });
      expect(columns).toEqual(expect.arrayContaining([...tables[name].columns]));
    }
    expect(await ask({ file }, { sql: "select rowid from words where words match 'x'" })).toMatchObject({
      rows: [],
    });
    expect(await ask({ file }, { sql: "select * from errors" })).toMatchObject({ rows: [] });
  });
});

test("every column of every table says what it is, or stands beside one that does", () => {
  for (const name of tableNames)
    for (const column of tables[name].columns)
      expect(
        new RegExp(`^create table ${name} [^]*?\\b${column} (text|integer|real)`, "m").test(publicSql),
        `${name}.${column}`,
      ).toBe(true);
});

test("no other part of the product loads SQLite as it starts", () => {
  expect(readFileSync("services/tables/sqlite-module.ts", "utf8")).toContain("getBuiltinModule");
  for (const path of ["sqlite.ts", "asked-process.ts"])
    expect(readFileSync(join("services/tables", path), "utf8")).not.toMatch(/^import (?!type).*node:sqlite/m);
});
