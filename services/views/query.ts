/**
 * Query: which sagas are meant, in words for a command line.
 *
 *   agent=hire_for_role and status=completed and started>2026-01-01
 *
 * QY1 Every condition holds, or the saga is not meant. There is no `or`: two queries say that.
 */
import type { SagaRow } from "../../protocol/documents/saga.ts";
import { MeshError } from "../../protocol/errors.ts";
import { msOf } from "../../protocol/duration.ts";

/** Whether a saga is meant. One whose ledger cannot be read never is. */
export type Meant<R extends SagaRow = SagaRow> = (row: R) => boolean;

/** A call that a person may settle: in doubt, or open because the outside answers it. */
export interface AskedCall {
  readonly tool: string;
  readonly intent: string;
  readonly outcome: "in_doubt" | "open";
}
/** A call with the row of its saga. */
export interface CallRow extends SagaRow {
  readonly call: AskedCall;
}

interface Field<R extends SagaRow = SagaRow> {
  readonly ops: readonly string[];
  /** Throws a text that says what is expected. */
  readonly read: (value: string, now: number) => (row: R, op: string) => boolean;
}

const compared = (a: number, op: string, b: number): boolean =>
  ({ "=": a === b, "!=": a !== b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b })[op] === true;
const orders = ["=", "!=", "<", "<=", ">", ">="];
const texts = ["=", "!="];

const text = <R extends SagaRow = SagaRow>(of: (row: R) => string): Field<R> => ({
  ops: texts,
  read: (value) => {
    const fits = value.endsWith("*")
      ? (one: string) => one.startsWith(value.slice(0, -1))
      : (one: string) => one === value;
    return (row, op) => fits(of(row)) === (op === "=");
  },
});
const number = (of: (row: SagaRow) => number): Field => ({
  ops: orders,
  read: (value) => {
    const wanted = Number(value);
    if (value === "" || !Number.isFinite(wanted)) throw new Error("a number");
    return (row, op) => compared(of(row), op, wanted);
  },
});
/** A saga that has no such time is not meant by any word about it. */
const time = (of: (row: SagaRow) => number | undefined): Field => ({
  ops: ["<", "<=", ">", ">="],
  read: (value, now) => {
    const wanted = timeOf(value, now);
    return (row, op) => compared(of(row) ?? Number.NaN, op, wanted);
  },
});

function timeOf(value: string, now: number): number {
  if (/^\d+(\.\d+)?(ms|s|m|h|d|w)$/.test(value)) return now - msOf(value);
  const at = /^\d{4}-\d{2}-\d{2}/.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at))
    throw new Error("a date such as 2026-01-31 or 2026-01-31T10:00Z, or how long ago, such as 7d");
  return at;
}

/** One of a few words. */
const word = <R extends SagaRow>(words: readonly string[], of: (row: R) => string): Field<R> => ({
  ops: texts,
  read: (value) => {
    if (!words.includes(value)) throw new Error(words.join(", "));
    return (row, op) => (of(row) === value) === (op === "=");
  },
});
const statuses = ["running", "completed", "failed", "cancelled"];
const named = text(({ name }) => name);
const fields: Readonly<Record<string, Field>> = {
  name: named,
  agent: named,
  saga: named,
  id: text(({ saga }) => saga),
  parent: text(({ parent }) => parent?.saga ?? ""),
  version: number(({ version }) => version),
  turns: number(({ turns }) => turns),
  status: word(statuses, ({ status }: SagaRow) => status),
  started: time(({ startedAt }) => startedAt),
  changed: time(({ updatedAt }) => updatedAt),
  ended: time((row) => (row.status === "running" ? undefined : row.updatedAt)),
};

const callFields: Readonly<Record<string, Field<CallRow>>> = {
  ...fields,
  tool: text(({ call }: CallRow) => call.tool),
  intent: text(({ call }: CallRow) => call.intent),
  outcome: word(["in_doubt", "open"], ({ call }: CallRow) => call.outcome),
};

/** What `--query` takes, for help texts. */
export const queryHelp =
  "conditions joined by `and`: name, agent, saga, id, parent (=, !=, a last * for any rest), status (=, !=), version, turns (=, !=, <, <=, >, >=), started, ended, changed (<, <=, >, >= a date or how long ago, such as 7d)";

/** The same of calls. */
export const callQueryHelp = `${queryHelp}; and of the call tool, intent, outcome (=, !=; in_doubt or open)`;

/** Reads a query. Throws USAGE with the condition that is wrong and what may stand there. */
export const parseQuery = (query: string, now: number): Meant => parseBy(fields, queryHelp, query, now);

/** Reads a query of calls. Throws USAGE as `parseQuery` does. */
export const parseCallQuery = (query: string, now: number): Meant<CallRow> =>
  parseBy(callFields, callQueryHelp, query, now);

type Fields<R extends SagaRow> = Readonly<Record<string, Field<R>>>;

function parseBy<R extends SagaRow>(of: Fields<R>, help: string, query: string, now: number): Meant<R> {
  const tests = query.split(/\s+and\s+/i).map((words) => parseCondition(of, help, words.trim(), now));
  return (row) => row.fault === undefined && tests.every((test) => test(row));
}

function parseCondition<R extends SagaRow>(
  of: Fields<R>,
  help: string,
  words: string,
  now: number,
): Meant<R> {
  const [, name = "", op = "", quoted, bare = ""] =
    /^([a-z]+)\s*(!=|<=|>=|=|<|>)\s*(?:"([^"]*)"|([^\s"]+))$/.exec(words) ?? [];
  const wrong = (why: string, remedy: string) =>
    new MeshError("USAGE", `the query's condition "${words}" ${why}`, { remedy });
  if (name === "") throw wrong("is not FIELD OPERATOR VALUE", `It takes ${help}.`);
  const field = Object.hasOwn(of, name) ? of[name] : undefined;
  if (field === undefined)
    throw wrong(`names no field "${name}"`, `The fields are ${Object.keys(of).join(", ")}.`);
  if (!field.ops.includes(op))
    throw wrong(`compares ${name} by ${op}`, `${name} takes ${field.ops.join(", ")}.`);
  try {
    const test = field.read(quoted ?? bare, now);
    return (row) => test(row, op);
  } catch (error) {
    throw wrong("has a value that does not fit", `${name} takes ${(error as Error).message}.`);
  }
}
