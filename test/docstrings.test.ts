/**
 * Goal: what the pure folders export can be used without reading how it is made.
 * Method: TypeScript reads every file of the folders listed here; an export without a docstring is named. A schema and
 * the type inferred from it have one name and need one docstring between them. A file's preface is not a docstring.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";

/** Folders that have reached it. Add a folder here once every export in it is explained. */
const folders = [
  "protocol",
  ...["host", "perform", "worker", "suspects", "throttle"].map((folder) => `services/${folder}`),
];

const root = path.join(import.meta.dirname, "..");

it.each(folders)("every export of %s/ has a docstring", (folder) => {
  const missing = sourcesOf(folder).flatMap((file) =>
    undocumented(file).map((name) => `${path.relative(root, file)}: ${name}`),
  );
  expect(missing).toEqual([]);
});

it("an export without a docstring is found, and a file's preface does not stand in for one", () => {
  const source = `/** Preface. */\nexport const first = 1;\nexport type Bare = string;\n/** Told. */\nexport const both = 1;\nexport type both = 1;\n`;
  expect(undocumentedIn(ts.createSourceFile("example.ts", source, ts.ScriptTarget.Latest, true))).toEqual([
    "first",
    "Bare",
  ]);
});

const sourcesOf = (folder: string): string[] =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"))
    .map((file) => path.join(root, folder, file));

const undocumented = (file: string): string[] =>
  undocumentedIn(ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true));

function undocumentedIn(file: ts.SourceFile): string[] {
  const documented = new Map<string, boolean>();
  const exported = new Set(file.statements.filter(isExported).flatMap(namesOf));
  for (const statement of file.statements)
    for (const name of namesOf(statement))
      documented.set(name, (documented.get(name) ?? false) || hasDocstring(statement, file));
  return [...exported].filter((name) => documented.get(name) !== true);
}

const isExported = (statement: ts.Statement): boolean =>
  ts.canHaveModifiers(statement) &&
  (ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false);

function namesOf(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  if (
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement)
  )
    return [statement.name?.text ?? "default"];
  return [];
}

/** The comment at the very top of a file is about the file, also where an export follows at once. */
const hasDocstring = (statement: ts.Statement, file: ts.SourceFile): boolean =>
  ts.getJSDocCommentsAndTags(statement).filter((comment) => comment.getStart(file) > 0).length > 0;
