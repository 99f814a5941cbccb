/**
 * Programs in Go that other people wrote, or that are little more than their libraries: built once into the cache folder.
 *
 * GB1 A copy enters the cache by a rename, under a name that tells what it was made of; one process builds at a time, and whoever
 *     waited uses what the other built.
 * GB2 Where it cannot be built the reason is returned: who needs it says so.
 */
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { shortHash } from "../../protocol/digest.ts";
import { describeError } from "../../protocol/errors.ts";
import { findOnPath, runCommand } from "../../services/nats/server/command.ts";
import { withFileLock } from "../../services/nats/server/file-lock.ts";
import { cacheFolder } from "../../services/nats/server/user-folders.ts";

/** Prometheus' tool is 1,300 packages: a quarter of an hour where the machine does other things. */
const buildTimeoutMs = 60 * 60_000;
const { env } = process;

/** Path of the executable, or why there is none. */
export type GoProgram = { readonly path: string } | { readonly missing: string };

export interface GoRecipe {
  readonly name: string;
  /** Files of a module of its own, by path. */
  readonly files: Readonly<Record<string, string>>;
  /** Packages with exact versions: a module mirror may have no list of versions to find the latest in. */
  readonly packages: readonly string[];
  /** What is built; the module itself unless given. */
  readonly target?: string;
}

const pathOf = (recipe: GoRecipe): string =>
  join(cacheFolder(env), `${recipe.name}-${shortHash(JSON.stringify(recipe), 12)}`);

/** The program, if it was built before. */
export async function builtBefore(recipe: GoRecipe): Promise<string | undefined> {
  const path = pathOf(recipe);
  return stat(path).then(
    () => path,
    () => undefined,
  );
}

/** Finds the program or builds it, which takes minutes for a large one, once. */
export async function ensureGoProgram(recipe: GoRecipe): Promise<GoProgram> {
  const path = await builtBefore(recipe);
  if (path !== undefined) return { path };
  const [go] = await findOnPath("go", env);
  if (go === undefined) return { missing: `there is no Go to build ${recipe.name} with` };
  const target = pathOf(recipe);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  try {
    await withFileLock({ path: `${target}.lock` }, async () => {
      if ((await builtBefore(recipe)) === undefined) await build(go, recipe, target);
    });
    return { path: target };
  } catch (error) {
    return { missing: `${recipe.name} could not be built: ${describeError(error)}` };
  }
}

async function build(go: string, { files, packages, target = "." }: GoRecipe, path: string) {
  const workDir = await mkdtemp(`${path}-`);
  try {
    await writeFile(join(workDir, "go.mod"), "module scratch\n");
    for (const [name, text] of Object.entries(files)) await writeFile(join(workDir, name), text);
    const own = { ...env, GOFLAGS: "-mod=mod", GOWORK: "off", CGO_ENABLED: "0" };
    const run = (...args: string[]) =>
      runCommand({ file: go, args, env: own, timeoutMs: buildTimeoutMs, cwd: workDir });
    await run("get", ...packages);
    await run("build", "-trimpath", "-ldflags=-s -w", "-o", "program", target);
    await rename(join(workDir, "program"), path); // GB1
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}
