/**
 * Judge: has the histories of a run checked for linearizability by porcupine, which somebody else wrote.
 *
 * The judge is a Go program of this folder. It is built once for each state of its source, by the Go toolchain that is
 * installed here, into the user's cache folder; go.sum vouches for what it is built of.
 *
 * JG1 A program enters the cache by a rename after it was built whole, as a nats-server does.
 * JG2 Where it cannot be had (no Go, no module proxy) that is said, and nothing is judged: never a verdict.
 */
import { mkdtemp, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sha256 } from "../../../protocol/digest.ts";
import { describeError } from "../../../protocol/errors.ts";
import { findOnPath, runCommand } from "../../../services/nats/server/command.ts";
import { cacheFolder, makeFolder } from "../../../services/nats/server/user-folders.ts";

/** What porcupine says of histories. An object that is in none of the lists is linearizable. */
export interface Linearity {
  readonly objects: number;
  /** By kind of object. */
  readonly operations: Readonly<Record<string, number>>;
  /** Of these, calls whose outcome nobody was told. */
  readonly unknown: number;
  /** Not linearizable, each with its calls and answers. */
  readonly broken: readonly { readonly object: string; readonly history: readonly string[] }[];
  /** Linearizable only without what was refused or read: a deposed leader has answered. */
  readonly late: readonly string[];
  /** Not decided in time. */
  readonly undecided: readonly string[];
  readonly ms: number;
}

const folder = fileURLToPath(new URL(".", import.meta.url));
const buildTimeoutMs = 3 * 60_000;
const judgeTimeoutMs = 10 * 60_000;

/** The path of the judge's program, or why there is none. */
export async function findJudge(env = process.env): Promise<{ path: string } | { missing: string }> {
  const sources = (await readdir(folder)).filter((name) => /\.go$|^go\./.test(name)).sort();
  const texts = await Promise.all(sources.map((name) => readFile(join(folder, name), "utf8")));
  const cache = cacheFolder(env);
  const path = join(cache, `linear-${sha256(texts.join("\n")).slice(0, 16)}`);
  if (await stat(path).then(() => true, () => false)) return { path }; // prettier-ignore
  const [go] = await findOnPath("go", env);
  if (go === undefined) return { missing: "there is no Go toolchain on the PATH" };
  try {
    await makeFolder(cache, { code: "SERVER_MISSING", variable: "SAGAMESH_CACHE" });
    const work = await mkdtemp(join(cache, "work-linear-"));
    try {
      await runCommand({
        ...{ file: go, args: ["build", "-trimpath", "-o", join(work, "linear"), "."], cwd: folder },
        ...{ env: { ...env, GOFLAGS: "", GOWORK: "off", CGO_ENABLED: "0" }, timeoutMs: buildTimeoutMs },
      });
      await rename(join(work, "linear"), path); // JG1
    } finally {
      await rm(work, { recursive: true, force: true });
    }
    return { path };
  } catch (error) {
    return { missing: describeError(error) };
  }
}

/** Judges all histories of the folder together; a word where there is no judge. Throws where it fails. */
export async function judgeHistories(histories: string): Promise<Linearity | { missing: string }> {
  const judge = await findJudge();
  if ("missing" in judge) return judge;
  const files = (await readdir(histories))
    .filter((name) => name.startsWith("history-"))
    .map((name) => join(histories, name));
  const verdict = await runCommand({
    ...{ file: judge.path, args: files, env: process.env, timeoutMs: judgeTimeoutMs },
  });
  return JSON.parse(verdict) as Linearity; // Printed by the program, and by nothing else.
}
