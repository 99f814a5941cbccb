/**
 * Console page: where the console's page is, as it was built. In the package it lies beside the built sources; from the
 * sources it is built when it is first asked for, and again when one of its files is newer.
 */
import { execFile } from "node:child_process";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isFromSources, ownFolder } from "../process/own-file.ts";

const beside = fileURLToPath(ownFolder("services/console/page"));
/** Of the sources: the package never looks there. */
const root = join(beside, "..", "..", "..");
/** Installed with the packages that build it, and gone with them. */
const built = join(root, "node_modules", ".cache", "sagamesh", "console");
const vite = join(root, "node_modules", "vite", "bin", "vite.js");

/** The folder. Rejects where the page must be built here and cannot. */
export async function consolePage(): Promise<string> {
  if (!isFromSources()) return beside;
  const [made, changed] = await Promise.all([newestIn(built), newestIn(beside)]);
  if (made < changed) await build();
  return built;
}

/** When the newest of a folder's files was written; 0 where there are none. */
async function newestIn(folder: string): Promise<number> {
  const files = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  const times = await Promise.all(
    files.filter((one) => one.isFile()).map((one) => stat(join(one.parentPath, one.name))),
  );
  return times.reduce((newest, { mtimeMs }) => Math.max(newest, mtimeMs), 0);
}

/** Into a folder of its own first: another process may be reading the one that is there, or building it too. */
async function build(): Promise<void> {
  const own = `${built}.${process.pid}`;
  const words = [vite, "build", beside, "--outDir", own, "--emptyOutDir", "--logLevel", "error"];
  await promisify(execFile)(process.execPath, words, { cwd: root });
  await rm(built, { recursive: true, force: true });
  await rename(own, built).catch(async (error: unknown) => {
    await rm(own, { recursive: true, force: true });
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error; // Another one was first: it is the same.
  });
}
