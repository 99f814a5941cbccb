import { existsSync } from "node:fs";
import type { QueryRow } from "../../../protocol/documents/index-of-sagas.ts";
import { msOf } from "../../../protocol/duration.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { withIndexUrl } from "../../runtime/config.ts";
import { fillingOf, tablesAt } from "../../runtime/tables.ts";
import { type Answer, ask, askDefaults } from "../../tables/ask.ts";
import { type Dialect, filterHelp, filterOf, sagasWhere, type Where } from "../../tables/filter-sql.ts";
import { catchUp } from "../../tables/keep.ts";
import { assertOneReading } from "../../tables/one-reading.ts";
import type { TablesAt } from "../../tables/question.ts";
import { type CommandContext, withMesh } from "../frame/context.ts";
import { defineCommand } from "../frame/command.ts";
import { answerCsv, answerText, tellProgress } from "../telling/tables-text.ts";
import { countOf } from "./replay-settings.ts";

/** Where the tables are, for commands that read or keep them. */
export const indexUrlOption = {
  type: "string",
  hint: "URL",
  help: "the tables in this PostgreSQL database, postgres://user@host/database; else SAGAMESH_INDEX_URL, else a file",
} as const;

/** What a filter shows of a saga. */
const shown = "saga, agent, status, started, updated, turns, cost, in_doubt, error";

/** A question to all sagas, in SQL or as a filter. */
export const query = defineCommand({
  name: "query",
  summary: "ask all sagas by SQL, or by a filter",
  details:
    "SQL that reads, in SQLite's words (with --url in PostgreSQL's), over the tables that `sagamesh index --schema` prints: sagas, turns, intents, effects,\n" +
    "tasks, spending, messages, and words for texts. The tables are filled up to now before they are asked: the first time\n" +
    "that takes a while. Times are UTC texts that date('now', '-1 day') is compared with.",
  positionals: { sql: { help: "one statement that reads, such as select", optional: true } },
  options: {
    filter: {
      type: "string",
      hint: "FILTER",
      help: `in place of SQL: the sagas that it means: ${filterHelp}`,
    },
    csv: { type: "boolean", help: "comma-separated values" },
    rows: { type: "string", hint: "N", help: `at most so many rows (${askDefaults.rowsMax})` },
    within: {
      type: "string",
      hint: "DURATION",
      help: `at most so long, the filling not counted (${askDefaults.withinMs / 1_000}s)`,
    },
    url: indexUrlOption,
    "as-is": { type: "boolean", help: "ask the tables as they are, without filling them up to now" },
  },
  examples: [
    `sagamesh query "select agent, count(*), sum(usd) from sagas where status = 'failed' and started > date('now', '-1 day') group by agent"`,
    "sagamesh query --filter 'agent=hire and tool=charge_card and outcome=in_doubt and cost>1'",
    `sagamesh query "select saga, snippet(words, 0, '', '', '…', 12) from words join messages on id = words.rowid where words match 'refund'"`,
  ],
  run: async ({ sql, filter, csv, rows, within, url, "as-is": isAsIs }, given) => {
    const context = withTables(given, url);
    const { output, signal } = context;
    const bounds = {
      rowsMax: countOf("rows", rows) ?? askDefaults.rowsMax,
      withinMs: within === undefined ? askDefaults.withinMs : msOf(within),
    };
    if (csv && output.json) throw new MeshError("USAGE", "query: --csv or --json");
    const asked = readQuestion(sql, filter, dialectOf(context));
    const at = await tablesUpToNow(context, isAsIs);
    const answer = await ask(at, asked, bounds, signal);
    print(context, answer, csv);
    if (answer.isCut) output.note(`there are more than ${bounds.rowsMax} rows: --rows N shows more`);
    return 0;
  },
});

/** Throws USAGE before a server is asked. */
function readQuestion(sql: string | undefined, filter: string | undefined, dialect: Dialect): Where {
  if ((sql === undefined) === (filter === undefined))
    throw new MeshError("USAGE", "query: SQL or --filter FILTER, one of them", {
      remedy: "See sagamesh query --help; `sagamesh index --schema` shows the tables.",
    });
  if (filter !== undefined) return sagasWhere(filterOf(filter, Date.now()), shown, dialect);
  assertOneReading(sql ?? "");
  return { sql: sql ?? "", values: [] };
}

/** The command with the tables that its own flag names. Throws USAGE. */
export const withTables = (context: CommandContext, url: string | undefined): CommandContext => ({
  ...context,
  config: withIndexUrl(context.config, url),
});

export const dialectOf = ({ config }: CommandContext): Dialect =>
  config.indexUrl === undefined ? "sqlite" : "postgres";

/** This mesh's tables, which hold all that was stored by now. */
export async function tablesUpToNow(context: CommandContext, isAsIs = false): Promise<TablesAt> {
  const { config, output, signal } = context;
  return withMesh(context, async (mesh) => {
    const at = tablesAt(config, mesh.meshId);
    if (!isAsIs || ("file" in at && !existsSync(at.file)))
      await catchUp(fillingOf(config, mesh, { signal, ...tellProgress(output) }));
    return at;
  });
}

function print({ output }: CommandContext, answer: Answer, isCsv: boolean): void {
  const { columns, rows } = answer;
  if (isCsv) return output.print(undefined, () => answerCsv(answer));
  if (!output.json) return output.print(undefined, () => answerText(answer));
  for (const row of rows) {
    const document: QueryRow = Object.fromEntries(columns.map((name, k) => [name, row[k] ?? null]));
    output.print(document, () => "");
  }
}
