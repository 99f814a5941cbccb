/** Tables told: all rows of a database, in one order, for who compares two. */
import { DatabaseSync } from "node:sqlite";
import { codeOf, connect, type DatabaseAt } from "../../services/tables/pg-module.ts";
import { type TableName, tableNames, tables } from "../../services/tables/schema.ts";

/** By table, each row as it is but for the numbers of texts, which tell in which order they came. */
export function tablesIn(file: string): Record<string, unknown[]> {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return Object.fromEntries(
      tableNames.map((name) => [
        name,
        db
          .prepare(allOf(name))
          .all()
          .map((row) => ({ ...row })),
      ]),
    );
  } finally {
    db.close();
  }
}

const allOf = (name: TableName): string =>
  `select ${tables[name].columns.join(", ")} from ${name} order by ${tables[name].key.join(", ")}`;

/** The same of tables in PostgreSQL. */
export async function tablesInPostgres(at: DatabaseAt): Promise<Record<string, unknown[]>> {
  const told: Record<string, unknown[]> = {};
  for (const name of tableNames) told[name] = await rowsOfPostgres(at, allOf(name));
  return told;
}

export async function rowsOfPostgres(at: DatabaseAt, sql: string): Promise<Record<string, unknown>[]> {
  const double = 701;
  const client = await connect(at, "test", (type) => (type === 20 || type === double ? Number : String));
  try {
    for (;;)
      try {
        const { rows } = await client.query(sql);
        return rows as Record<string, unknown>[];
      } catch (error) {
        if (codeOf(error) !== "40P01") throw error; // Of two that wait for one another it was the one that was ended.
      }
  } finally {
    await client.end();
  }
}

/** The rows that a statement gives. */
export function rowsOf(file: string, sql: string, ...values: (string | number)[]): Record<string, unknown>[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return db
      .prepare(sql)
      .all(...values)
      .map((row) => ({ ...row }));
  } finally {
    db.close();
  }
}
