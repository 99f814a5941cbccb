/**
 * Goal: the API reference has all that the package opens, in the words of the sources, and each of its links leads to a
 * heading that is there. Method: it is made anew, and held against what TypeScript reads of the same entry files.
 */
import { execFile } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = path.join(import.meta.dirname, "../..");
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "sagamesh-reference-"));
  await promisify(execFile)("npx", ["typedoc", "--out", folder], { cwd: root });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const read = (page: string) => readFileSync(path.join(folder, page), "utf8");

/** The anchors of a page. */
const anchorsOf = (page: string): ReadonlySet<string> =>
  new Set([...read(page).matchAll(/<a id="([^"]+)">/g)].map(([, anchor = ""]) => anchor));

const pages = () => globSync("**/*.md", { cwd: folder });

/** Links of the pages that lead nowhere, `page -> link`. */
function deadLinks(): readonly string[] {
  const anchors = new Map(pages().map((page) => [page, anchorsOf(page)]));
  return pages().flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = ""]) => link)
      .filter((link) => {
        if (/^https?:/.test(link)) return false;
        const [file = "", anchor] = link.split("#");
        const target = file === "" ? page : path.normalize(path.join(path.dirname(page), file));
        if (!existsSync(path.join(folder, target))) return true;
        return anchor !== undefined && anchors.get(target)?.has(anchor) !== true;
      })
      .map((link) => `${page} -> ${link}`),
  );
}

test("no link of the reference is dead", () => {
  expect(pages().length).toBeGreaterThan(8);
  expect(deadLinks()).toEqual([]);
});

test("every export of every import has a heading, and below it the words of its docstring", () => {
  const { exports: doors } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
    exports: Record<string, Record<string, string>>;
  };
  const entryOf = (door: string) => path.join(root, doors[door]?.["sagamesh-source"] ?? "");
  const program = ts.createProgram(Object.keys(doors).map(entryOf), {
    ...{ module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2024, strict: true, noEmit: true },
    ...{ allowImportingTsExtensions: true, skipLibCheck: true, customConditions: ["sagamesh-source"] },
  });
  const checker = program.getTypeChecker();
  const missing = Object.keys(doors).flatMap((door) => {
    const page = read(`${path.join("sagamesh", door)}.md`);
    const source = program.getSourceFile(entryOf(door));
    const symbol = source === undefined ? undefined : checker.getSymbolAtLocation(source);
    const all = symbol === undefined ? [] : checker.getExportsOfModule(symbol);
    expect(all.length, door).toBeGreaterThan(0);
    return all
      .filter((one) => !isTold(page, one, checker))
      .map(({ name }) => `${path.join("sagamesh", door)}: ${name}`);
  });
  expect(missing).toEqual([]);
}, 60_000);

/** The page has the export's heading, and between that and the next of its rank the beginning of its docstring. */
function isTold(page: string, one: ts.Symbol, checker: ts.TypeChecker): boolean {
  const target = (one.flags & ts.SymbolFlags.Alias) === 0 ? one : checker.getAliasedSymbol(one);
  const said = ts.displayPartsToString(target.getDocumentationComment(checker));
  const words = said.split(/[^\p{L}]+/u).filter((word) => word !== "");
  const sections = page
    .split(/^### /m)
    .filter((section) => new RegExp(`^(abstract )?${one.name}(\\(\\))?\\n`).test(section));
  return sections.some((section) => {
    const got = section.split(/[^\p{L}]+/u).filter((word) => word !== "");
    return ` ${got.join(" ")} `.includes(` ${words.slice(0, 6).join(" ")} `);
  });
}
