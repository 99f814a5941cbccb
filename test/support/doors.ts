/**
 * Doors: what of the documents is made from the sources. The lines of a folder's README that say what it may import
 * and what may import it, and the map in ARCHITECTURE.md.
 *
 * What is made stands between two marks; the rest of a document is written by people. `npm run doors` writes it.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readLaw, root, sourceFolders, type Allowed, type Row } from "./import-law.ts";

const end = "<!-- /made -->";
const trees = ["protocol", "actors", "services"];

/** A document that holds made lines: its path from the root, its text, and what its text must be. */
export interface Door {
  readonly path: string;
  readonly text: string;
  readonly made: string;
}

/** Every document with made lines, as it is and as it must be. A folder whose README is missing is left out. */
export function readDoors(): readonly Door[] {
  const law = readLaw();
  const folders = law
    .filter(({ folder }) => existsSync(join(root, folder, "README.md")))
    .map((row) => made(`${row.folder}/README.md`, "imports", importLines(row, law)));
  return [...folders, made("ARCHITECTURE.md", "map", mapLines(law))];
}

/** The first paragraph below a README's title, on one line: its folder's one reason. */
export function reasonOf(readme: string): string {
  const [, paragraph = ""] = readme.split(/\n\n+/);
  return paragraph.replaceAll(/\s*\n\s*/g, " ").trim();
}

function made(path: string, mark: string, lines: readonly string[]): Door {
  const text = readFileSync(join(root, path), "utf8");
  const begin = `<!-- made: ${mark} -->`;
  const [before, rest] = split(text, begin);
  const [, after] = split(rest, end);
  const at = text.includes(begin) && text.includes(end);
  return { path, text, made: at ? `${before}${begin}\n\n${lines.join("\n")}\n\n${end}${after}` : "" };
}

function split(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + mark.length)];
}

function importLines(row: Row, law: readonly Row[]): readonly string[] {
  const all = law.map(({ folder }) => folder);
  const names = (folders: readonly string[]) => named(folders, all, row.folder);
  const says = (allowed: Allowed) => [names(allowed.folders), packages(allowed), nodes(allowed)].join("; ");
  return [
    `- may import: ${says(row)}`,
    ...row.exceptions.map(({ files, allowed }) => `- ${quoted(files)} may import: ${says(allowed)}`),
    `- may be imported by: ${names(row.importers)}`,
    ...row.guests.map(({ folder, files }) => `- \`${folder}\` may import of it: ${quoted(files)}`),
  ];
}

/** Folders in as few words as say the same: a whole tree by its name, and a nearly whole one by what it lacks. */
function named(folders: readonly string[], all: readonly string[], self: string): string {
  const words = [...Map.groupBy(folders, (folder) => folder.split("/")[0] ?? "")].flatMap(([tree, named]) => {
    const whole = all.filter((folder) => folder !== self && inTree(folder, tree));
    const lacking = whole.filter((folder) => !named.includes(folder));
    if (whole.length < 2 || !trees.includes(tree) || lacking.length * 3 > whole.length)
      return [quoted(named)];
    return [
      lacking.length === 0 ? `all of \`${tree}\`` : `all of \`${tree}\` but ${quoted(lacking, " and ")}`,
    ];
  });
  return words.length === 0 ? "no folder" : words.join(", ");
}

const inTree = (folder: string, tree: string) => folder === tree || folder.startsWith(`${tree}/`);

/** Paths in backticks: "a, b, c", or with another word before the last. */
function quoted(paths: readonly string[], last = ", "): string {
  const named = paths.flatMap((path) =>
    trees.includes(path) && path !== "protocol" ? filesOf(path) : [path],
  );
  const words = named.map((path) => `\`${path}\``);
  return [words.slice(0, -1).join(", "), words.at(-1) ?? ""].filter((word) => word !== "").join(last);
}

/** A tree's root holds a file or two, which are named themselves: its folders are not meant. */
const filesOf = (tree: string): readonly string[] => sourceFolders().get(tree) ?? [];

const packages = ({ packages: names }: Allowed) =>
  names.length === 0 ? "no package" : names.map((name) => `\`${name}\``).join(", ");

function nodes({ node }: Allowed): string {
  if (node === "all") return "Node's modules";
  return node === "none" ? "no module of Node" : node.map((name) => `\`node:${name}\``).join(", ");
}

/** A line for each folder with its reason in short, under the folder it stands in; what imports least comes first. */
function mapLines(law: readonly Row[]): readonly string[] {
  const height = (folder: string) => law.find((row) => row.folder === folder)?.folders.length ?? 0;
  const known = [...new Set([...trees, ...law.map(({ folder }) => folder)])];
  const under = (parent: string) =>
    known
      .filter((folder) => dirname(folder) === parent)
      .toSorted((one, other) => (parent === "." ? 0 : height(one) - height(other)));
  const lines = (folder: string, indent: string): readonly string[] => [
    `${indent}- [${basename(folder)}](${folder}/README.md): ${shortOf(folder)}`,
    ...under(folder).flatMap((child) => lines(child, `${indent}  `)),
  ];
  return under(".").flatMap((folder) => lines(folder, ""));
}

/** The beginning of a folder's reason: up to the first colon, semicolon or full stop. */
function shortOf(folder: string): string {
  const file = join(root, folder, "README.md");
  const [short = ""] = existsSync(file) ? reasonOf(readFileSync(file, "utf8")).split(/[:.;]( |$)/) : [];
  return `${short.charAt(0).toLowerCase()}${short.slice(1)}`;
}
