/** Results on paper: what was found, where and when, as test/bench/RESULTS.md. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { cpus, release, totalmem, type } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { format, resolveConfig } from "prettier";
import type { Report } from "./figures.ts";

const path = fileURLToPath(new URL("RESULTS.md", import.meta.url));

/** Replaces what was there: a file holds the figures of one run, which alone may be compared with one another. */
export async function writeResults(words: readonly string[], reports: readonly Report[]): Promise<void> {
  const text = renderResults(await describeRun(words), reports);
  await writeFile(path, await format(text, { ...(await resolveConfig(path)), parser: "markdown" }));
}

export const renderResults = (about: readonly string[], reports: readonly Report[]): string =>
  [
    "# Results",
    "Written by the command below and by no hand. Absolute figures are of one machine at one moment; what may be compared are " +
      "the ratios. What is measured and how stands at the top of the files in `test/bench`.",
    ...about,
    ...reports.map(asMarkdown),
  ].join("\n\n");

async function describeRun(words: readonly string[]): Promise<string[]> {
  const git = promisify(execFile)("git", ["rev-parse", "--short", "HEAD"]);
  const commit = await git.then(
    ({ stdout }) => stdout.trim(),
    () => "unknown",
  );
  const [cpu] = cpus();
  return [
    [
      `- \`npm run bench -- ${words.join(" ")}\`, ended ${new Date().toISOString()}, commit ${commit}`,
      `- ${cpus().length} × ${cpu?.model.trim() ?? "an unknown processor"}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
      `- ${type()} ${release()}, Node ${process.versions.node}; servers and clients on this one machine`,
    ].join("\n"),
  ];
}

function asMarkdown({ title, rows, notes }: Report): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const line = (cells: readonly (string | number)[]) =>
    `| ${cells.map((cell) => `${cell}`.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  const table = [
    line(columns),
    line(columns.map(() => "---")),
    ...rows.map((row) => line(columns.map((column) => row[column] ?? ""))),
  ];
  return [`## ${title}`, table.join("\n"), notes.join(" ")].filter((part) => part !== "").join("\n\n");
}
