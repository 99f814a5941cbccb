/**
 * Filter: which sagas, or calls, are meant, in words for a command line.
 *
 *   agent=hire_for_role and status=completed and started>2026-01-01 and tool="charge card"
 *
 * VQ1 Every condition holds, or it is not meant. There is no `or`: two filters say that.
 * VQ2 What is wrong is told with the condition, the place where it stands, counted from 1, and what may stand there.
 * VQ3 What was read is printed so that it reads as the same again. A quotation mark inside quotes is written twice.
 */
import { MeshError } from "../../protocol/errors.ts";
import { msOf } from "../../protocol/duration.ts";
import { instantOf } from "../../protocol/instant.ts";
import { didYouMean } from "../../protocol/nearest.ts";

/** What a field holds, and so how it is compared: one of a few words, for example. */
export type FieldKind = "text" | "number" | "time" | "words" | readonly string[];

/** A condition that was read. `text`: a last `*` stood for any rest where `isPrefix`. Of `time` the value is milliseconds since the epoch. */
export type Test =
  | {
      readonly kind: "text";
      readonly field: string;
      readonly op: "=" | "!=";
      readonly value: string;
      readonly isPrefix: boolean;
    }
  | { readonly kind: "number" | "time"; readonly field: string; readonly op: Order; readonly value: number }
  /** The field's texts have all these words, in this order. */
  | { readonly kind: "words"; readonly field: string; readonly op: "~"; readonly value: string };
/** How numbers and times are compared. */
export type Order = "=" | "!=" | "<" | "<=" | ">" | ">=";

/** A condition as it stands. */
interface Condition {
  readonly field: string;
  readonly op: string;
  readonly value: string;
  readonly wrong: (why: string, remedy: string) => MeshError;
}

const orders = ["=", "!=", "<", "<=", ">", ">="];
const opsOf = (kind: FieldKind): readonly string[] =>
  kind === "number" ? orders : kind === "time" ? orders.slice(2) : kind === "words" ? ["~"] : ["=", "!="];

/**
 * Reads a filter over these fields; `help` says what it takes. `now`: what times such as `7d` are before. Throws USAGE (VQ2).
 */
export function parseFilter(
  text: string,
  fields: Readonly<Record<string, FieldKind>>,
  help: string,
  now: number,
): Test[] {
  return conditionsOf(text, help).map((condition) => {
    const { field, op, wrong } = condition;
    const kind = Object.hasOwn(fields, field) ? fields[field] : undefined;
    const names = Object.keys(fields);
    if (kind === undefined)
      throw wrong(
        `names no field "${field}"${didYouMean(field, names)}`,
        `The fields are ${names.join(", ")}.`,
      );
    if (!opsOf(kind).includes(op))
      throw wrong(`compares ${field} by ${op}`, `${field} takes ${opsOf(kind).join(", ")}.`);
    return testOf(kind, condition, now);
  });
}

/** As `parseFilter` reads it (VQ3). */
export const printFilter = (tests: readonly Test[]): string =>
  tests.map((test) => `${test.field}${test.op}${valueText(test)}`).join(" and ");

function valueText(test: Test): string {
  if (test.kind === "time") return new Date(test.value).toISOString();
  if (test.kind === "number") return String(test.value);
  const value = test.kind === "text" && test.isPrefix ? `${test.value}*` : String(test.value);
  return `"${value.replaceAll('"', '""')}"`;
}

function testOf(kind: FieldKind, { field, op, value, wrong }: Condition, now: number): Test {
  const unfit = (what: string) => wrong("has a value that does not fit", `${field} takes ${what}.`);
  // Proofs: each kind's own operators, as was seen to above.
  if (kind === "words") {
    if (!/[\p{L}\p{N}]/u.test(value)) throw unfit("a word or more");
    return { kind, field, op: "~", value };
  }
  if (kind === "number") {
    const wanted = Number(value);
    if (value.trim() === "" || !Number.isFinite(wanted)) throw unfit("a number");
    return { kind, field, op: op as Order, value: wanted + 0 }; // Of two zeros the one that is printed.
  }
  if (kind === "time") {
    const at = timeOf(value, now);
    if (at === undefined)
      throw unfit("a date such as 2026-01-31 or 2026-01-31T10:00Z, or how long ago, such as 7d");
    return { kind, field, op: op as Order, value: at };
  }
  if (kind !== "text" && !kind.includes(value)) throw unfit(kind.join(", "));
  const isPrefix = kind === "text" && value.endsWith("*");
  return {
    kind: "text",
    field,
    op: op as "=" | "!=",
    value: isPrefix ? value.slice(0, -1) : value,
    isPrefix,
  };
}

/** The last moment whose year has four digits. */
const timeMax = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Undefined for what is no time. */
function timeOf(value: string, now: number): number | undefined {
  if (/^\d+(\.\d+)?(ms|s|m|h|d|w)$/.test(value)) return Math.max(0, Math.floor(now - msOf(value)));
  const at = instantOf(value)?.at ?? Number.NaN;
  return at >= 0 && at <= timeMax ? at : undefined;
}

/** The conditions of a filter, one after the other. Throws USAGE. */
function conditionsOf(text: string, help: string): Condition[] {
  const conditions: Condition[] = [];
  for (let at = 0; ;) {
    const { condition, end } = conditionAt(text, at, help);
    conditions.push(condition);
    const [all = "", word = ""] = matchAt(/\s*(\S*)/y, text, end) ?? [];
    if (word === "") return conditions;
    if (!/^\s+and$/i.test(all) || text.slice(end + all.length).trim() === "")
      throw wrongAt(text, end + all.length - word.length)(
        /^and$/i.test(word) ? "is followed by no other" : `is followed by ${word}`,
        "Conditions are joined by ` and `; a value that holds white space stands in quotes.",
      );
    at = end + all.length;
  }
}

/** FIELD OPERATOR VALUE from a place on. */
function conditionAt(text: string, from: number, help: string): { condition: Condition; end: number } {
  const found = matchAt(/(\s*)([a-z_]+)\s*(!=|<=|>=|=|<|>|~)\s*(?:"((?:[^"]|"")*)"|([^\s"]+))/iy, text, from);
  if (found === null) {
    const start = from + (/^\s*/.exec(text.slice(from))?.[0].length ?? 0);
    throw wrongAt(text, start)("is not FIELD OPERATOR VALUE", `It takes ${help}.`);
  }
  const [all, space = "", field = "", op = "", quoted, bare = ""] = found;
  const start = from + space.length;
  return {
    end: from + all.length,
    condition: {
      ...{ field: field.toLowerCase(), op },
      value: quoted?.replaceAll('""', '"') ?? bare,
      wrong: wrongAt(text, start, from + all.length),
    },
  };
}

/** VQ2. */
const wrongAt =
  (text: string, start: number, end = text.length) =>
  (why: string, remedy: string): MeshError =>
    new MeshError(
      "USAGE",
      `the query's condition "${text.slice(start, end).trim()}", at character ${start + 1}, ${why}`,
      { remedy },
    );

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
