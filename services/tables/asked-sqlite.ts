/**
 * Asked SQLite: one question to tables in a file, through a connection that reads alone.
 *
 * UL1 Nothing is written, and no other file is opened: the connection is opened to read, extensions stay out, and where Node can
 *     say of each part of a statement whether it may be, all but reading these tables is denied.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Cell } from "./rows.ts";
import type { Question, Said } from "./question.ts";
import { loadSqlite } from "./sqlite-module.ts";

/** Rows of one message. */
const chunkMax = 500;
/** Bytes of one value: beyond, a statement that makes one is refused. */
const valueMax = 64 * 1024 * 1024;
/** For the writer's transaction in which the tables are emptied. */
const busyMs = 2_000;

/** Answers it. Throws what SQLite says of the statement. */
export function answerFromSqlite(
  file: string,
  { sql, values, rowsMax }: Question,
  say: (said: Said) => void,
): void {
  const db = openReading(file);
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  say({ type: "columns", columns: statement.columns().map(({ name }) => name) });
  say({ type: "end", isCut: sayRows(statement, values, rowsMax, say) });
}

/** Whether there were more. */
function sayRows(
  statement: StatementSync,
  values: readonly Cell[],
  rowsMax: number,
  say: (said: Said) => void,
): boolean {
  let rows: Cell[][] = [];
  let told = 0;
  for (const row of statement.iterate(...values) as unknown as Iterable<readonly unknown[]>) {
    if (told === rowsMax) {
      say({ type: "rows", rows });
      return true;
    }
    rows.push(row.map(cellOf));
    told += 1;
    if (rows.length < chunkMax) continue;
    say({ type: "rows", rows });
    rows = [];
  }
  say({ type: "rows", rows });
  return false;
}

/** A number as one where it can be, bytes in hex. */
function cellOf(value: unknown): Cell {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === "string" || typeof value === "number") return value;
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : null;
}

/** UL1. */
function openReading(file: string): DatabaseSync {
  const { DatabaseSync: Database, constants } = loadSqlite();
  const db = new Database(file, { readOnly: true, timeout: busyMs, limits: { length: valueMax } });
  const { SQLITE_OK: ok, SQLITE_DENY: deny, SQLITE_PRAGMA: pragma, SQLITE_FUNCTION: called } = constants;
  const allowed = [constants.SQLITE_SELECT, constants.SQLITE_READ, constants.SQLITE_RECURSIVE];
  // Older Nodes have no such word; there it is the connection alone that sees to it.
  if (typeof db.setAuthorizer === "function")
    db.setAuthorizer((action, first, second) => {
      if (allowed.includes(action)) return ok;
      if (action === called) return second === "load_extension" ? deny : ok;
      return action === pragma && first === "data_version" ? ok : deny; // The index of words looks whether it has changed.
    });
  return db;
}
