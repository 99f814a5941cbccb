/** Question: what a process that reads the tables is asked, and what it says. Each crosses from one process to another as it is. */
import type { Cell } from "./rows.ts";

export interface Question {
  /** The database. */
  readonly file: string;
  /** One statement that reads. */
  readonly sql: string;
  /** In place of its question marks. */
  readonly values: readonly Cell[];
  /** At most so many rows. */
  readonly rowsMax: number;
}

export type Said =
  | { readonly type: "columns"; readonly columns: readonly string[] }
  | { readonly type: "rows"; readonly rows: readonly (readonly Cell[])[] }
  /** `isCut`: there were more rows. */
  | { readonly type: "end"; readonly isCut: boolean }
  /** What SQLite says is wrong with the statement. */
  | { readonly type: "refused"; readonly why: string };
