/**
 * Goal: the path that ARCHITECTURE.md names is the way that a signal takes, and it is short.
 * Method: the list is read from the page. A run of one signal, from the inbox to an effect and with its result to the
 * next turn, says which lines of which files were executed (support/walked.ts): what runs much is on the path, or
 * stands below with the reason why a reader may leave it out.
 */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { compiledAnew } from "./support/compiled-once.ts";

const filesMax = 12;
const linesMax = 2_000;
/** Executed lines from which on a file must be on the path, or left out below. */
const muchAt = 40;

/** What runs much and is not on the path. Each does one thing that its name says, for a file of the path. */
const leftOut: Readonly<Record<string, string>> = {
  "actors/kernel/read-signal.ts":
    "the reasons to refuse a signal, one after the other; accept.ts asks for them",
  "actors/kernel/folding.ts": "the draft of a turn, and the few ways to change it",
  "actors/kernel/open-index.ts": "what is open, by what the fold asks of it",
  "actors/kernel/effects.ts": "what stands, with its undoing; settle.ts records it",
  "services/host/inputs.ts": "the box of what came and is not settled; activation.ts takes from it and acks",
  "services/host/placement.ts": "beside the path: which host has which partition",
  "services/host/roster.ts": "beside the path: hosts hear of one another while the signal is on its way",
};

const root = path.join(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

/** The numbered files of a section of a page, in order. */
function listIn(page: string, heading: string): string[] {
  const [, section = ""] = read(page).split(`\n${heading}\n`);
  const [text = ""] = section.split("\n## ");
  return [...text.matchAll(/^\d+\. `([\w/.-]+\.ts)`/gm)].map(([, file]) => file!);
}

const onPath = listIn("ARCHITECTURE.md", "## The path");

const walking = promisify(execFile)(
  process.execPath,
  ["--conditions=sagamesh-source", path.join(import.meta.dirname, "support/walked.ts")],
  { cwd: root, env: compiledAnew },
);

test("the path is at most 12 files and 2,000 lines, and README tells a reader to read just these", () => {
  expect(onPath.filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
  expect(onPath.length).toBeGreaterThan(0);
  expect(onPath.length).toBeLessThanOrEqual(filesMax);
  const lines = onPath.reduce((sum, file) => sum + read(file).split("\n").length - 1, 0);
  expect(lines).toBeLessThanOrEqual(linesMax);
  expect(listIn("README.md", "## Where to read next")).toEqual(onPath);
});

test("imports lead from each file of the path to one that was read before it, or the other way, in two steps at most", () => {
  const importsOf = (file: string): string[] =>
    [...read(file).matchAll(/from "(\.[^"]+)"/g)].map(([, to]) => path.join(path.dirname(file), to!));
  const reachedFrom = (file: string): string[] => importsOf(file).flatMap((one) => [one, ...importsOf(one)]);
  const loose = onPath.filter((file, index) => {
    const before = onPath.slice(0, index);
    const isTied = before.some((one) => reachedFrom(one).includes(file) || reachedFrom(file).includes(one));
    return index > 0 && !isTied;
  });
  expect(loose).toEqual([]);
});

test("a signal runs through every file of the path, and through no other that a reader must know", async () => {
  const walked = JSON.parse((await walking).stdout) as Record<string, number>;
  const isSchema = (file: string) => file.startsWith("protocol/");
  expect(onPath.filter((file) => !isSchema(file) && (walked[file] ?? 0) < 10)).toEqual([]);
  const much = Object.keys(walked).filter(
    (file) => /^(actors\/kernel|services\/(host|perform))\//.test(file) && walked[file]! >= muchAt,
  );
  expect(much.filter((file) => !onPath.includes(file) && !(file in leftOut))).toEqual([]);
  // A reason for a file that no longer runs much would hide the next one.
  expect(Object.keys(leftOut).filter((file) => !much.includes(file) || onPath.includes(file))).toEqual([]);
});
