/**
 * Goal: the repository brings its own Node, and the package brings nobody one. Method: what npm wrote down is read.
 */
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";

interface Manifest {
  readonly dependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly bin?: Record<string, string>;
}
const read = <T>(file: string) =>
  JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")) as T;

const { packages } = read<{ packages: Record<string, Manifest> }>("package-lock.json");
const nodes = Object.keys(read<Manifest>("deploy/node/package.json").optionalDependencies ?? {});

test("a package that brings a node is one of this list, for development only, and passed over where it does not fit", () => {
  const bringing = Object.entries(packages).filter(([, { bin }]) => bin?.["node"] !== undefined);
  expect(bringing.map(([path]) => path.replace("node_modules/", "")).sort()).toEqual([...nodes].sort());
  for (const [path, { dev, optional }] of bringing) expect([path, dev, optional]).toEqual([path, true, true]);
});

test("the package itself depends on no node and has nothing optional", () => {
  const { dependencies = {}, optionalDependencies } = read<Manifest>("package.json");
  expect(optionalDependencies).toBeUndefined();
  expect(Object.keys(dependencies).filter((name) => /^node(-|$)/.test(name))).toEqual([]);
});

test("the Node of these tests is the one that `npm ci` brought, where there is one for the platform", () => {
  const own = nodes.filter((name) => name.endsWith(`${process.platform}-${process.arch}`));
  if (own.length > 0) expect(dirname(process.execPath)).toContain("node_modules");
});
