/** Tables told: all rows of a database, in one order, for who compares two. */
import { DatabaseSync } from "node:sqlite";
import { tableNames, tables } from "../../services/tables/schema.ts";

/** By table, each row as it is but for the numbers of texts, which tell in which order they came. */
export function tablesIn(file: string): Record<string, unknown[]> {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return Object.fromEntries(
      tableNames.map((name) => [
        name,
        db
          .prepare(
            `select ${tables[name].columns.join(", ")} from ${name} order by ${tables[name].key.join(", ")}`,
          )
          .all()
          .map((row) => ({ ...row })),
      ]),
    );
  } finally {
    db.close();
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
