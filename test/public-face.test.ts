/**
 * Goal: what the package opens can be used without its sources. Every export of every sub-path is documented, has one
 * home, and what exported functions give back has a name that can be imported. Method: TypeScript reads the entry files
 * that package.json names, and what they export, as a program that installs the package sees it.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";

const root = path.join(import.meta.dirname, "..");
const { exports: doors } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
  exports: Record<string, Record<string, string>>;
};
const entryOf = (door: string) => path.join(root, doors[door]?.["sagamesh-source"] ?? "");

const program = ts.createProgram(Object.keys(doors).map(entryOf), {
  ...{
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2024,
    strict: true,
    noEmit: true,
    types: ["node"],
  },
  ...{ allowImportingTsExtensions: true, skipLibCheck: true, customConditions: ["sagamesh-source"] },
});
const checker = program.getTypeChecker();

const exportsOf = (door: string): ts.Symbol[] => {
  const file = program.getSourceFile(entryOf(door));
  const symbol = file === undefined ? undefined : checker.getSymbolAtLocation(file);
  return symbol === undefined ? [] : checker.getExportsOfModule(symbol);
};
const meant = (symbol: ts.Symbol): ts.Symbol =>
  (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);

const all = Object.keys(doors).flatMap((door) => exportsOf(door).map((symbol) => ({ door, symbol })));
const open = new Set(all.map(({ symbol }) => meant(symbol)));

const isOwn = (symbol: ts.Symbol): boolean =>
  (symbol.declarations ?? []).some((node) => {
    const file = node.getSourceFile().fileName;
    return file.startsWith(root) && !file.includes("node_modules");
  });

/** The named types of this package that a value of this type is made of, one level deep: promises and lists opened. */
function namedIn(type: ts.Type, seen = new Set<ts.Type>()): ts.Symbol[] {
  if (seen.has(type)) return [];
  seen.add(type);
  const name = type.aliasSymbol ?? type.getSymbol();
  if (
    name !== undefined &&
    isOwn(name) &&
    (name.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias | ts.SymbolFlags.Class)) !== 0
  )
    return [name];
  if (type.isUnionOrIntersection()) return type.types.flatMap((one) => namedIn(one, seen));
  return checker.getTypeArguments(type as ts.TypeReference).flatMap((one) => namedIn(one, seen));
}

/** What the calls of an export give back: its own, and those of the members of what it declares. */
function givenBackBy(symbol: ts.Symbol): ts.Symbol[] {
  const target = meant(symbol);
  const place = target.declarations?.[0];
  if (place === undefined) return [];
  const isType = (target.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.Class)) !== 0;
  const type = isType
    ? checker.getDeclaredTypeOfSymbol(target)
    : checker.getTypeOfSymbolAtLocation(target, place);
  const calls = isType
    ? type
        .getProperties()
        .flatMap((member) => checker.getTypeOfSymbolAtLocation(member, place).getCallSignatures())
    : type.getCallSignatures();
  return calls.flatMap((call) => namedIn(call.getReturnType()));
}

describe.each(Object.keys(doors))("%s", (door) => {
  test("documents every export", () => {
    const names = exportsOf(door);
    expect(names.length).toBeGreaterThan(0);
    const bare = names.filter((symbol) => meant(symbol).getDocumentationComment(checker).length === 0);
    expect(bare.map(({ name }) => name)).toEqual([]);
  });

  test("exports what its functions give back", () => {
    const missing = exportsOf(door).flatMap((symbol) =>
      givenBackBy(symbol)
        .filter((given) => !open.has(given))
        .map((given) => `${symbol.name} gives ${given.name}`),
    );
    expect([...new Set(missing)]).toEqual([]);
  });

  test("is built where its types and its code are said to be", () => {
    const { "sagamesh-source": source = "", types, default: code } = doors[door] ?? {};
    const built = source.replace(/^\.\//, "./dist/").replace(/\.ts$/, "");
    expect([types, code]).toEqual([`${built}.d.ts`, `${built}.js`]);
  });
});

test("a name has one home", () => {
  const homes = Map.groupBy(all, ({ symbol }) => symbol.name);
  const twice = [...homes].filter(([, doorsOf]) => doorsOf.length > 1);
  expect(twice.map(([name, of]) => `${name}: ${of.map(({ door }) => door).join(", ")}`)).toEqual([]);
});
