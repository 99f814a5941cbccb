/**
 * Write for PostgreSQL: a batch in a dozen statements, however many rows are in it: each statement is a way there and back.
 *
 * UK1 A text may hold what PostgreSQL stores nowhere, a zero or half of a pair: a sign stands in its place.
 */
import type { Run } from "./pg-module.ts";
import type { Cell, Row } from "./rows.ts";
import { type TableName, tableNames, tables } from "./schema.ts";
import type { Batch } from "./store.ts";

/** Writes it in the order in which what is said of one saga holds: what goes, what comes, what did not happen, where it is. */
export async function writeBatch(run: Run, { sagas, places }: Batch): Promise<void> {
  await removeAnew(
    run,
    sagas.filter(({ anew }) => anew).map(({ saga }) => saga),
  );
  const rows = Map.groupBy(
    sagas.flatMap((write) => write.rows),
    ({ table }) => table,
  );
  for (const [table, all] of rows) await run(rowsSql[table], [jsonOf(latestOf(table, all))]);
  const gone = sagas.flatMap((write) => write.gone.map((intent) => ({ saga: write.saga, intent })));
  if (gone.length > 0) await run(goneSql, [jsonOf(gone)]);
  const archived = sagas.filter((write) => write.archived !== undefined);
  if (archived.length > 0)
    await run(archivedSql, [jsonOf(archived.map(({ saga, archived: file }) => ({ saga, file })))]);
  const heads = sagas.map(({ saga, head, fault }) => ({
    ...{ saga, shard: head.shard, turn: head.turn, seq: head.seq, hash: head.hash },
    ...{ archived: head.archived ? 1 : 0, fault: fault ?? null },
  }));
  if (heads.length > 0) await run(upsertSql("heads", ["saga"], headColumns), [jsonOf(heads)]);
  const moved = [...places].map(([shard, { through, last }]) => ({ shard, through, ...last }));
  if (moved.length > 0) await run(upsertSql("places", ["shard"], placeColumns), [jsonOf(moved)]);
}

async function removeAnew(run: Run, sagas: readonly string[]): Promise<void> {
  if (sagas.length === 0) return;
  const known = await run<{ saga: string }>("select saga from heads where saga = any($1)", [sagas]);
  if (known.length === 0) return;
  for (const table of tableNames)
    await run(`delete from ${table} where saga = any($1)`, [known.map(({ saga }) => saga)]);
}

/** One statement changes a row once: of several with one key the last one counts. */
function latestOf(table: TableName, rows: readonly Row[]): Iterable<Row["cells"]> {
  const { key } = tables[table];
  const latest = new Map<string, Row["cells"]>();
  for (const { cells } of rows) latest.set(key.map((column) => cells[column]).join("\n"), cells);
  return latest.values();
}

const jsonOf = (rows: Iterable<Readonly<Record<string, Cell | undefined>>>): string =>
  JSON.stringify([...rows], (_, value: unknown) => (typeof value === "string" ? storable(value) : value));

/** UK1. */
export const storable = (text: string): string => text.toWellFormed().replaceAll("\0", "\u{fffd}");

const headColumns = ["saga", "shard", "turn", "seq", "hash", "archived", "fault"];
const placeColumns = ["shard", "through", "seq", "saga", "hash"];

function upsertSql(table: string, key: readonly string[], columns: readonly string[]): string {
  const names = columns.join(", ");
  const others = columns.filter((column) => !key.includes(column));
  const change =
    table === "messages" // It is there already, and the same.
      ? "nothing"
      : `update set ${others.map((column) => `${column} = excluded.${column}`).join(", ")}`;
  return `insert into ${table} (${names}) select ${names} from json_populate_recordset(null::${table}, $1::json) on conflict (${key.join(", ")}) do ${change}`;
}

const rowsSql = Object.fromEntries(
  tableNames.map((table) => [table, upsertSql(table, tables[table].key, tables[table].columns)]),
) as Record<TableName, string>; // Proof: of each.

const goneSql =
  "delete from effects using json_to_recordset($1::json) as told (saga text, intent text) where effects.saga = told.saga and effects.intent = told.intent";
const archivedSql =
  "update sagas set archived = told.file from json_to_recordset($1::json) as told (saga text, file text) where sagas.saga = told.saga";
