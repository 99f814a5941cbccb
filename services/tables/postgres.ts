/**
 * PostgreSQL: the tables in a schema of a database that several share.
 *
 * UJ1 What one call writes is one transaction. It holds the row that names the writer, and is made only while that names this
 *     process: of two that believe they write one waits, and finds that it was replaced.
 * UJ2 When a writer said something last is the database's time: machines whose clocks differ agree on it.
 * UJ3 A schema that somebody has dropped, or that lacks a table, is made anew.
 * UJ4 A statement whose connection broke has been done or not. Who goes on reads what is written, as fill.ts has it, by another connection.
 */
import type { SagaId } from "../../protocol/ids.ts";
import { areMade, connect, type Connection, type DatabaseAt, failedAs, type Run } from "./pg-module.ts";
import { tableNames } from "./schema.ts";
import { postgresSql } from "./schema-postgres.ts";
import {
  checkedSaysMs,
  type KnownHead,
  type Place,
  type Standing,
  type TableStore,
  writerSaysMs,
  writerTtlMs,
} from "./store.ts";
import { writeBatch } from "./write-postgres.ts";

/** Opens the tables, making them where they are not there. Throws UNAVAILABLE, INDEX_UNUSABLE. */
export async function openPostgresStore(at: DatabaseAt): Promise<TableStore> {
  const client = await connect(at, "sagamesh index");
  const session = sessionOn(client, at);
  try {
    await session.doing((run) => makeTables(run, at));
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  return storeOn(session);
}

async function makeTables(run: Run, { schema }: DatabaseAt): Promise<void> {
  if (await areMade(run, schema)) return;
  await transaction(run, async () => {
    // One process at a time makes a schema: "if not exists" alone fails for the second of two.
    await run("select pg_advisory_xact_lock(hashtext($1))", [schema]);
    if (await areMade(run, schema)) return;
    await run(`create schema if not exists "${schema}"`);
    await run(postgresSql);
  });
}

interface Session {
  /** Alone on the connection. What a statement throws becomes an error of the store. */
  readonly doing: <T>(work: (run: Run) => Promise<T>) => Promise<T>;
  readonly isOpen: () => boolean;
  readonly end: () => Promise<void>;
}

function sessionOn(client: Connection, { schema }: DatabaseAt): Session {
  let isOpen = true;
  let last: Promise<unknown> = Promise.resolve();
  client.once("end", () => {
    isOpen = false;
  });
  client.once("error", () => {
    isOpen = false;
  });
  const run: Run = async <T>(text: string, values?: readonly unknown[]) => {
    const result = await client.query(text, values === undefined ? undefined : [...values]);
    return result.rows as T[]; // Proof: each caller names the columns of its own statement.
  };
  const attempt = async <T>(work: (run: Run) => Promise<T>): Promise<T> => {
    try {
      return await work(run);
    } catch (error) {
      const failure = failedAs(error);
      if (failure.code === "UNAVAILABLE") isOpen = false; // UJ4
      if (failure.code === "INDEX_BROKEN") {
        isOpen = false;
        await run(`drop schema if exists "${schema}" cascade`).catch(() => undefined); // UJ3
      }
      throw failure;
    }
  };
  return {
    isOpen: () => isOpen,
    doing: (work) => {
      const doing = last.then(() => attempt(work));
      last = doing.catch(() => undefined);
      return doing;
    },
    end: async () => {
      await last;
      await client.end().catch(() => undefined);
    },
  };
}

async function transaction<T>(run: Run, work: () => Promise<T>): Promise<T> {
  await run("begin");
  try {
    const result = await work();
    await run("commit");
    return result;
  } catch (error) {
    await run("rollback").catch(() => undefined); // The first error says why.
    throw error;
  }
}

function storeOn({ doing, isOpen, end }: Session): TableStore {
  /** UJ1. */
  const asWriter = (writer: string, work: (run: Run) => Promise<void>): Promise<boolean> =>
    doing((run) =>
      transaction(run, async () => {
        const standing = await writerIn(run, "for update");
        if (standing?.id !== writer) return false;
        await work(run);
        await sayWriter(run, writer);
        return true;
      }),
    );
  return {
    ...claiming({ doing, isOpen, end }),
    isCurrent: async () => isOpen(),
    mesh: () => doing((run) => factIn(run, "mesh")),
    clear: (mesh, writer) =>
      asWriter(writer, async (run) => {
        await run(`truncate ${[...tableNames, "heads", "places"].join(", ")} restart identity`);
        await run("delete from facts where name <> 'writer'");
        await sayFact(run, "mesh", mesh);
      }),
    standing: () => doing(standingIn),
    heads: (sagas) => doing((run) => headsIn(run, sagas)),
    faulty: (codes) =>
      doing(async (run) => {
        const rows = await run<{ saga: SagaId }>("select saga from heads where fault = any($1)", [codes]);
        return rows.map(({ saga }) => saga);
      }),
    write: (batch, writer) => asWriter(writer, (run) => writeBatch(run, batch)),
    checked: async (at, writer) => {
      const isSaid = await doing(async (run) => {
        const standing = await writerIn(run);
        return standing?.id === writer && at - Number((await factIn(run, "checked")) ?? 0) < checkedSaysMs;
      });
      return isSaid || asWriter(writer, (run) => sayFact(run, "checked", String(at)));
    },
    close: end,
  };
}

const claiming = ({ doing }: Session): Pick<TableStore, "claim" | "release"> => ({
  claim: (writer) =>
    doing(async (run) => {
      // Who only follows writes nothing, and needs no right to.
      const said = await writerIn(run);
      if (said?.id === writer && said.ageMs < writerSaysMs) return true;
      if (said !== undefined && said.id !== writer && said.ageMs < writerTtlMs) return false;
      return transaction(run, async () => {
        await run("insert into facts (name, value) values ('writer', '') on conflict (name) do nothing");
        const standing = await writerIn(run, "for update");
        if (standing !== undefined && standing.id !== writer && standing.ageMs < writerTtlMs) return false;
        await sayWriter(run, writer);
        return true;
      });
    }),
  release: (writer) =>
    doing((run) =>
      transaction(run, async () => {
        const standing = await writerIn(run, "for update");
        if (standing?.id === writer) await run("delete from facts where name = 'writer'");
      }),
    ),
});

/** Milliseconds since the epoch, by the database (UJ2). */
const nowSql = "floor(extract(epoch from clock_timestamp()) * 1000)::bigint";

async function writerIn(
  run: Run,
  lock: "" | "for update" = "",
): Promise<{ readonly id: string; readonly ageMs: number } | undefined> {
  const [row] = await run<{ value: string; now: number }>(
    `select value, ${nowSql} as now from facts where name = 'writer' ${lock}`,
  );
  const [, at, id] = /^(\d+) (.+)$/.exec(row?.value ?? "") ?? [];
  return row === undefined || at === undefined || id === undefined
    ? undefined
    : { id, ageMs: Math.abs(row.now - Number(at)) };
}

async function sayWriter(run: Run, writer: string): Promise<void> {
  const value = `${nowSql} || ' ' || $1::text`;
  await run(`insert into facts (name, value) values ('writer', ${value}) ${said}`, [writer]);
}

const said = "on conflict (name) do update set value = excluded.value";

async function factIn(run: Run, name: string): Promise<string | undefined> {
  const [row] = await run<{ value: string }>("select value from facts where name = $1", [name]);
  return row?.value;
}

async function sayFact(run: Run, name: string, value: string): Promise<void> {
  await run(`insert into facts (name, value) values ($1, $2) ${said}`, [name, value]);
}

async function standingIn(run: Run): Promise<Standing> {
  const rows = await run<{ shard: number; through: number; seq: number | null; saga: SagaId; hash: string }>(
    "select shard, through, seq, saga, hash from places",
  );
  const places: Place[] = [];
  for (const { shard, through, seq, saga, hash } of rows)
    places[shard] = { through, last: seq === null ? undefined : { seq, saga, hash } };
  const all = Array.from(places, (place) => place ?? { through: 0 });
  const checkedAt = Number((await factIn(run, "checked")) ?? 0);
  const said = await writerIn(run);
  const writer = said && { id: said.id, at: Date.now() - said.ageMs };
  return { places: all, checkedAt, writer };
}

async function headsIn(run: Run, sagas: readonly SagaId[]): Promise<Map<SagaId, KnownHead>> {
  if (sagas.length === 0) return new Map();
  const rows = await run<Omit<KnownHead, "archived"> & { saga: SagaId; archived: number }>(
    "select saga, shard, turn, seq, hash, archived from heads where saga = any($1)",
    [sagas],
  );
  return new Map(rows.map(({ saga, archived, ...head }) => [saga, { ...head, archived: archived === 1 }]));
}
