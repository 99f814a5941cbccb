/**
 * Goal: tables in PostgreSQL say what those in SQLite say, of the same ledgers and to the same filters; whoever writes is one, whatever
 * becomes of its connection or of the server; and who asks reads, and nothing else.
 * Method: a real PostgreSQL. Ledgers of every example are filled into both, whole, and cut while connections are ended and the server is
 * killed; filters by chance are asked beside the predicate of the same words.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseSagaId } from "../../../protocol/ids.ts";
import { systemClock } from "../../../services/runtime/system.ts";
import { ask, askDefaults } from "../../../services/tables/ask.ts";
import { numbered } from "../../../services/tables/asked-postgres.ts";
import { filterOf, sagasWhere } from "../../../services/tables/filter-sql.ts";
import { catchUp, type KeepDeps, keepTables } from "../../../services/tables/keep.ts";
import { connect, type DatabaseAt } from "../../../services/tables/pg-module.ts";
import { openPostgresStore } from "../../../services/tables/postgres.ts";
import { tableNames, tables } from "../../../services/tables/schema.ts";
import { schemaOf } from "../../../services/tables/schema-postgres.ts";
import { openSqliteStore } from "../../../services/tables/sqlite.ts";
import type { SagaWrite, TableStore } from "../../../services/tables/store.ts";
import { parseQuery } from "../../../services/views/query.ts";
import { drawnFilter, filteredAt, filteredBatch, filteredRows } from "../../support/drawn-filters.ts";
import { type LedgersAtHand, ledgersAtHand } from "../../support/ledgers-at-hand.ts";
import { postgresBin, startPostgres, type TestPostgres, withPostgres } from "../../support/postgres.ts";
import { examples, record } from "../../support/recorded-runs.ts";
import { rowsOfPostgres, tablesIn, tablesInPostgres } from "../../support/tables-told.ts";

describe.skipIf(postgresBin === undefined)(withPostgres, () => {
  const folder = mkdtempSync(join(tmpdir(), "sagamesh-tables-"));
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  }, 120_000);
  afterAll(async () => {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  let schemas = 0;
  const newSchema = (): DatabaseAt => ({ url: postgres.url, schema: schemaOf(`mesh${schemas++}`) });
  const newFile = () => join(folder, `${schemas++}.sqlite`);
  let writers = 0;
  const keeping = (at: LedgersAtHand, open: () => Promise<TableStore>): KeepDeps => ({
    ...{ ports: at.ports, clock: systemClock, mesh: "m1", writer: `w${writers++}`, open },
    readArchived: async () => undefined,
    signal: new AbortController().signal,
  });
  const inSqlite = async (at: LedgersAtHand) => {
    const file = newFile();
    await catchUp(keeping(at, async () => openSqliteStore(file)));
    return tablesIn(file);
  };
  const administer = (sql: string) => rowsOfPostgres({ url: postgres.url, schema: "public" }, sql);

  const turnsOf = async () => {
    const runs = await Promise.all(examples.map((example) => record(example, 1)));
    const seen = new Set<string>();
    return runs.flat().flatMap(({ turns }) => {
      const saga = turns[0]?.saga;
      if (saga === undefined || seen.has(saga)) return [];
      seen.add(saga);
      return [turns];
    });
  };

  test("the tables of the same ledgers are the same as in SQLite, filled at once, archived and filled anew", async () => {
    const at = ledgersAtHand();
    const all = await turnsOf();
    for (const turns of all) for (const turn of turns) at.append(turn);
    const place = newSchema();
    await catchUp(keeping(at, () => openPostgresStore(place)));
    expect(await tablesInPostgres(place)).toEqual(await inSqlite(at));
    const [saga] = all.filter(({ length }) => length > 4).map(([turn]) => turn!.saga);
    at.archive(saga!, "completed");
    await catchUp(keeping(at, () => openPostgresStore(place)));
    const [row] = await rowsOfPostgres(place, `select archived, whole from sagas where saga = '${saga!}'`);
    expect(row).toEqual({ archived: expect.any(String) as unknown, whole: 1 });
    at.setBack([3]);
    await catchUp(keeping(at, () => openPostgresStore(place)));
    expect(await tablesInPostgres(place)).toEqual(await inSqlite(at));
  }, 120_000);

  test("they are, too, where connections are ended, the schema is dropped and the server is killed under two that keep them", async () => {
    const at = ledgersAtHand();
    const place = newSchema();
    const over = new AbortController();
    const notes: string[] = [];
    const kept = [0, 1].map(() =>
      keepTables({
        ...keeping(at, () => openPostgresStore(place)),
        signal: over.signal,
        note: (line) => notes.push(line),
      }),
    );
    const hurts = [
      () =>
        administer(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sagamesh index'",
        ),
      () => administer(`drop schema if exists "${place.schema}" cascade`),
      () => postgres.restart(),
    ];
    const all = await turnsOf();
    for (const [k, turns] of all.entries()) {
      for (const turn of turns) at.append(turn);
      if (k % 4 === 3) await hurts[Math.floor(k / 4) % hurts.length]!();
      await systemClock.sleep(40);
    }
    await catchUp(keeping(at, () => openPostgresStore(place)));
    expect(await tablesInPostgres(place)).toEqual(await inSqlite(at));
    over.abort();
    await Promise.all(kept);
    expect(notes.join("\n")).toContain("the tables wait");
  }, 180_000);

  test("one writes at a time, and one that was replaced writes and empties nothing more", async () => {
    const place = newSchema();
    const [a, b] = [await openPostgresStore(place), await openPostgresStore(place)];
    const empty = { sagas: [], places: new Map([[0, { through: 5 }]]) };
    expect([await a.claim("a"), await b.claim("b"), await b.write(empty, "b")]).toEqual([true, false, false]);
    await administer(`update "${place.schema}".facts set value = '1 a' where name = 'writer'`); // It said nothing for long.
    expect([await b.claim("b"), await b.clear("m", "b")]).toEqual([true, true]);
    expect(await b.write(empty, "b")).toBe(true);
    expect([await a.write(empty, "a"), await a.clear("m2", "a"), await a.checked(7, "a")]).toEqual([
      false,
      false,
      false,
    ]);
    expect(await a.standing()).toMatchObject({ places: [{ through: 5 }], checkedAt: 0, writer: { id: "b" } });
    await b.release("b");
    const claims = await Promise.all(["a", "b"].map((id, k) => [a, b][k]!.claim(id)));
    expect(claims.filter(Boolean)).toHaveLength(1);
    await Promise.all([a.close(), b.close()]);
  });

  test("many make the same tables at once", async () => {
    const place = newSchema();
    const stores = await Promise.all(Array.from({ length: 6 }, () => openPostgresStore(place)));
    await Promise.all(stores.map((store) => store.close()));
    expect(await rowsOfPostgres(place, "select * from sagas")).toEqual([]);
  });

  test("each column is there, and times and words can be asked for as in the examples", async () => {
    const place = newSchema();
    const store = await openPostgresStore(place);
    await store.claim("w");
    await store.write(filteredBatch, "w");
    await store.close();
    for (const name of tableNames) {
      const { columns } = await ask(place, { sql: `select * from ${name}` });
      expect(columns).toEqual(expect.arrayContaining([...tables[name].columns]));
    }
    const counted = async (sql: string) => (await ask(place, { sql })).rows;
    expect(await counted("select count(*) from sagas where started > date('2026-06-10', '-1 day')")).toEqual([
      [25],
    ]);
    expect(await counted("select count(*) from sagas where started > date('now', '-1 day')")).toEqual([[0]]);
    expect(
      await counted("select date('2026-06-10 12:00:00.000'), datetime('2026-06-10', '+90 minutes')"),
    ).toEqual([["2026-06-10", "2026-06-10 01:30:00"]]);
    expect(
      await counted(
        "select saga from messages where words @@ websearch_to_tsquery('simple', '\"number 7\"')",
      ),
    ).toEqual([["s-7"]]);
    expect(await counted("select * from errors")).toHaveLength(55);
    await fc.assert(
      fc.asyncProperty(fc.array(drawnFilter, { minLength: 5, maxLength: 5 }), async (filters) => {
        // One process for some of them: each costs the start of one.
        const client = await connect(place, "test");
        try {
          for (const filter of filters) expect(await foundBy(client, filter)).toEqual(meant(filter));
        } finally {
          await client.end();
        }
      }),
      { numRuns: 40 },
    );
    for (const filter of ['text~"number 7"', "tool=charge and outcome=in_doubt and cost>0.5", "name=hire*"]) {
      const asked = sagasWhere(filterOf(filter, filteredAt), "saga", "postgres");
      const { rows } = await ask(place, asked);
      expect(rows.length).toBeGreaterThan(0);
    }
  }, 60_000);

  test("texts that PostgreSQL cannot store have a sign in their place", async () => {
    const place = newSchema();
    const store = await openPostgresStore(place);
    await store.claim("w");
    const saga = parseSagaId("odd");
    const text = 'zero \0 half \ud800 written \\u0000 "quoted"';
    const write: SagaWrite = {
      ...{ saga, anew: true, fault: undefined, gone: [], archived: undefined },
      head: { shard: 0, turn: 1, seq: 1, hash: "h", archived: false },
      rows: [{ table: "messages", cells: { saga, turn: 1, place: 0, role: "start", text } }],
    };
    expect(await store.write({ sagas: [write], places: new Map() }, "w")).toBe(true);
    await store.close();
    const { rows } = await ask(place, { sql: "select text from messages" });
    expect(rows).toEqual([['zero \ufffd half \ufffd written \\u0000 "quoted"']]);
  });

  describe("a statement", () => {
    let place: DatabaseAt;
    beforeAll(async () => {
      place = newSchema();
      await openPostgresStore(place).then((store) => store.close());
    });

    test.each([
      "with a as (insert into sagas (saga) values ('x') returning saga) select * from a",
      "with a as (delete from sagas returning saga) select * from a",
      "explain analyze insert into sagas (saga) values ('x')",
      "select set_config('transaction_read_only', 'off', true)",
      "select nextval(pg_get_serial_sequence('messages', 'id'))",
      "select $$;$$; select 2",
      "select * from nowhere",
      "select (",
    ])("%j is refused", async (sql) => {
      await expect(ask(place, { sql })).rejects.toMatchObject({ code: "USAGE" });
      expect(await rowsOfPostgres(place, "select count(*) as n from sagas")).toEqual([{ n: 0 }]);
    });

    test("that never ends is ended at its time, by the server, too", async () => {
      const sql = "select count(*) from generate_series(1, 1000000000000)";
      await expect(ask(place, { sql }, { ...askDefaults, withinMs: 1_500 })).rejects.toMatchObject({
        code: "QUERY_TOO_LONG",
      });
      const running =
        "select count(*) as n from pg_stat_activity where application_name = 'sagamesh query' and state = 'active'";
      await expect.poll(() => rowsOfPostgres(place, running), { timeout: 10_000 }).toEqual([{ n: 0 }]);
    });

    test("gives so many rows and says that there are more; of each its columns in their order", async () => {
      const sql =
        "select k, k as k, 'x' as t, null, '\\x00ff'::bytea, 1.5, 2.5::real, k = 1, 9007199254740993 from generate_series(1, 5000) k; -- so";
      const cut = await ask(place, { sql }, { ...askDefaults, rowsMax: 1_234 });
      expect(cut.columns.slice(0, 3)).toEqual(["k", "k", "t"]);
      expect(cut).toMatchObject({ isCut: true, rows: { length: 1_234 } });
      expect(cut.rows[0]).toEqual([1, 1, "x", null, "00ff", 1.5, 2.5, 1, "9007199254740993"]);
      const whole = await ask(place, { sql: "values (1), (2)" }, { ...askDefaults, rowsMax: 2 });
      expect(whole).toMatchObject({ isCut: false, rows: [[1], [2]] });
      expect((await ask(place, { sql: "/* how */ explain select 1" })).rows).toHaveLength(1);
    });

    test("is answered to a role that may only read, which fills nothing", async () => {
      await administer(
        `create role guest login; grant usage on schema "${place.schema}" to guest; grant select on all tables in schema "${place.schema}" to guest`,
      );
      const guest = { ...place, url: postgres.guestUrl };
      expect((await ask(guest, { sql: "select count(*) from sagas" })).rows).toEqual([[0]]);
      const store = await openPostgresStore(guest);
      await expect(store.claim("g")).rejects.toMatchObject({ code: "INDEX_UNUSABLE" });
      await store.close();
      await expect(openPostgresStore({ ...guest, schema: "other" })).rejects.toMatchObject({
        code: "INDEX_UNUSABLE",
      });
    });

    test("of tables that nobody has made says what makes them; of one that there is not, what there is", async () => {
      const none = { ...place, schema: "nobody_made_this" };
      await expect(ask(none, { sql: "select * from sagas" })).rejects.toMatchObject({
        code: "INDEX_UNUSABLE",
        remedy: expect.stringContaining("sagamesh index --url") as unknown,
      });
      await expect(ask(place, { sql: "select * from saga" })).rejects.toMatchObject({
        code: "USAGE",
        message: expect.stringContaining('"saga" does not exist') as unknown,
        remedy: expect.stringContaining("sagamesh index --schema") as unknown,
      });
    });

    test("to a database that is not there says so", async () => {
      const url = "postgres://nobody@127.0.0.1:1/none";
      await expect(ask({ ...place, url }, { sql: "select 1" })).rejects.toMatchObject({
        code: "UNAVAILABLE",
      });
      await expect(openPostgresStore({ ...place, url })).rejects.toMatchObject({ code: "UNAVAILABLE" });
    });
  });
});

