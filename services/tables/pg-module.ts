/**
 * pg module: the client of PostgreSQL, where somebody has installed it. Only tables that are named by a URL need it, so the package does
 * not bring it.
 *
 * UG1 Every connection reads and writes one schema, and gives up what waits for a lock, or stands still within a transaction.
 */
import type * as pg from "pg";
import { describeError, MeshError } from "../../protocol/errors.ts";

export type Connection = pg.Client;
/** The rows of a statement. */
export type Run = <T>(text: string, values?: readonly unknown[]) => Promise<T[]>;
/** Of a statement whose rows come as arrays. */
export type ArrayRows = pg.QueryArrayResult<unknown[]>;

/** Where tables in a database are: it, and the schema of one mesh in it. */
export interface DatabaseAt {
  /** `postgres://user:password@host/database` */
  readonly url: string;
  readonly schema: string;
}

/** Until a connection stands. */
const connectMs = 10_000;
/** For a lock, and for the next statement of a transaction; a process that stands still lets others write after it. */
const lockMs = 15_000;
const idleMs = 10_000;

/** What becomes of a value that is no null, by the number of its type. */
type ParserOf = (type: number) => (text: string) => unknown;
export const asItCame = (text: string): string => text;

/** Opens a connection; values are texts and safe whole numbers unless said otherwise. Throws INDEX_UNUSABLE where `pg` is not installed, and UNAVAILABLE. */
export async function connect(
  { url, schema }: DatabaseAt,
  name: string,
  parserOf: ParserOf = (type) => (type === bigint ? Number : asItCame),
): Promise<pg.Client> {
  const { Client } = await loadPg();
  const client = new Client({
    ...{ connectionString: url, application_name: name, connectionTimeoutMillis: connectMs, keepAlive: true },
    types: { getTypeParser: parserOf },
  });
  client.on("error", () => undefined); // The statement that is under way, or the next one, says so.
  try {
    await client.connect();
    await client.query(
      `set search_path to "${schema}"; set lock_timeout = ${lockMs}; set idle_in_transaction_session_timeout = ${idleMs}`,
    );
    return client;
  } catch (error) {
    void client.end().catch(() => undefined);
    throw failedAs(error);
  }
}

/** Its number of an eight-byte integer; those of the tables are all safe ones. */
const bigint = 20;

async function loadPg(): Promise<Pick<typeof pg, "Client">> {
  try {
    return (await import("pg")).default;
  } catch (error) {
    throw new MeshError(
      "INDEX_UNUSABLE",
      "tables in PostgreSQL need the package pg, which is not installed",
      {
        remedy: "Run npm install pg where sagamesh is installed, or leave --url and SAGAMESH_INDEX_URL out.",
        cause: error,
      },
    );
  }
}

/**
 * Whether a schema's tables have been made. Not by to_regclass: what a name means may be remembered from before somebody made or dropped it.
 */
export const areMade = async (run: Run, schema: string): Promise<boolean> =>
  (await run("select from pg_tables where schemaname = $1 and tablename = 'facts'", [schema])).length > 0;

/** What passes: connections, locks, a server that ends or begins, and too much of anything (classes and codes of SQLSTATE). */
const passing = /^(?:08|40|53|57P|55P03|25P0[34])/;
/** A table, a column or the whole schema is not there. */
const lacking: ReadonlySet<string> = new Set(["42P01", "42703", "3F000"]);
const refusing = /^(?:28|3D)/;

/** What went wrong with a statement: UNAVAILABLE, INDEX_BROKEN or INDEX_UNUSABLE. */
export function failedAs(error: unknown): MeshError {
  if (error instanceof MeshError) return error;
  const why = `PostgreSQL: ${describeError(error)}`;
  const state = codeOf(error);
  if (lacking.has(state)) return new MeshError("INDEX_BROKEN", why, { cause: error });
  // What has no SQLSTATE never reached a server, or lost it.
  if (passing.test(state) || !/^[0-9A-Z]{5}$/.test(state))
    return new MeshError("UNAVAILABLE", why, { remedy: "Look whether the database answers.", cause: error });
  const remedy = refusing.test(state)
    ? "Look at user, password and database of the URL."
    : "The role of the URL must be able to make a schema and to write in it; query --as-is only reads.";
  return new MeshError("INDEX_UNUSABLE", why, { remedy, cause: error });
}

export function codeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
}
