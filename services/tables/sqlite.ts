/**
 * SQLite: the tables in a file that may be deleted at any moment.
 *
 * BM1 What one call writes is one transaction, and it is made only while the file says that this process is the writer.
 * BM2 The file is a cache. One that is broken, or is no database, is taken away and begun anew; one that was taken away is found to
 *     be gone by what writes to it, for its name leads to another file or to none.
 * BM3 After a power cut it may lack its last transactions, and is whole: what they held is read from the ledgers again.
 */
import { rmSync, statSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { describeError, isMeshError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Row } from "./rows.ts";
import {
  emptySql,
  factsSql,
  ownSql,
  publicSql,
  schemaVersion,
  type TableName,
  tableNames,
  tables,
} from "./schema.ts";
import { loadSqlite } from "./sqlite-module.ts";
import {
  type Batch,
  checkedSaysMs,
  type KnownHead,
  type Place,
  type SagaWrite,
  type Standing,
  type TableStore,
  writerSaysMs,
  writerTtlMs,
} from "./store.ts";

/** For another process's transaction, which takes milliseconds. */
const busyMs = 5_000;

/** Opens the file, making it where it is not there. Its folder is there. Throws INDEX_UNUSABLE, INDEX_BROKEN (BM2). */
export function openSqliteStore(path: string): TableStore {
  const db = openFile(path);
  const statements = new Map<string, StatementSync>();
  const run = (sql: string): StatementSync => {
    const known = statements.get(sql) ?? db.prepare(sql);
    statements.set(sql, known);
    return known;
  };
  const guarded = <T>(work: () => T): Promise<T> =>
    new Promise((resolve) => resolve(guardedBy(path, db, work))); // What it throws rejects.
  const inside = <T>(work: () => T): T => transaction(db, work);
  const own = inode(path);
  const facts = factsOf(run);
  /** BM1. */
  const asWriter = (writer: string, work: () => void): Promise<boolean> =>
    guarded(() =>
      inside(() => {
        if (facts.writer()?.id !== writer) return false;
        work();
        facts.sayWriter(writer, Date.now());
        return true;
      }),
    );
  return {
    ...claiming(facts, { guarded, inside, run }),
    isCurrent: async () => own !== undefined && inode(path) === own,
    mesh: () => guarded(() => facts.read("mesh")),
    clear: (mesh, writer) => {
      statements.clear();
      return asWriter(writer, () => {
        for (const sql of [emptySql, publicSql, ownSql]) db.exec(sql);
        db.exec("delete from facts where name <> 'writer'");
        facts.say("mesh", mesh);
      });
    },
    standing: () => guarded(() => standingOf(run, facts)),
    heads: (sagas) => guarded(() => headsOf(run, sagas)),
    faulty: (codes) =>
      guarded(() =>
        codes.flatMap(
          (code) =>
            run(faultySql)
              .all(code)
              .map(({ saga }) => saga as SagaId), // Proof: as it was written.
        ),
      ),
    write: (batch, writer) => asWriter(writer, () => writeBatch(run, batch)),
    checked: async (at, writer) => {
      const isSaid = await guarded(() => {
        const standing = facts.writer();
        return standing?.id === writer && at - Number(facts.read("checked") ?? 0) < checkedSaysMs;
      });
      return isSaid || asWriter(writer, () => facts.say("checked", String(at)));
    },
    close: async () => {
      if (db.isOpen) db.close();
    },
  };
}

interface Working {
  readonly guarded: <T>(work: () => T) => Promise<T>;
  readonly inside: <T>(work: () => T) => T;
  readonly run: Run;
}

function claiming(facts: Facts, { guarded, inside, run }: Working): Pick<TableStore, "claim" | "release"> {
  return {
    claim: (writer) =>
      guarded(() => {
        const now = Date.now();
        const standing = facts.writer();
        if (standing?.id === writer && now - standing.at < writerSaysMs) return true;
        return inside(() => {
          const { id, at } = facts.writer() ?? { id: writer, at: 0 };
          if (id !== writer && Math.abs(now - at) < writerTtlMs) return false;
          facts.sayWriter(writer, now);
          return true;
        });
      }),
    release: (writer) =>
      guarded(() =>
        inside(() => {
          if (facts.writer()?.id === writer) run("delete from facts where name = 'writer'").run();
        }),
      ),
  };
}

type Run = (sql: string) => StatementSync;

function openFile(path: string): DatabaseSync {
  const { DatabaseSync: Database } = loadSqlite();
  let db: DatabaseSync | undefined;
  try {
    db = new Database(path, { timeout: busyMs });
    const opened = db;
    opened.exec(
      "pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -32000; pragma wal_autocheckpoint = 8000;",
    ); // BM3
    const version = (): unknown => opened.prepare("pragma user_version").get()?.["user_version"];
    if (version() === 0)
      transaction(opened, () => {
        if (version() !== 0) return; // Another process has made them meanwhile.
        for (const sql of [factsSql, publicSql, ownSql]) opened.exec(sql);
        opened.exec(`pragma user_version = ${schemaVersion}`);
      });
    if (version() === schemaVersion) return opened;
  } catch (error) {
    throw failureOf(path, db, error);
  }
  throw broken(path, db, "it has other tables");
}

function transaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec("begin immediate");
  try {
    const result = work();
    db.exec("commit");
    return result;
  } catch (error) {
    try {
      db.exec("rollback");
    } catch {
      // It has rolled back by itself; the first error says why.
    }
    throw error;
  }
}

