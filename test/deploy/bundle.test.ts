/**
 * Goal: what the sources find beside themselves is found in the package, too, whose files are others.
 * Method: the sources are searched for what asks where it is, and the bundle's list for each file that is started by its name.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const sources = ["protocol", "actors", "services"].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name)),
);
const textOf = (file: string): string => readFileSync(file, "utf8");

/** Those that may ask where they are, and why that is the same in the package. */
const mayAsk: Readonly<Record<string, string>> = {
  "services/process/own-file.ts": "as deep as the file that the package has it in",
  "services/runtime/version.ts": "goes up until there is a package.json",
  "services/check/read.ts": "any place in the package finds its packages",
  "services/host/twice.ts":
    "leaves lines of its own file out of a stack, and in the package those of its neighbours, too",
};

test("no source but these asks where it is: another finds its files by `ownFile`", () => {
  const asking = sources.filter((file) =>
    textOf(file)
      .split("\n")
      .some((line) => line.includes("import.meta") && !/^\s*(\*|"|`)/.test(line)),
  );
  expect(asking.sort()).toEqual(Object.keys(mayAsk).sort());
});

test("each file that is started by its name has a file of its own in the package", () => {
  const bundle = textOf("deploy/bundle.ts");
  const named = sources.flatMap((file) =>
    [...textOf(file).matchAll(/ownFile\("([^"]+)"\)/g)].map(([, path = ""]) => path),
  );
  expect(named.length).toBeGreaterThan(4);
  expect(named.filter((path) => !bundle.includes(`"${path}"`))).toEqual([]);
});
