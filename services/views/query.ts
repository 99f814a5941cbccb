/**
 * Query: which sagas, or calls, a filter means, of rows that are at hand.
 */
import type { SagaRow } from "../../protocol/documents/saga.ts";
import { type FieldKind, type Order, parseFilter, type Test } from "./filter.ts";

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

/** A field, and what a row has in it. A row that has no such number or time is meant by no word about it. */
interface Field<R extends SagaRow = SagaRow> {
  readonly kind: FieldKind;
  readonly of: (row: R) => string | number | undefined;
}
type Fields<R extends SagaRow> = Readonly<Record<string, Field<R>>>;

/** How a saga stands. */
export const statuses = ["running", "completed", "failed", "cancelled"];

const named: Field = { kind: "text", of: ({ name }) => name };
const fields: Fields<SagaRow> = {
  ...{ name: named, agent: named, saga: named },
  id: { kind: "text", of: ({ saga }) => saga },
  parent: { kind: "text", of: ({ parent }) => parent?.saga ?? "" },
  version: { kind: "number", of: ({ version }) => version },
  turns: { kind: "number", of: ({ turns }) => turns },
  cost: { kind: "number", of: ({ used }) => used?.usd ?? 0 },
  status: { kind: statuses, of: ({ status }) => status },
  started: { kind: "time", of: ({ startedAt }) => startedAt },
  changed: { kind: "time", of: ({ updatedAt }) => updatedAt },
  ended: { kind: "time", of: (row) => (row.status === "running" ? undefined : row.updatedAt) },
};

const callFields: Fields<CallRow> = {
  ...fields,
  tool: { kind: "text", of: ({ call }) => call.tool },
  intent: { kind: "text", of: ({ call }) => call.intent },
  outcome: { kind: ["in_doubt", "open"], of: ({ call }) => call.outcome },
};

/** What a query of sagas can name, and what it holds. */
export const sagaFields: Readonly<Record<string, FieldKind>> = kindsOf(fields);

/** What `--query` takes, for help texts. */
export const queryHelp =
  "conditions joined by `and`: name, agent, saga, id, parent (=, !=, a last * for any rest), status (=, !=), version, turns, cost (=, !=, <, <=, >, >=), started, ended, changed (<, <=, >, >= a date or how long ago, such as 7d)";

/** The same of calls. */
export const callQueryHelp = `${queryHelp}; and of the call tool, intent, outcome (=, !=; in_doubt or open)`;

/** Reads a query. Throws USAGE with the condition that is wrong and what may stand there. */
export const parseQuery = (query: string, now: number): Meant => parseBy(fields, queryHelp, query, now);

/** Reads a query of calls. Throws USAGE as `parseQuery` does. */
export const parseCallQuery = (query: string, now: number): Meant<CallRow> =>
  parseBy(callFields, callQueryHelp, query, now);

function kindsOf<R extends SagaRow>(of: Fields<R>): Readonly<Record<string, FieldKind>> {
  return Object.fromEntries(Object.entries(of).map(([name, { kind }]) => [name, kind]));
}

function parseBy<R extends SagaRow>(of: Fields<R>, help: string, query: string, now: number): Meant<R> {
  const tests = parseFilter(query, kindsOf(of), help, now).map((test) => {
    const valueOf = of[test.field]?.of;
    return (row: R) => holds(test, valueOf?.(row));
  });
  return (row) => row.fault === undefined && tests.every((test) => test(row));
}

function holds(test: Test, value: string | number | undefined): boolean {
  if (test.kind === "text") {
    const text = String(value ?? "");
    return (test.isPrefix ? text.startsWith(test.value) : text === test.value) === (test.op === "=");
  }
  return test.kind !== "words" && typeof value === "number" && compared(value, test.op, test.value);
}

const compared = (a: number, op: Order, b: number): boolean =>
  ({ "=": a === b, "!=": a !== b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b })[op];
