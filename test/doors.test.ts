/**
 * The documents and the sources say the same.
 *
 * Every folder with sources has a README at its door, every file and heading that a document names exists, and what a
 * README says of imports is what `.dependency-cruiser.cjs` enforces. A document is read as its reader reads it: a path
 * that begins at the repository's root is one from there, a bare file name is one of the document's own folder.
 */
import { execFile } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { readDoors, reasonOf } from "./support/doors.ts";
import { readLaw, root, type Row, sourceFolders } from "./support/import-law.ts";

const read = (path: string) => readFileSync(join(root, path), "utf8");
const exists = (path: string) => existsSync(join(root, path));

/** A screen: what a person reads before they open the first file. */
const linesMax = 80;

/** Documents about the repository as it is now; CHANGELOG.md is about what it was. */
const documents = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "PORTING.md",
  ...globSync("{protocol,actors,services,deploy,test}/**/README.md", { cwd: root }).sort(),
];

/** A document without its blocks of code. */
const prose = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, "").replaceAll(/^ {4}.*$/gm, "");

const linksOf = (text: string) => [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);

const quotedOf = (text: string) => [...prose(text).matchAll(/`([^`\n]+)`/g)].map(([, word = ""]) => word);

/** What a word in backticks names in this repository, from its root; undefined where it names nothing here. */
function pathOf(word: string, folder: string): string | undefined {
  if (/^(protocol|actors|services|deploy|test)(\/[\w.-]+)*\/?$/.test(word)) return word;
  if (/^\.[\w.-]+\.cjs$/.test(word)) return word;
  if (/^\w[\w.-]*\.(ts|cjs|md)$/.test(word) && folder !== ".") return join(folder, word);
  return undefined;
}

/** Files by their path from the root, wherever they stand: in commands as well. */
const fromRoot = /(?<![\w/.-])(protocol|actors|services|deploy|test)\/[\w./-]+\.(ts|cjs|md)\b/g;

const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, "")
    .trim()
    .replaceAll(/\s/g, "-");

const anchorsOf = (text: string) =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));

/** The links of a document that lead nowhere. */
function brokenLinks(document: string): readonly string[] {
  return linksOf(read(document)).filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [file = "", anchor] = link.split("#");
    const target = file === "" ? document : normalize(join(dirname(document), file));
    if (!exists(target)) return true;
    return anchor !== undefined && !anchorsOf(read(target)).includes(anchor);
  });
}

describe.each(documents)("%s", (document) => {
  test("links only to files and headings that exist", () => {
    expect(brokenLinks(document)).toEqual([]);
  });

  test("names only files and folders that exist", () => {
    const named = quotedOf(read(document)).flatMap((word) => pathOf(word, dirname(document)) ?? []);
    const inCode = [...read(document).matchAll(fromRoot)].map(([path]) => path);
    expect([...named, ...inCode].filter((path) => !exists(path))).toEqual([]);
  });
});

describe("a folder with sources", () => {
  test("has a README at its door, which begins with its one reason and fits on a screen", () => {
    for (const folder of sourceFolders().keys()) {
      const text = exists(`${folder}/README.md`) ? read(`${folder}/README.md`) : "";
      expect(text.split("\n")[0], folder).toBe(`# ${folder}`);
      expect(reasonOf(text).length, folder).toBeGreaterThan(20);
      expect(text.trimEnd().split("\n").length, folder).toBeLessThanOrEqual(linesMax);
    }
  });

  test("says of its invariants and decisions no more than once what another README says", () => {
    const said = new Map<string, string>();
    for (const document of documents)
      for (const [, title = ""] of read(document).matchAll(/^\*\*(.+?)\*\*/gm)) {
        expect(said.get(title), `${title} in ${document}`).toBeUndefined();
        said.set(title, document);
      }
  });

  test("stands alone at its root: services has index.ts there and nothing else", () => {
    expect(sourceFolders().get("services")).toEqual(["services/index.ts"]);
  });
});

describe("what is made of the import law", () => {
  test("stands in every document as `npm run doors` writes it", () => {
    for (const { path, text, made } of readDoors()) expect(text, `${path}: npm run doors`).toBe(made);
  });
});

describe("the import law", () => {
  test("has no circle: nothing that a folder may import can lead back to it", () => {
    const law = new Map(readLaw().map((row) => [row.folder, importsOf(row)]));
    const circles = [...law.keys()].flatMap((folder) => {
      const back = [...(law.get(folder) ?? [])].filter((other) => reached(other, law).has(folder));
      return back.map((other) => `${folder} -> ${other} -> … -> ${folder}`);
    });
    expect(circles).toEqual([]);
  });
});

/** The folders that a folder's files may import, the few that may do more than the others counted in. */
function importsOf({ folder, folders, exceptions }: Row): ReadonlySet<string> {
  const all = [...folders, ...exceptions.flatMap(({ allowed }) => allowed.folders)];
  return new Set(
    all.map((path) => (path.endsWith(".ts") ? dirname(path) : path)).filter((to) => to !== folder),
  );
}

/** Every folder that can be reached from one by imports that are allowed. */
function reached(
  from: string,
  law: ReadonlyMap<string, ReadonlySet<string>>,
  known = new Set<string>(),
): Set<string> {
  if (known.has(from)) return known;
  known.add(from);
  for (const next of law.get(from) ?? []) reached(next, law, known);
  return known;
}

describe("the package", () => {
  test("is imported by the sub-paths that its README lists, and by no other", () => {
    const { exports } = JSON.parse(read("package.json")) as { exports: Record<string, unknown> };
    const listed = [...read("README.md").matchAll(/^\| `sagamesh(\/\w+)?` /gm)].map(
      ([, path]) => `.${path ?? ""}`,
    );
    expect(listed.sort()).toEqual(Object.keys(exports).sort());
  });

  /** The paths that are packed, but for what is built before. */
  const paths = async (): Promise<readonly string[]> => {
    const run = promisify(execFile);
    const { stdout } = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root });
    const [{ files }] = JSON.parse(stdout) as [{ files: readonly { path: string }[] }];
    return files.map(({ path }) => path).filter((path) => !path.startsWith("dist/"));
  };
  let asked: Promise<readonly string[]> | undefined;
  const packedPaths = () => (asked ??= paths());

  test("brings every file that one of its documents links to", async () => {
    const paths = await packedPaths();
    const pages = paths.filter((path) => path.endsWith(".md"));
    expect(pages).toContain("ARCHITECTURE.md");
    const away = pages.flatMap((page) =>
      linksOf(read(page))
        .filter((link) => !/^([a-z]+:|#)/.test(link))
        .map((link) => normalize(join(dirname(page), link.replace(/#.*/, ""))))
        .filter((to) => !paths.some((path) => path === to || path.startsWith(`${to}/`)))
        .map((to) => `${page} -> ${to}`),
    );
    expect(away).toEqual([]);
  });

  test("brings every file that its README names", async () => {
    const paths = await packedPaths();
    const packed = (path: string) => paths.some((file) => file === path || file.startsWith(`${path}/`));
    const readme = read("README.md");
    const links = linksOf(readme).filter((link) => !/^[a-z]+:/.test(link));
    const named = [...links, ...quotedOf(readme).flatMap((word) => pathOf(word, ".") ?? [])];
    expect(named.length).toBeGreaterThan(5);
    expect(named.map((path) => path.replace(/#.*|\/$/, "")).filter((path) => !packed(path))).toEqual([]);
  });
});
