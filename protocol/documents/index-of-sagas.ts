/** Index documents: what `index` and `query` print with --json. */
import { z } from "zod";

/** `index --status`, and each line of `index` that says how far it is. */
export const IndexDocument = z.object({
  /** The database: SQLite's file. */
  file: z.string().optional(),
  /** PostgreSQL's URL, without its user and password, and the schema of this mesh in it. */
  url: z.string().optional(),
  schema: z.string().optional(),
  /** The identity of the mesh that it is of. */
  mesh: z.string(),
  /** Messages of ledgers that are in it, and that are stored; both count those that are gone by now. */
  read: z.int(),
  stored: z.int(),
  /** All that was stored before this is in it, milliseconds since the epoch; absent: nothing yet. */
  wholeUntil: z.number().optional(),
  /** Whether a process fills it now. */
  isKept: z.boolean(),
});
export type IndexDocument = z.infer<typeof IndexDocument>;

/** `query`: one row, by its columns. */
export const QueryRow = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));
export type QueryRow = z.infer<typeof QueryRow>;
