/**
 * Import law: `.dependency-cruiser.cjs` read as folders. Which folder may import which, and which may import it.
 *
 * The rules are asked, not the table they are made of: a rule that stands beside the table counts as well.
 */
import { globSync } from "node:fs";
import { createRequire, builtinModules } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's own folder. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** One rule, as far as imports between files are judged by it. */
interface Rule {
  readonly from: { readonly path?: Pattern; readonly pathNot?: Pattern };
  readonly to: {
    readonly path?: Pattern;
    readonly pathNot?: Pattern;
    readonly dependencyTypes?: readonly string[];
    readonly dependencyTypesNot?: readonly string[];
    readonly circular?: boolean;
    readonly couldNotResolve?: boolean;
  };
}

type Pattern = string | readonly string[];

/** What the files of a folder may import beside the folder itself. Folders as paths from the root. */
export interface Allowed {
  readonly folders: readonly string[];
  readonly packages: readonly string[];
  /** Every module of Node, none, or these. */
  readonly node: "all" | "none" | readonly string[];
}

/** A folder's row: what its files may import, and, by the names of the files, where one of them may do otherwise. */
export interface Row extends Allowed {
  readonly folder: string;
  readonly importers: readonly string[];
  /** Folders that may import some files of this one, and which. */
  readonly guests: readonly { readonly folder: string; readonly files: readonly string[] }[];
  readonly exceptions: readonly { readonly files: readonly string[]; readonly allowed: Allowed }[];
}

const require = createRequire(import.meta.url);

/** The folders of the product with sources of their own, and their files, in the order of their paths. */
export function sourceFolders(): ReadonlyMap<string, readonly string[]> {
  const files = globSync("{protocol,actors,services,deploy}/**/*.ts", { cwd: root })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => !file.startsWith("services/new/template/")) // a user's folder, not one of ours
    .sort();
  return Map.groupBy(files, dirname);
}

/** The row of every folder, read from the configuration as it is on disk. */
export function readLaw(): readonly Row[] {
  const { forbidden } = require(join(root, ".dependency-cruiser.cjs")) as { forbidden: readonly Rule[] };
  const rules = forbidden.filter(
    ({ to }) =>
      to.circular === undefined && to.couldNotResolve === undefined && to.dependencyTypes === undefined,
  );
  const { dependencies } = require(join(root, "package.json")) as { dependencies: Record<string, string> };
  const folders = sourceFolders();
  const rows = [...folders].map(([folder, files]) => {
    const [[, usual], ...others] = byAllowance(files, (file) =>
      allowedTo(file, { rules, folders, folder, packages: Object.keys(dependencies) }),
    );
    const exceptions = others.map(([names, allowed]) => ({ files: names, allowed }));
    return { folder, ...usual, exceptions };
  });
  return rows.map((row) => ({
    ...row,
    importers: importersOf(row.folder, rows),
    guests: guestsOf(row.folder, rows),
  }));
}

interface World {
  readonly rules: readonly Rule[];
  readonly folders: ReadonlyMap<string, readonly string[]>;
  readonly folder: string;
  readonly packages: readonly string[];
}

type Group = readonly [files: readonly string[], allowed: Allowed];

/** The files that may import the same, the largest group first. */
function byAllowance(
  files: readonly string[],
  allowed: (file: string) => Allowed,
): readonly [Group, ...Group[]] {
  const groups = Map.groupBy(files, (file) => JSON.stringify(allowed(file)));
  const sorted = [...groups].sort(([, one], [, other]) => other.length - one.length);
  return sorted.map(([text, names]): Group => [names, JSON.parse(text) as Allowed]) as unknown as [
    Group,
    ...Group[],
  ];
}

function allowedTo(file: string, { rules, folders, folder, packages }: World): Allowed {
  const speaking = rules.filter(
    ({ from }) => matches(from.path, file, true) && !matches(from.pathNot, file, false),
  );
  const may = (to: string, core = false) => !speaking.some((rule) => forbids(rule, to, core));
  const node = builtinModules.filter((name) => !name.startsWith("_") && may(name, true));
  return {
    folders: [...folders].flatMap(([other, files]) => {
      const open = other === folder ? [] : files.filter((target) => may(target));
      return open.length === files.length ? [other] : open;
    }),
    packages: packages.filter((name) => may(`node_modules/${name}/index.js`)),
    node: node.length === 0 ? "none" : node.length > 10 ? "all" : node,
  };
}

/** True if the rule refuses this target: a path from the root, or the name of a module of Node. */
function forbids({ to }: Rule, target: string, core: boolean): boolean {
  if (core && to.dependencyTypesNot?.includes("core")) return false;
  return matches(to.path, target, true) && !matches(to.pathNot, target, false);
}

function matches(patterns: Pattern | undefined, path: string, absent: boolean): boolean {
  return patterns === undefined ? absent : compile(patterns).test(path);
}

/** Compiled once for each pattern: every file is held against every other. */
const compiled = new Map<Pattern, RegExp>();

function compile(patterns: Pattern): RegExp {
  const known = compiled.get(patterns);
  if (known !== undefined) return known;
  const made = new RegExp(
    [patterns]
      .flat()
      .map((pattern) => `(?:${pattern})`)
      .join("|"),
  );
  compiled.set(patterns, made);
  return made;
}

type Bare = Omit<Row, "importers" | "guests">;

function guestsOf(folder: string, rows: readonly Bare[]): Row["guests"] {
  return rows.flatMap((row) => {
    const files = row.folders.filter((path) => path.endsWith(".ts") && dirname(path) === folder);
    return files.length === 0 ? [] : [{ folder: row.folder, files }];
  });
}

function importersOf(folder: string, rows: readonly Bare[]): readonly string[] {
  const open = (allowed: Allowed) => allowed.folders.includes(folder);
  return rows.flatMap((row) => {
    if (row.folder === folder) return [];
    if (open(row)) return [row.folder];
    return row.exceptions.filter(({ allowed }) => open(allowed)).flatMap(({ files }) => files);
  });
}
