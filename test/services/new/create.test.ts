/**
 * Goal: a new application is made whole or not at all, and works as it is. Method: `sagamesh new` in folders of its own;
 * the template's own tests run by Node, as `npm test` runs them.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CreatedDocument } from "../../../protocol/documents/process.ts";
import { createApplication } from "../../../services/new/create.ts";
import { runHere } from "../../support/cli.ts";
import { document, expectError } from "../../support/cli-said.ts";

const packageFolder = fileURLToPath(new URL("../../..", import.meta.url));
const made = [".gitignore", "README.md", "agent.test.ts", "agent.ts", "app.ts", "package.json"];
const more = ["script.ts", "tools.ts", "tsconfig.json"];

interface Manifest {
  readonly version: string;
  readonly engines: object;
  readonly dependencies: Record<string, string>;
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-new-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("sagamesh new", () => {
  test("makes the template's files under their own names, and says what to type next", async () => {
    const target = join(folder, "my-agent");
    const said = document(CreatedDocument, await runHere(["new", target, "--json"]));
    expect(said).toMatchObject({ name: "my-agent", folder: target, files: [...made, ...more] });
    expect(said.next).toEqual([expect.stringMatching(/^cd .*my-agent$/), "npm install", "npm start"]);
    expect((await readdir(target)).sort()).toEqual([...made, ...more]);
    expect(await readdir(folder)).toEqual(["my-agent"]); // Nothing is left beside it.
  });

  test("asks for no install where the package is found from the folder", async () => {
    const above = join(folder, "above");
    const own = join(above, "node_modules", "sagamesh");
    await mkdir(own, { recursive: true });
    await writeFile(join(own, "package.json"), `{"name":"sagamesh","exports":"./index.js"}`);
    await writeFile(join(own, "index.js"), "");
    expect(await createApplication({ packageFolder, target: join(above, "one") })).toMatchObject({
      isInstalled: true,
    });
  });

  test("names the package by its folder, with sagamesh and zod in the versions of this one", async () => {
    const target = join(folder, "named");
    await createApplication({ packageFolder, target });
    const read = async (file: string) => JSON.parse(await readFile(file, "utf8")) as Manifest;
    const own = await read(join(packageFolder, "package.json"));
    expect(await read(join(target, "package.json"))).toMatchObject({
      ...{ name: "named", type: "module", private: true, engines: own.engines },
      dependencies: {
        sagamesh: `^${own.version}`,
        zod: `^${own.dependencies["zod"] ?? ""}`,
      },
    });
  });

  test("takes an empty folder, and touches nothing of one that is not", async () => {
    const empty = join(folder, "empty");
    await mkdir(empty);
    await createApplication({ packageFolder, target: empty });
    const full = join(folder, "full");
    await mkdir(full);
    await writeFile(join(full, "mine.txt"), "mine");
    const said = await runHere(["new", full]);
    expectError(said, "USAGE", 2);
    expect(said.stderr).toContain("full is not empty: it has mine.txt");
    expect(await readdir(full)).toEqual(["mine.txt"]);
  });

  test.each(["My-Agent", "_x", "a b", "x".repeat(65)])("refuses the name %s", async (name) => {
    const said = await runHere(["new", join(folder, name)]);
    expectError(said, "USAGE", 2);
    expect(said.stderr).toContain(`"${name}" is no name for a package`);
  });

  test("says so where it may not write, and leaves nothing", async () => {
    const closed = join(folder, "closed");
    await mkdir(closed);
    await writeFile(join(closed, "file"), "");
    const said = await runHere(["new", join(closed, "file", "app")]);
    expectError(said, "USAGE", 2);
    expect(await readdir(closed)).toEqual(["file"]);
  });
});

test("the template's own tests pass under Node's runner", async () => {
  const template = join(packageFolder, "services", "new", "template");
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...env } = process.env;
  const args = ["--conditions=sagamesh-source", "--test"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: template, env });
  expect(stdout).toMatch(/pass 4\n.*fail 0/s);
}, 60_000);