test("where pg is not installed it is said how to install it", async () => {
  const hook = `import { registerHooks } from "node:module"; registerHooks({ resolve: (name, context, next) => { if (name === "pg") throw Object.assign(new Error("none"), { code: "ERR_MODULE_NOT_FOUND" }); return next(name, context); } });`;
  const before = process.env["NODE_OPTIONS"];
  process.env["NODE_OPTIONS"] = `--import data:text/javascript,${encodeURIComponent(hook)}`;
  try {
    await expect(
      ask({ url: "postgres://a@127.0.0.1/a", schema: "s" }, { sql: "select 1" }),
    ).rejects.toMatchObject({
      code: "INDEX_UNUSABLE",
      remedy: expect.stringContaining("npm install pg") as unknown,
    });
  } finally {
    if (before === undefined) delete process.env["NODE_OPTIONS"];
    else process.env["NODE_OPTIONS"] = before;
  }
});

const meant = (filter: string): string[] =>
  filteredRows
    .filter(parseQuery(filter, filteredAt))
    .map(({ saga }) => String(saga))
    .sort();

/** By the statement that the asked process makes of it. */
async function foundBy(client: Awaited<ReturnType<typeof connect>>, filter: string): Promise<string[]> {
  const { sql, values } = numbered(sagasWhere(filterOf(filter, filteredAt), "saga", "postgres"));
  const { rows } = await client.query<{ saga: string }>(sql, values);
  return rows.map(({ saga }) => saga).sort();
}
