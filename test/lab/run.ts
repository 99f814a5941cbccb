/**
 * The lab as a command: `npm run test:lab -- --help`.
 *
 * Exit 0: every run holds; 1: one does not, or could not be made; 2: bad usage.
 */
import { readFile, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, release, type } from "node:os";
import { parseArgs } from "node:util";
import { format, resolveConfig } from "prettier";
import { describeError } from "../../protocol/errors.ts";
import { faults } from "./faults.ts";
import { type Outcome, runFault } from "./run-fault.ts";
import { dueRows, type Row, rowOf, skippedRow, withRows } from "./table.ts";

const runbook = new URL("../../deploy/runbook.md", import.meta.url);

const help = `Hurts a mesh of real processes in one way after another, under load, does what an operator is told to do, and says
what came of it: effects twice, sagas lost, sagas that stand, what was said first, how long it took.

  npm run test:lab -- [FAULT…] [--servers 1|3] [--seed S] [--json] [--write] [--keep]

  FAULT          by name; all unless given. A part of a name and * mean all that begin so
  --servers N    on so many servers; one and three unless given
  --seed S       of the load (1)
  --json         one line of JSON for each run on standard output
  --write        writes the rows into the table of deploy/runbook.md
  --keep         keeps logs and stores; else only those of a run that does not hold

${faults.map(({ name, does }) => `  ${name.padEnd(34)} ${does}`).join("\n")}
`;

function refuse(why: string): never {
  process.stderr.write(`${why}\n--help says how it is used\n`);
  process.exit(2);
}

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { servers: text, seed: text, json: flag, write: flag, keep: flag, help: flag },
});

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1)); // Its processes go with it.

if (values.help === true) process.stdout.write(help);
else await runAll();

function chosen() {
  const isNamed = (name: string) => (one: string) =>
    one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : name === one;
  const unknown = positionals.find((one) => !faults.some(({ name }) => isNamed(name)(one)));
  if (unknown !== undefined) refuse(`no fault is named "${unknown}"`);
  const { servers } = values;
  if (servers !== undefined && servers !== "1" && servers !== "3")
    refuse(`--servers: 1 or 3, not "${servers}"`);
  const wanted = ([1, 3] as const).filter((size) => servers === undefined || String(size) === servers);
  return faults
    .filter(({ name }) => positionals.length === 0 || positionals.some(isNamed(name)))
    .flatMap((fault) =>
      (fault.sizes ?? wanted).filter((size) => wanted.includes(size)).map((size) => ({ fault, size })),
    );
}

async function runAll(): Promise<void> {
  const beganAt = performance.now();
  const tell = (line: string) =>
    process.stderr.write(`${((performance.now() - beganAt) / 1_000).toFixed(1).padStart(7)} s  ${line}\n`);
  let isWell = true;
  for (const { fault, size } of chosen()) {
    const run = `${new Date().toISOString().slice(0, 10)}, ${type()} ${release()}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(0)}`;
    const why = await fault.lacks?.(size);
    if (why !== undefined) {
      tell(`${fault.name}: skipped: ${why}`);
      await write(skippedRow(fault.name, size, why, run));
      continue;
    }
    const options = { seed: Number(values.seed ?? 1), keeps: values.keep === true, tell };
    const outcome = await runFault(fault, size, options).catch((error: unknown) => describeError(error));
    if (typeof outcome === "string") tell(`${fault.name}: COULD NOT BE MADE: ${outcome}`);
    else await report(outcome, rowOf(outcome, fault, run), tell);
    isWell &&= typeof outcome !== "string" && outcome.verdict.holds;
  }
  process.stdout.write("", () => process.exit(isWell ? 0 : 1)); // As the chaos run: nothing is left to wait for.
}

async function report(outcome: Outcome, row: Row, tell: (line: string) => void): Promise<void> {
  for (const line of outcome.verdict.details.slice(0, 12)) tell(line);
  tell(row.join(" | "));
  if (outcome.folder !== undefined) tell(`look in ${outcome.folder}`);
  if (values.json === true) process.stdout.write(`${JSON.stringify(outcome)}\n`);
  await write(row);
}

async function write(row: Row): Promise<void> {
  if (values.write !== true) return;
  const changed = withRows(await readFile(runbook, "utf8"), [row], dueRows(faults));
  await writeFile(runbook, await format(changed, { ...(await resolveConfig(runbook)), parser: "markdown" }));
}
