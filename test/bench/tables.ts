/**
 * Tables: what questions over a million sagas take.
 *
 * Method: rows of so many sagas are made up (two calls and one text each) and written as any others; each question is asked seven times of
 * the file by a connection that is open, and the first fifty rows are taken.
 *
 * It does not measure: the process that each question of `sagamesh query` is (0.1 s and more), a cold disk, PostgreSQL.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { intentId, parseSagaId } from "../../protocol/ids.ts";
import { filterOf, sagasWhere, type Where, whereOf } from "../../services/tables/filter-sql.ts";
import { timeText } from "../../services/tables/rows.ts";
import { openSqliteStore } from "../../services/tables/sqlite.ts";
import type { SagaWrite } from "../../services/tables/store.ts";
import { median, type Report, rounded } from "./figures.ts";

const [runs, shown, batch] = [7, 50, 2_000];

export async function measureTables({ sagas }: { readonly sagas: number }): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), "sagamesh-tables-"));
  const file = join(folder, "made.sqlite");
  const now = Date.now();
  try {
    const begun = performance.now();
    await write(file, sagas, now);
    const seconds = (performance.now() - begun) / 1_000;
    const db = new DatabaseSync(file, { readOnly: true });
    const rows = Object.entries(questions(now)).map(([question, { sql, values }]) => {
      const statement = db.prepare(sql);
      const times = Array.from({ length: runs }, () => {
        const at = performance.now();
        let rows = 0;
        for (const _ of statement.iterate(...values)) if (++rows >= shown) break;
        return performance.now() - at;
      });
      return { question, "median, ms": rounded(median(times)), "first, ms": rounded(times[0] ?? 0) };
    });
    db.close();
    const megabytes = Math.round(statSync(file).size / 1e6);
    return {
      title: `Questions to the tables of ${sagas.toLocaleString("en-US")} sagas`,
      rows,
      notes: [`written in ${rounded(seconds)} s; the file has ${megabytes} MB`],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function write(file: string, sagas: number, now: number): Promise<void> {
  const store = openSqliteStore(file);
  for (let from = 0; from < sagas; from += batch) {
    const writes = Array.from({ length: Math.min(batch, sagas - from) }, (_, k) => madeUp(from + k, now));
    await store.claim("bench");
    if (!(await store.write({ sagas: writes, places: new Map() }, "bench")))
      throw new Error("it is the writer");
  }
  await store.close();
}

const agents = ["hire", "refund", "research", "plan", "book", "answer", "audit", "price"];
const statuses = ["completed", "completed", "completed", "completed", "failed", "cancelled", "running"];
const monthMs = 30 * 24 * 3_600_000;

function madeUp(k: number, now: number): SagaWrite {
  const saga = parseSagaId(`made-${k}`);
  const at = now - ((k * 7_919) % monthMs);
  const status = statuses[k % statuses.length];
  const agent = agents[(k * 31) % agents.length];
  const call = (n: number, name: string, outcome: string) => ({
    table: "intents" as const,
    cells: {
      saga,
      intent: intentId(n, 0),
      turn: n,
      at: timeText(at),
      kind: "tool",
      name,
      outcome,
      attempt: 1,
    },
  });
  return {
    ...{ saga, anew: true, fault: undefined, gone: [], archived: undefined },
    head: { shard: 0, turn: 5, seq: k + 1, hash: "h", archived: false },
    rows: [
      {
        table: "sagas",
        cells: {
          ...{
            saga,
            agent,
            version: 1,
            hash: "h",
            status,
            error: status === "failed" ? "TOOL_FAILED" : null,
          },
          ...{
            started: timeText(at),
            updated: timeText(at + 60_000),
            cost: (k % 500) / 100,
            usd: (k % 500) / 100,
          },
          ...{ tokens: k % 9_000, turns: 5, whole: 1, open: 0, asks: 0, in_doubt: 0, flags: 0 },
        },
      },
      call(2, "look_up", "succeeded"),
      call(3, "charge_card", k % 1_000 === 0 ? "in_doubt" : "succeeded"),
      {
        table: "messages",
        cells: { saga, turn: 1, place: 0, role: "start", text: `order ${k} for ${agent}` },
      },
    ],
  };
}

function questions(now: number): Readonly<Record<string, Where>> {
  const plain = (sql: string): Where => ({ sql, values: [] });
  const listed = (filter: string) =>
    sagasWhere(filterOf(filter, now), "saga, agent, status, started, updated, cost");
  const counted = (filter: string) => {
    const { sql, values } = whereOf(filterOf(filter, now));
    return { sql: `select count(*) from sagas where ${sql}`, values };
  };
  return {
    "list: the last 50": plain(
      "select saga, agent, status, updated from sagas order by updated desc limit 50",
    ),
    "list: agent=hire and status=running": listed("agent=hire and status=running"),
    "list: started>1d and status=failed": listed("started>1d and status=failed"),
    "list: cost>4": listed("cost>4"),
    "list: tool=charge_card and outcome=in_doubt and cost>1": listed(
      "tool=charge_card and outcome=in_doubt and cost>1",
    ),
    'list: text~"order 77777"': listed('text~"order 77777"'),
    "count: by status": plain("select status, count(*) from sagas group by status"),
    "count: by agent and status": plain("select agent, status, count(*) from sagas group by agent, status"),
    "count: cost>4": counted("cost>4"),
    "count: agent=hire and started>7d": counted("agent=hire and started>7d"),
    "sum: dollars of the failed of a day, by agent": plain(
      "select agent, count(*), sum(usd) from sagas where status = 'failed' and started > date('now', '-1 day') group by agent",
    ),
    "sum: dollars of all, by agent": plain("select agent, sum(usd) from sagas group by agent"),
  };
}
