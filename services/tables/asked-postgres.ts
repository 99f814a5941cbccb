/**
 * Asked PostgreSQL: one question to tables in a database, in a transaction that reads alone.
 *
 * UH1 The server ends the statement at its time by itself, also where the process that asked is gone.
 * UH2 One statement, that gives rows: it is declared as a cursor, of which so many rows are taken. What it may read besides these tables
 *     the rights of the URL's role say.
 */
import { MeshError } from "../../protocol/errors.ts";
import {
  areMade,
  type ArrayRows,
  asItCame,
  connect,
  type Connection,
  type DatabaseAt,
  failedAs,
  type Run,
} from "./pg-module.ts";
import type { Where } from "./filter-sql.ts";
import type { Question, Said } from "./question.ts";
import type { Cell } from "./rows.ts";
import { storable } from "./write-postgres.ts";

/** Rows of one message. */
const chunkMax = 500;

/** Answers it. Throws UNAVAILABLE, INDEX_UNUSABLE, and what the database says of the statement. */
export async function answerFromPostgres(
  at: DatabaseAt,
  { sql, values, rowsMax, withinMs }: Question,
  say: (said: Said) => void,
): Promise<void> {
  const client = await connect(at, "sagamesh query", () => asItCame);
  try {
    await client.query(`set statement_timeout = ${Math.ceil(withinMs)}`); // UH1
    await client.query("begin transaction isolation level repeatable read read only");
    const asked = numbered({ sql, values });
    // What has a name is prepared, and only one statement can be.
    const prepared = (text: string): Promise<ArrayRows> =>
      client.query({ name: "asked", text, rowMode: "array", values: asked.values });
    const isCursor = !/^(?:\s|--.*\n|\/\*[^]*?\*\/)*explain\b/i.test(sql); // Of that there is no cursor, and few rows.
    if (isCursor) await prepared(`declare asked no scroll cursor for ${asked.sql}`);
    let told = 0;
    for (;;) {
      const most = Math.min(chunkMax, rowsMax - told + 1); // One more than is wanted tells that there are more.
      const { fields, rows } = await (isCursor
        ? client.query<unknown[]>({ text: `fetch forward ${most} from asked`, rowMode: "array" })
        : prepared(asked.sql));
      if (told === 0) say({ type: "columns", columns: fields.map(({ name }) => name) });
      const wanted = rows.slice(0, rowsMax - told);
      say({
        type: "rows",
        rows: wanted.map((row) => row.map((value, k) => cellOf(value, fields[k]?.dataTypeID))),
      });
      told += wanted.length;
      if (wanted.length < rows.length || rows.length < most || !isCursor)
        return say({ type: "end", isCut: wanted.length < rows.length });
    }
  } catch (error) {
    const failure = failedAs(error);
    if (failure.code === "UNAVAILABLE") throw failure;
    if (failure.code === "INDEX_BROKEN" && !(await hasTables(client, at))) throw notMade;
    throw error; // It is the statement's own fault.
  } finally {
    await client.end();
  }
}

/** A name that is not there may be none of these tables', or there are none at all yet. */
async function hasTables(client: Connection, { schema }: DatabaseAt): Promise<boolean> {
  await client.query("rollback");
  const run: Run = async <T>(text: string, values: readonly unknown[] = []) =>
    (await client.query(text, [...values])).rows as T[]; // Proof: only that there are any is looked at.
  return areMade(run, schema);
}

const notMade = new MeshError("INDEX_UNUSABLE", "the database has no tables of this mesh yet", {
  remedy:
    "Run sagamesh index --url, or a query without --as-is, with a role that may make a schema; then look at the URL.",
});

/** The question marks of what a filter means, as this database counts them; what a person writes comes without values. */
export function numbered({ sql, values }: Where): { readonly sql: string; readonly values: Cell[] } {
  if (values.length === 0) return { sql, values: [] };
  let k = 0;
  const type = (value: Cell | undefined) => (typeof value === "number" ? "::double precision" : "");
  return {
    sql: sql.replaceAll("?", () => `$${++k}${type(values[k - 1])}`),
    values: values.map((value) => (typeof value === "string" ? storable(value) : value)),
  };
}

/** Numbers of PostgreSQL's types: whole numbers, others, yes or no, and bytes. */
const wholes: ReadonlySet<number> = new Set([20, 21, 23, 26]);
const others: ReadonlySet<number> = new Set([700, 701, 1_700]);
const [boolean, bytes] = [16, 17];

/** As SQLite gives it: a number where it can be one, bytes in hex, all else as a text. */
function cellOf(value: unknown, type = 0): Cell {
  if (typeof value !== "string") return null;
  if (type === boolean) return value === "t" ? 1 : 0;
  if (type === bytes) return value.slice("\\x".length);
  const number = Number(value);
  if (wholes.has(type)) return Number.isSafeInteger(number) ? number : value;
  return others.has(type) && Number.isFinite(number) ? number : value;
}
