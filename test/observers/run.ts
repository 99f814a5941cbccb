/**
 * Observers as a command: `npm run observers -- --help`.
 *
 * Exit 0: all of them read what we say as it was meant; 1: one does not, or could not be built; 2: bad usage.
 */
import { writeFile } from "node:fs/promises";
import { release, type } from "node:os";
import { parseArgs } from "node:util";
import { format, resolveConfig } from "prettier";
import { ensureGoProgram, type GoRecipe } from "../support/go-program.ts";
import { collectorRecipe, collectorVersion, startCollector } from "./collector.ts";
import { compareAll } from "./compare.ts";
import { askPromtool, prometheusVersion, promtoolRecipe, type Said } from "./promtool.ts";
import { play } from "./stage.ts";

const help = `Has programs that other people wrote read what a mesh tells: an OpenTelemetry Collector its spans and metrics, Prometheus'
promtool its alerts, metrics and the dashboard's queries. Both are built with Go once, which takes minutes.

  npm run observers -- [--write]

  --write   writes what was said into test/observers/RESULTS.md
`;

const results = new URL("RESULTS.md", import.meta.url);

const flag = { type: "boolean" } as const;
const { values } = parseArgs({ options: { write: flag, help: flag } });
if (values.help === true) process.stdout.write(help);
else process.exitCode = await runAll();

async function built(recipe: GoRecipe): Promise<string> {
  process.stderr.write(`${recipe.name}: built, or being built\n`);
  const program = await ensureGoProgram(recipe);
  if ("missing" in program) throw new Error(program.missing);
  return program.path;
}

async function runAll(): Promise<0 | 1> {
  const [collector, promtool] = [await built(collectorRecipe), await built(promtoolRecipe)];
  const receiver = await startCollector(collector);
  const shown = await play(receiver.url);
  const said = [...compareAll(shown, await receiver.end()), ...askPromtool(promtool, shown.text)];
  for (const { what, ok, words } of said) process.stdout.write(`${ok ? "ok " : "RED"} ${what}\n${words}\n\n`);
  if (values.write === true) {
    const options = await resolveConfig(results.pathname);
    await writeFile(results, await format(pageOf(said), { ...options, parser: "markdown" }));
  }
  return said.every(({ ok }) => ok) ? 0 : 1;
}

function pageOf(said: readonly Said[]): string {
  const on = `${new Date().toISOString().slice(0, 10)}, ${type()} ${release()}, Node ${process.versions.node}`;
  return [
    "# What other programs said",
    `Written by \`npm run observers -- --write\` on ${on}: an OpenTelemetry Collector ${collectorVersion} (its receiver for OTLP and its exporter to files), and promtool of Prometheus ${prometheusVersion}.`,
    ...said.map(({ what, ok, words }) => `## ${ok ? "ok" : "RED"}: ${what}\n\n\`\`\`\n${words}\n\`\`\``),
  ].join("\n\n");
}
