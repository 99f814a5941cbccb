/**
 * Goal: what the console asks of all sagas is answered alike by both databases: what is found in either order, what is meant, what was
 * spent and how long calls took.
 * Method: the ledgers of every example filled into SQLite and into a real PostgreSQL; the console's own questions to both.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { minOf } from "../../../protocol/extremes.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { Spent } from "../../../services/console/documents.ts";
import { createAsking } from "../../../services/console/questions.ts";
import { createReadings } from "../../../services/console/readings.ts";
import { createSagaTeller } from "../../../services/console/saga.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { systemClock } from "../../../services/runtime/system.ts";
import { ask } from "../../../services/tables/ask.ts";
import type { Dialect } from "../../../services/tables/filter-sql.ts";
import { catchUp } from "../../../services/tables/keep.ts";
import { openPostgresStore } from "../../../services/tables/postgres.ts";
import type { TablesAt } from "../../../services/tables/question.ts";
import { schemaOf } from "../../../services/tables/schema-postgres.ts";
import { openSqliteStore } from "../../../services/tables/sqlite.ts";
import type { TableStore } from "../../../services/tables/store.ts";
import { drive } from "../../support/archiving.ts";
import { ledgersAtHand } from "../../support/ledgers-at-hand.ts";
import { postgresBin, startPostgres, type TestPostgres, withPostgres } from "../../support/postgres.ts";
import { examples, record } from "../../support/recorded-runs.ts";
import { rowsOfPostgres } from "../../support/tables-told.ts";

describe.skipIf(postgresBin === undefined)(withPostgres, () => {
  const folder = mkdtempSync(join(tmpdir(), "sagamesh-questions-"));
  const file = join(folder, "tables.sqlite");
  let postgres: TestPostgres;
  let turns: readonly Turn[];
  let place: Extract<TablesAt, { url: string }>;
  beforeAll(async () => {
    postgres = await startPostgres();
    place = { url: postgres.url, schema: schemaOf("asked") };
    const runs = (await Promise.all(examples.map((example) => record(example, 1)))).flat();
    turns = [...new Map(runs.map((run) => [run.turns[0]?.saga, run.turns])).values()].flat();
    const at = ledgersAtHand();
    for (const turn of turns) at.append(turn);
    const fill = (open: () => Promise<TableStore>) =>
      catchUp({
        ...{ ports: at.ports, clock: systemClock, mesh: "m1", writer: "w", open },
        ...{ readArchived: async () => undefined, signal: new AbortController().signal },
      });
    await fill(async () => openSqliteStore(file));
    await fill(() => openPostgresStore(place));
    // No example's models have a price: some sagas cost something, and of the others it is not known.
    const priced = "update sagas set cost = case when turns > 5 then turns * 0.5 end";
    const db = new DatabaseSync(file);
    db.exec(priced);
    db.close();
    await rowsOfPostgres(place, priced);
  }, 120_000);
  afterAll(async () => {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  /** As if it were asked half an hour after the first turn: some examples wait for days. */
  function askingOf(at: TablesAt, dialect: Dialect) {
    const mesh = createMemoryMesh({ seed: 3 });
    const process = mesh.spawn("console");
    const now = minOf(turns.map((turn) => turn.at)) + 1_800_000;
    const deps = { ...process, clock: { ...systemClock, now: () => now }, from: "tester" };
    const asking = createAsking(deps, createSagaTeller(deps, createReadings(deps.ports)), {
      dialect,
      ask: (questions, rowsMax) =>
        Promise.all(questions.map((question) => ask(at, question, { withinMs: 20_000, rowsMax }))),
    });
    return { asking, done: <T>(work: Promise<T>) => drive(mesh, process.gate, work) };
  }

  test("both say the same to whatever the console asks", { timeout: 120_000 }, async () => {
    const [one, other] = [askingOf({ file }, "sqlite"), askingOf(place, "postgres")];
    const both = async <T>(question: (asking: typeof one.asking) => Promise<T>): Promise<T> => {
      const said = await one.done(question(one.asking));
      expect(await other.done(question(other.asking))).toEqual(said);
      return said;
    };
    const bySaga = <T extends { saga: string }>(rows: readonly T[]) =>
      [...rows].sort((a, b) => (a.saga < b.saga ? -1 : 1));
    for (const filter of ["turns>0", "status=failed", "outcome=in_doubt", "cost>0", "text~room"]) {
      const found = await both(async (asking) => bySaga((await asking.find(filter)).rows));
      const meant = await both(async (asking) => bySaga((await asking.meant(filter)).meant));
      expect(meant.map(({ saga }) => saga)).toEqual(found.map(({ saga }) => saga));
    }
    const dear = await both(async (asking) =>
      (await asking.find("turns>0", "cost")).rows.map(({ usd }) => usd),
    );
    expect(dear).toEqual([...dear].sort((a, b) => b - a));
    expect(dear[0]).toBeGreaterThan(0);
    const { tools, models } = await both((asking) => asking.latencies());
    expect(tools.names.length).toBeGreaterThan(0);
    expect(models.names.length).toBeGreaterThan(0);
    const byName = (spent: readonly Spent[]) => [...spent].sort((a, b) => (a.name < b.name ? -1 : 1));
    const cost = await both(async (asking) => {
      const { agents, models: asked, ...rest } = await asking.cost(366);
      return { ...rest, agents: byName(agents), models: byName(asked) };
    });
    expect(cost.agents.length).toBeGreaterThan(0);
  });
});