function guardedBy<T>(path: string, db: DatabaseSync, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw isMeshError(error) ? error : failureOf(path, db, error);
  }
}

/** SQLITE_CORRUPT and SQLITE_NOTADB; and of any code that a table is missing. */
const brokenCodes: ReadonlySet<number> = new Set([11, 26]);
const lacksTable = /no such table|no such column|has no column/;

function failureOf(path: string, db: DatabaseSync | undefined, error: unknown): MeshError {
  if (isMeshError(error)) return error;
  const code = (error as { readonly errcode?: unknown }).errcode;
  const why = describeError(error);
  if ((typeof code === "number" && brokenCodes.has(code & 0xff)) || lacksTable.test(why))
    return broken(path, db, why);
  return new MeshError("INDEX_UNUSABLE", `${path}: ${why}`, { cause: error });
}

/** BM2. */
function broken(path: string, db: DatabaseSync | undefined, why: string): MeshError {
  if (db?.isOpen === true) db.close();
  for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true });
  return new MeshError("INDEX_BROKEN", `${path} was broken (${why}) and is taken away`);
}

const inode = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino;

/** What the tables say of themselves. */
interface Facts {
  read(name: string): string | undefined;
  say(name: string, value: string): void;
  writer(): Standing["writer"];
  sayWriter(id: string, at: number): void;
}

function factsOf(run: Run): Facts {
  const read = (name: string): string | undefined => {
    const value = run("select value from facts where name = ?").get(name)?.["value"];
    return typeof value === "string" ? value : undefined;
  };
  const say = (name: string, value: string): void =>
    void run("insert or replace into facts (name, value) values (?, ?)").run(name, value);
  return {
    ...{ read, say },
    writer: () => {
      const [, at, id] = /^(\d+) (.+)$/.exec(read("writer") ?? "") ?? [];
      return at === undefined || id === undefined ? undefined : { id, at: Number(at) };
    },
    sayWriter: (id, at) => say("writer", `${at} ${id}`),
  };
}

const faultySql = "select saga from heads where fault = ?";

function standingOf(run: Run, facts: Facts): Standing {
  const places: Place[] = [];
  for (const { shard, through, seq, saga, hash } of run("select * from places order by shard").all())
    places[shard as number] = {
      through: through as number,
      last: seq === null ? undefined : { seq: seq as number, saga: saga as SagaId, hash: hash as string },
    }; // Proof: as `writeBatch` has written it.
  const all = Array.from(places, (place) => place ?? { through: 0 });
  return { places: all, checkedAt: Number(facts.read("checked") ?? 0), writer: facts.writer() };
}

function headsOf(run: Run, sagas: readonly SagaId[]): Map<SagaId, KnownHead> {
  const heads = new Map<SagaId, KnownHead>();
  for (const saga of sagas) {
    const row = run("select shard, turn, seq, hash, archived from heads where saga = ?").get(saga);
    if (row === undefined) continue;
    const { archived, ...head } = row as unknown as Omit<KnownHead, "archived"> & { archived: number }; // Proof: likewise.
    heads.set(saga, { ...head, archived: archived === 1 });
  }
  return heads;
}

function writeBatch(run: Run, { sagas, places }: Batch): void {
  for (const write of sagas) writeSaga(run, write);
  for (const [shard, { through, last }] of places)
    run("insert or replace into places (shard, through, seq, saga, hash) values (?, ?, ?, ?, ?)").run(
      ...[shard, through],
      ...[last?.seq ?? null, last?.saga ?? null, last?.hash ?? null],
    );
}

function writeSaga(run: Run, { saga, anew, head, fault, rows, gone, archived }: SagaWrite): void {
  if (anew && run("select 1 from heads where saga = ?").get(saga) !== undefined)
    for (const table of tableNames) run(`delete from ${table} where saga = ?`).run(saga);
  for (const row of rows) writeRow(run, row);
  for (const intent of gone) run("delete from effects where saga = ? and intent = ?").run(saga, intent);
  if (archived !== undefined) run("update sagas set archived = ? where saga = ?").run(archived, saga);
  const { shard, turn, seq, hash } = head;
  run(
    "insert or replace into heads (saga, shard, turn, seq, hash, archived, fault) values (?, ?, ?, ?, ?, ?, ?)",
  ).run(saga, shard, turn, seq, hash, head.archived ? 1 : 0, fault ?? null);
}

function writeRow(run: Run, { table, cells }: Row): void {
  run(rowSql[table]).run(...tables[table].columns.map((column) => cells[column] ?? null));
}

/** How a row of each table takes its place. */
const rowSql = Object.fromEntries(tableNames.map((table) => [table, sqlOf(table)])) as Record<
  TableName,
  string
>; // Proof: of each.

function sqlOf(table: TableName): string {
  const { columns } = tables[table];
  const values = `into ${table} (${columns.join(", ")}) values (${columns.map(() => "?").join(", ")})`;
  if (table === "messages") return `insert or ignore ${values}`; // It is there already, and the same.
  // An update leaves the indexes alone whose columns stay as they are.
  const key: readonly string[] = tables[table].key;
  const others = columns.filter((column) => !key.includes(column));
  return `insert ${values} on conflict (${key.join(", ")}) do update set ${others.map((one) => `${one} = excluded.${one}`).join(", ")}`;
}
