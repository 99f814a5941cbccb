/**
 * Checks a schedule of your own against a problem of your own, and draws it:
 *
 *     npm run schedule -- PROBLEM SCHEDULE [--html FILE] [--svg FILE] [--history FILE] [--json]
 *     npm run schedule -- PROBLEM                 finds one for a wedding or a dinner, as JSON, or says why there is none
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
import type { Answer } from "../realm/answer.ts";
import { brokenText, type Checked, verdictOf } from "./checked.ts";
import { checkDay, DayFile, DaySchedule } from "./day.ts";
import { htmlOf, svgOf } from "./gantt.ts";
import { withMinutes } from "../realm/problem.ts";
import { searchFor } from "../realm/search.ts";
import { checkJobShop, Operations, readJobShop } from "./job-shop.ts";

/** What cannot be read, in words for the person whose file it is. */
export class Unreadable extends Error {}

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

/** A schedule for a wedding or a dinner, or why there is none. */
export function findSchedule({ file, text }: { readonly file: string; readonly text: string }): Answer {
  const isData = /^\s*[[{]/.test(text);
  const data = isData ? jsonOf(text, file) : undefined;
  const instance = isData ? readInstance(data) : undefined;
  if (!isData || (instance !== undefined && "rows" in instance))
    throw new Unreadable(
      `${file}: schedules are found for weddings and dinners; give one to have it checked`,
    );
  return searchFor({ problem: instance === undefined ? parsed(DayFile, data, file) : instance.day });
}

/** What a person reads where none was found. */
const tellNone = ({ why, lateMin, relax }: Extract<Answer, { feasible: false }>): string =>
  [
    `there is no schedule: ${why}${lateMin === undefined ? "" : `, ${lateMin} min late`}`,
    ...relax.map(({ what }) => `  it would help: ${what}`),
    "",
  ].join("\n");

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
  if (problem === undefined || positionals.length > 2)
    throw new Unreadable(
      "usage: npm run schedule -- PROBLEM [SCHEDULE] [--html FILE] [--svg FILE] [--history FILE] [--json]",
    );
  const read = async (file: string) => ({ file, text: await readFile(file, "utf8") });
  const asked = await read(problem);
  const found = schedule === undefined ? findSchedule(asked) : undefined;
  if (found?.feasible === false) {
    process.stdout.write(values.json === true ? `${JSON.stringify(found, null, 2)}\n` : tellNone(found));
    return 1;
  }
  const past = values.history === undefined ? undefined : await read(values.history);
  const given = schedule === undefined ? undefined : await read(schedule);
  const checked = checkTexts(asked, given ?? { file: "found", text: JSON.stringify(found?.schedule) }, past);
  if (values.html !== undefined) await writeFile(values.html, htmlOf(checked));
  if (values.svg !== undefined) await writeFile(values.svg, svgOf(checked));
  if (found !== undefined) {
    process.stdout.write(`${JSON.stringify(found.schedule, null, 1)}\n`);
    return 0;
  }
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
