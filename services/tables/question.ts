/** Question: what a process that reads the tables is asked, and what it says. Each crosses from one process to another as it is. */
import type { DatabaseAt } from "./pg-module.ts";
import type { Cell } from "./rows.ts";

/** Where tables are. */
export type TablesAt = { readonly file: string } | DatabaseAt;

export interface Question {
  readonly at: TablesAt;
  /** One statement that reads. */
  readonly sql: string;
  /** In place of its question marks. */
  readonly values: readonly Cell[];
  /** At most so many rows. */
  readonly rowsMax: number;
  /** Milliseconds, for a server that can end a statement by itself. */
  readonly withinMs: number;
}

export type Said =
  | { readonly type: "columns"; readonly columns: readonly string[] }
  | { readonly type: "rows"; readonly rows: readonly (readonly Cell[])[] }
  /** `isCut`: there were more rows. */
  | { readonly type: "end"; readonly isCut: boolean }
  /** What the database says is wrong with the statement, or why none could be asked. */
  | { readonly type: "refused"; readonly code: RefusedFor; readonly why: string; readonly remedy?: string };

export type RefusedFor = "USAGE" | "QUERY_TOO_LONG" | "INDEX_UNUSABLE" | "UNAVAILABLE";
