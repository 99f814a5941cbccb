/**
 * Create: a folder with an application to begin with, copied from `services/new/template`.
 */
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { describeError, MeshError } from "../../protocol/errors.ts";

/** What the new application needs of its own, by package and range. */
export interface CreateOptions {
  /** The package's own folder: the template is in it. */
  readonly packageFolder: string;
  /** The folder to be made. */
  readonly target: string;
}

/** What was made. */
export interface Created {
  readonly name: string;
  readonly folder: string;
  /** By their paths in the folder, sorted. */
  readonly files: readonly string[];
  /** The package is found from there already: nothing must be installed before it runs. */
  readonly isInstalled: boolean;
}

/** Files that mean something to npm, Node or TypeScript where they stand in the template have another name there. */
const renamed: Readonly<Record<string, string>> = {
  "manifest.json": "package.json",
  "typescript.json": "tsconfig.json",
  gitignore: ".gitignore",
};

/**
 * Makes the folder, whole or not at all: it is written beside its place and renamed, so a crash in the middle leaves a
 * folder `.<name>-…` that may be deleted. Throws USAGE for a name that npm would not take, for a folder that is not
 * empty, and where it cannot be written.
 */
export async function createApplication({ packageFolder, target }: CreateOptions): Promise<Created> {
  const folder = resolve(target);
  const name = basename(folder);
  assertName(name);
  await assertFree(folder);
  let beside: string | undefined;
  try {
    beside = await mkdtemp(join(dirname(folder), `.${name}-`));
    const made = join(beside, name);
    await cp(join(packageFolder, "services", "new", "template"), made, { recursive: true });
    for (const [from, to] of Object.entries(renamed)) await rename(join(made, from), join(made, to));
    await writeManifest(join(made, "package.json"), name, packageFolder);
    await rename(made, folder);
    const files = (await readdir(folder)).sort();
    return { name, folder, files, isInstalled: findsPackage(folder) };
  } catch (cause) {
    throw new MeshError("USAGE", `new: ${folder} cannot be made: ${describeError(cause)}`, {
      cause,
      remedy: "Run it in a folder that you may write to.",
    });
  } finally {
    if (beside !== undefined) await rm(beside, { recursive: true, force: true });
  }
}

/** What npm takes for a package and every file system for a folder. */
const namePattern = /^[a-z0-9][a-z0-9._-]{0,63}$/;

function assertName(name: string): void {
  if (namePattern.test(name)) return;
  throw new MeshError("USAGE", `new: "${name}" is no name for a package`, {
    remedy: "Use 1 to 64 of a-z, 0-9, dot, - and _, beginning with a letter or digit: sagamesh new my-agent.",
  });
}

async function assertFree(folder: string): Promise<void> {
  const there = await readdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw new MeshError("USAGE", `new: ${folder} is no folder to write to: ${describeError(error)}`);
  });
  const [first, ...more] = there;
  if (first === undefined) return;
  const others = more.length === 0 ? "" : ` and ${more.length} more`;
  throw new MeshError("USAGE", `new: ${folder} is not empty: it has ${first}${others}`, {
    remedy: "Name a folder that does not exist yet, or empty this one.",
  });
}

/** The name, and the packages it imports: this one, and zod in the range that this one uses. */
async function writeManifest(file: string, name: string, packageFolder: string): Promise<void> {
  const own = await readManifest(join(packageFolder, "package.json"));
  const manifest = {
    ...(await readManifest(file)),
    name,
    dependencies: { sagamesh: `^${own.version ?? ""}`, zod: `^${own.dependencies?.["zod"] ?? ""}` },
  };
  await writeFile(file, `${JSON.stringify(manifest, undefined, 2)}\n`);
}

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const readManifest = async (file: string): Promise<Manifest> =>
  JSON.parse(await readFile(file, "utf8")) as Manifest; // Proof: both files are this package's own.

function findsPackage(folder: string): boolean {
  try {
    createRequire(join(folder, "app.ts")).resolve("sagamesh");
    return true;
  } catch {
    return false;
  }
}
