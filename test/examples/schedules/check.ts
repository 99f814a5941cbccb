/**
 * Checks a schedule of your own against a problem of your own, and draws it:
 *
 *     npm run schedule -- PROBLEM SCHEDULE [--html FILE] [--svg FILE] [--history FILE] [--json]
 *
 * PROBLEM is a wedding or a dinner as data (`../realm/data/problems.json` has some), `{ "extends": "P5" }`, an instance of
 * REALM-Bench (problems 1 to 10), or a job shop in the usual text. SCHEDULE is JSON. Times are minutes after midnight or
 * `"13:00"`. Exit 0: it keeps every rule that can be judged; 1: it breaks one; 2: it cannot be read.
 */
import { readFile, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { readInstance } from "./bench.ts";
import { brokenText, type Checked, verdictOf } from "./checked.ts";
import { checkDay, DayFile, DaySchedule } from "./day.ts";
import { htmlOf, svgOf } from "./gantt.ts";
import { checkJobShop, Operations, readJobShop } from "./job-shop.ts";

/** What cannot be read, in words for the person whose file it is. */
class Unreadable extends Error {}

/** `"13:00"` is 780 wherever it stands. */
const withMinutes = (value: unknown): unknown => {
  if (typeof value === "string" && /^\d{1,2}:\d\d$/.test(value)) {
    const [hours = 0, minutes = 0] = value.split(":").map(Number);
    return hours * 60 + minutes;
  }
  if (Array.isArray(value)) return value.map(withMinutes);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withMinutes(inner)]));
};

function parsed<T>(schema: z.ZodType<T>, value: unknown, file: string): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw new Unreadable(`${file}: ${z.prettifyError(read.error)}`);
}

function jsonOf(text: string, file: string): unknown {
  try {
    return withMinutes(JSON.parse(text));
  } catch (error) {
    throw new Unreadable(`${file}: not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A list of rows, alone or as `actions` of an object. */
const rowsOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "actions" in value ? value.actions : value;

/** Texts in, the check out. The files' names are for what is said of them. */
export function checkTexts(
  problem: { readonly file: string; readonly text: string },
  schedule: { readonly file: string; readonly text: string },
  history?: { readonly file: string; readonly text: string },
): Checked {
  const rows = rowsOf(jsonOf(schedule.text, schedule.file));
  if (!/^\s*[[{]/.test(problem.text)) {
    const name = basename(problem.file).replace(/\.[^.]*$/, "");
    return checkJobShop(shopOf(problem.text, name, problem.file), parsed(Operations, rows, schedule.file));
  }
  const data = jsonOf(problem.text, problem.file);
  const instance = readInstance(data);
  if (instance !== undefined && "rows" in instance)
    return instance.check(parsed(instance.rows, rows, schedule.file));
  const day = instance === undefined ? parsed(DayFile, data, problem.file) : instance.day;
  const past = history === undefined ? undefined : rowsOf(jsonOf(history.text, history.file));
  const checked = checkDay(
    day,
    parsed(DaySchedule, rows, schedule.file),
    history === undefined ? undefined : parsed(DaySchedule, past, history.file),
  );
  return instance === undefined
    ? checked
    : { ...checked, unjudged: [...checked.unjudged, ...instance.unjudged] };
}

function shopOf(text: string, name: string, file: string) {
  try {
    return readJobShop(text, name);
  } catch (error) {
    throw new Unreadable(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What a person reads. */
function tell(checked: Checked): string {
  const { title, broken, unjudged, unit, notes = [] } = checked;
  return [
    `${title}: ${verdictOf(checked)}`,
    ...notes.map((note) => `  ${note}`),
    ...broken.map((one, index) => `  ${index + 1}. ${brokenText(unit, one)}`),
    ...(unjudged.length === 0
      ? []
      : ["not judged:", ...unjudged.map(({ what, why }) => `  ${what}: ${why}`)]),
    "",
  ].join("\n");
}

async function main(): Promise<number> {
  const string = { type: "string" } as const;
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { html: string, svg: string, history: string, json: { type: "boolean" } },
  });
  const [problem, schedule] = positionals;
  if (problem === undefined || schedule === undefined || positionals.length > 2)
    throw new Unreadable(
      "usage: npm run schedule -- PROBLEM SCHEDULE [--html FILE] [--svg FILE] [--history FILE] [--json]",
    );
  const read = async (file: string) => ({ file, text: await readFile(file, "utf8") });
  const past = values.history === undefined ? undefined : await read(values.history);
  const checked = checkTexts(await read(problem), await read(schedule), past);
  if (values.html !== undefined) await writeFile(values.html, htmlOf(checked));
  if (values.svg !== undefined) await writeFile(values.svg, svgOf(checked));
  const { lanes: _lanes, bars: _bars, ...said } = checked;
  process.stdout.write(values.json === true ? `${JSON.stringify(said, null, 2)}\n` : tell(checked));
  return checked.broken.length === 0 ? 0 : 1;
}

if (import.meta.main)
  try {
    process.exitCode = await main();
  } catch (error) {
    const isFile = error instanceof Error && "code" in error;
    if (!(error instanceof Unreadable) && !isFile) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  }
