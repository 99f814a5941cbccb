/**
 * Filter as SQL: the sagas of the tables that a filter means (services/views/filter.ts).
 *
 * BC1 What a person wrote is a value beside the statement, never a part of it.
 * BC2 What is said of calls holds for one and the same call of a tool.
 * BC3 Of a saga it means what `services/views/query.ts` means of its row. One that cannot be read is never meant.
 */
import { type FieldKind, parseFilter, type Test } from "../views/filter.ts";
import { queryHelp, sagaFields } from "../views/query.ts";
import { type Cell, timeText } from "./rows.ts";

/** Every way in which a call may stand. */
const outcomes = ["open", "succeeded", "failed", "denied", "in_doubt", "cancelled", "superseded"];

/** What a filter of the tables can name, and what it holds. */
export const tableFields: Readonly<Record<string, FieldKind>> = {
  ...sagaFields,
  tokens: "number",
  error: "text",
  ...{ tool: "text", outcome: outcomes },
  text: "words",
};

/** What it takes, for help texts. */
export const filterHelp = `${queryHelp}; tokens (as cost); error (=, !=); of one and the same call of a tool: tool, outcome (=, !=; ${outcomes.join(", ")}); text (~ words of its messages)`;

/** Names that need no table but `sagas`; by their columns. Null where a word about it means nothing. */
const columns: Readonly<Record<string, string>> = {
  ...{ name: "agent", agent: "agent", saga: "agent", id: "saga", parent: "coalesce(parent, '')" },
  ...{ version: "version", turns: "turns", cost: "cost", tokens: "tokens" },
  ...{ status: "status", error: "coalesce(error, '')", started: "started", changed: "updated" },
  ended: "case when status = 'running' then null else updated end",
};
/** Those of which null is as good as 0. */
const counts: ReadonlySet<string> = new Set(["cost", "tokens"]);
const callColumns: Readonly<Record<string, string>> = { tool: "name", outcome: "outcome" };

/** A condition of SQL, and what stands in the place of its question marks. */
export interface Where {
  readonly sql: string;
  readonly values: readonly Cell[];
}

/** Reads a filter. Throws USAGE as `parseFilter`. */
export const filterOf = (text: string, now: number): Test[] =>
  parseFilter(text, tableFields, filterHelp, now);

/** Whose SQL it is: the two find words each by an index of its own. */
export type Dialect = "sqlite" | "postgres";

/** What a filter says of a row of `sagas`. */
export function whereOf(tests: readonly Test[], dialect: Dialect = "sqlite"): Where {
  const parts: Where[] = [{ sql: "status <> 'unreadable'", values: [] }];
  const calls: Where[] = [];
  for (const test of tests) {
    const call = Object.hasOwn(callColumns, test.field) ? callColumns[test.field] : undefined;
    const column = Object.hasOwn(columns, test.field) ? columns[test.field] : undefined;
    if (call !== undefined) calls.push(partOf(call, test));
    else if (column !== undefined)
      parts.push(partOf(isOfNone(test) ? `coalesce(${column}, 0)` : column, test));
    else parts.push(wordsOf(test, dialect));
  }
  if (calls.length > 0) {
    const { sql, values } = allOf(calls);
    parts.push({ sql: `saga in (select saga from intents where kind = 'tool' and ${sql})`, values }); // BC2
  }
  return allOf(parts);
}

/** In which order: what changed last first, or what cost most. */
export type SagaOrder = "updated" | "cost";

/** The sagas that a filter means, the ones that changed last first unless another order is named. */
export function sagasWhere(
  tests: readonly Test[],
  shown: string,
  dialect: Dialect = "sqlite",
  order: SagaOrder = "updated",
): Where {
  const { sql, values } = whereOf(tests, dialect);
  // Of what has no cost PostgreSQL would speak first.
  const by = order === "cost" ? "cost desc nulls last" : "updated desc";
  return { sql: `select ${shown} from sagas where ${sql} order by ${by}`, values };
}

const allOf = (parts: readonly Where[]): Where => ({
  sql: parts.map(({ sql }) => sql).join(" and "),
  values: parts.flatMap(({ values }) => values),
});

/** Whether it holds of a count of nothing, which may be null. Where it does not, the column alone can be looked up in its index. */
function isOfNone({ kind, field, op, value }: Test): boolean {
  if (kind !== "number" || !counts.has(field)) return false;
  return {
    "=": value === 0,
    "!=": value !== 0,
    "<": value > 0,
    "<=": value >= 0,
    ">": value < 0,
    ">=": value <= 0,
  }[op];
}

/** The greatest text that begins with another one stands before this. */
const last = "\u{10ffff}";

/** BC1. */
function partOf(column: string, test: Test): Where {
  const value = test.kind === "time" ? timeText(test.value) : test.value;
  if (test.kind !== "text" || !test.isPrefix) return { sql: `${column} ${test.op} ?`, values: [value] };
  const begins = `(${column} >= ? and ${column} < ?)`;
  const values = [test.value, test.value + last];
  return { sql: test.op === "=" ? begins : `not ${begins}`, values };
}

/** One phrase of the index of words. */
const wordsOf = ({ value }: Test, dialect: Dialect): Where =>
  dialect === "postgres"
    ? {
        sql: "saga in (select saga from messages where words @@ phraseto_tsquery('simple', ?))",
        values: [String(value)],
      }
    : {
        sql: "saga in (select saga from messages where id in (select rowid from words where words match ?))",
        values: [`"${String(value).replaceAll('"', '""')}"`],
      };
