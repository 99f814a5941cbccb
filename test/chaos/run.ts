/**
 * The chaos run as a command: `npm run test:chaos -- --help`.
 *
 * Exit 0: every promise held, or what was planted was found; 1: not so; 2: bad usage.
 */
import { isAsWished, runChaos } from "./chaos.ts";
import { help, type Options, readOptions, Usage } from "./options.ts";
import { describeReport, type Report } from "./report.ts";

const violationsShown = 40;

function refuse(error: unknown): never {
  if (!(error instanceof Usage)) throw error;
  process.stderr.write(`${error.message}\n--help says how it is used\n`);
  process.exit(2);
}

function options(): Options | undefined {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    return refuse(error);
  }
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1)); // Its processes go with it.

const chosen = options();
if (chosen === undefined) process.stdout.write(help);
else await run(chosen);

async function run(given: Options): Promise<void> {
  const out = given.json ? process.stderr : process.stdout;
  const beganAt = performance.now();
  const tell = (line: string) =>
    out.write(`${((performance.now() - beganAt) / 1_000).toFixed(1).padStart(7)} s  ${line}\n`);
  out.write(`seed ${given.seed}\n`);
  const report = await runChaos(given, tell).catch(refuse);
  out.write(`${describeReport(report)}\n`);
  for (const { promise, what } of report.violations.slice(0, violationsShown))
    out.write(`BROKEN ${promise}  ${what}\n`);
  if (report.violations.length > violationsShown)
    out.write(`and ${report.violations.length - violationsShown} more, in report.json\n`);
  out.write(`${verdict(given, report)}\n`);
  if (given.json) process.stdout.write(`${JSON.stringify(report)}\n`);
  const code = isAsWished(given, report) && report.unfound.length === 0 ? 0 : 1;
  // Left to itself, Node 24.21 spins for ever in its own clean-up of handles once sockets were reset.
  process.stdout.write("", () => process.exit(code));
}

function verdict(given: Options, report: Report): string {
  const { violations, unfound, folder, seed } = report;
  const lines = [];
  if (given.plant !== undefined)
    lines.push(
      `"${given.plant}" was planted, and ${isAsWished(given, report) ? "found, as it should be" : "NOT FOUND"}`,
    );
  else if (violations.length > 0) lines.push(`${violations.length} broken promises`);
  else lines.push("every promise held");
  if (given.prove && unfound.length === 0) lines.push("proved: what was spoiled afterwards was found");
  for (const name of unfound) lines.push(`NOT PROVED, spoiled afterwards and not found: ${name}`);
  if (folder !== undefined)
    lines.push(
      `look in ${folder}: ledgers/<saga>.jsonl, inputs.jsonl, dead.jsonl, account.jsonl (the outside's), strikes.jsonl,`,
      `  host-*.log, worker-*.log; servers/n* are the stores. Another run like it: --seed ${seed} (real time makes them differ)`,
    );
  return lines.join("\n");
}
