/**
 * Goal: `sagamesh check` takes files as people have them: nothing in them is started, what keeps them from loading is told with its
 * way out, and the application file that it writes compiles and loads (XV1, XV2, KG1).
 * Method: files in a folder of their own, and the command as a process of its own, for it changes how modules are found.
 */
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CheckDocument } from "../../../protocol/documents/check.ts";
import app from "../../fixtures/check/lending-app.ts";
import { runCli } from "../../support/cli.ts";
import { document, expectError } from "../../support/cli-said.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-check-"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  await mkdir(join(folder, "node_modules"));
  await symlink(join(root, "node_modules/xstate"), join(folder, "node_modules/xstate"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const check = (...words: string[]) => runCli(["check", ...words], { cwd: folder });
async function fileOf(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  return name;
}

const lending = await readFile(join(root, "test/fixtures/check/lending.ts"), "utf8");
const started = `
import { createActor } from "xstate";
const actor = createActor(lending, { input: { book: "b" } });
actor.subscribe((snapshot) => console.log(snapshot.value));
actor.start();
actor.send({ type: "hold", by: "ana" });
await new Promise(() => {});
`;

describe("a file that starts its machine", () => {
  test("has it looked at and not started, and is told to start it elsewhere", async () => {
    const said = await check(await fileOf("starts.ts", lending + started), "--json");
    const { machines, changes } = document(CheckDocument, said);
    expect(changes).toEqual([expect.stringMatching(/^it starts an actor/)]);
    expect(machines).toMatchObject([
      { export: "lending", verdict: "wrap", signals: [{ name: "hold", members: ["by"] }], input: ["book"] },
    ]);
    expect(said.code).toBe(1);
    await expect(readFile(join(folder, "ran"))).rejects.toThrow(/ENOENT/);
  });

  test("is played with the input and the data that the file gives", async () => {
    const { machines } = document(
      CheckDocument,
      await check("starts.ts", "--run", "--events", "hold", "--json"),
    );
    expect(machines[0]?.walks).toMatchObject([
      [{ states: ["asking", "waiting"] }, { sent: "hold", ended: "completed" }],
    ]);
  });

  test("is found by it where it is not exported", async () => {
    const text = `import { createActor, createMachine } from "xstate";\ncreateActor(createMachine({ id: "hidden" })).start();`;
    const { machines, changes } = document(
      CheckDocument,
      await check(await fileOf("hidden.js", text), "--json"),
    );
    expect(machines.map(({ id, export: name }) => [id, name])).toEqual([["hidden", undefined]]);
    expect(changes[0]).toMatch(/"hidden" is not exported/);
  });
});

test("what it writes is the file that compiles with this repository and loads, and its machine is played through", async () => {
  await fileOf("lending.ts", lending);
  const said = await check("lending.ts", "--write", "app.ts", "--run", "--json");
  expect(said.code).toBe(0);
  const { machines, written } = document(CheckDocument, said);
  expect(written).toBe(join(folder, "app.ts"));
  expect(machines[0]?.unreached).toEqual([]);
  expect(await readFile(join(folder, "app.ts"), "utf8")).toBe(
    await readFile(join(root, "test/fixtures/check/lending-app.ts"), "utf8"),
  );
  expect([...app.tools.values()].map(({ name }) => name).sort()).toEqual([
    "lending-inner__deep",
    "lending__getStatus",
  ]);
  expectError(await check("lending.ts", "--write", "app.ts"), "USAGE", 2);
});

test("what its text makes anew each time the file is loaded is told with its place: each process would have another machine", async () => {
  const text = `
import { createMachine } from "xstate";
export const clock = createMachine({ id: "clock", initial: "a", context: { id: crypto.randomUUID(), n: 1 }, states: { a: { meta: { at: performance.now() } } } });
export const still = createMachine({ id: "still", context: { n: 1 } });
`;
  const said = await check(await fileOf("loaded.ts", text), "--json");
  const { machines } = document(CheckDocument, said);
  expect(machines.map(({ id, verdict, impure }) => [id, verdict, impure.map(({ where }) => where)])).toEqual([
    ["clock", "change", ["context.id", "states.a.meta.at"]],
    ["still", "ready", []],
  ]);
  expect(said.code).toBe(1);
});

describe("a file that cannot be taken", () => {
  test.each<[string, string, RegExp]>([
    ["an enum", `export enum Colour { Red }`, /enums as/],
    ["a module without its ending", `import "./lending"; export {};`, /write \.\/file\.ts/],
    ["a package that is not installed", `import "no-such-package"; export {};`, /npm install/],
    [
      "a type that is imported as a value",
      `import { AnyStateMachine } from "xstate"; export {};`,
      /import \{ type Name \}/,
    ],
    ["no machine", `export const machine = { id: "m" };`, /have it export it/],
    ["a line that throws", `throw new Error("broken");`, /node FILE/],
  ])("%s", async (_, text, remedy) => {
    const said = await check(await fileOf("bad.ts", text));
    expectError(said, "MACHINE_FILE_INVALID", 1);
    expect(said.stderr).toMatch(remedy);
  });

  test("one in a folder whose modules are CommonJS, as `npm init` makes it: the line that changes that is said", async () => {
    await mkdir(join(folder, "common"));
    await fileOf("common/package.json", JSON.stringify({ name: "common", type: "commonjs" }));
    for (const [name, text] of [
      ["common/machine.ts", lending],
      ["common/app.js", `import { a } from "./a.js"; export default a;`],
      ["common/outer.mts", `import { lending } from "./machine.ts"; export default lending;`],
    ] as const)
      await fileOf(name, text);
    const remedy = /package\.json of \S+common says "type": "commonjs".*npm pkg set type=module/;
    for (const file of ["common/machine.ts", "common/outer.mts"]) {
      const said = await check(file);
      expectError(said, "MACHINE_FILE_INVALID", 1);
      expect(said.stderr).toMatch(remedy);
    }
    const served = await runCli(["graph", "--app", "common/app.js"], { cwd: folder });
    expect(served.code).toBe(1);
    expect(served.stderr).toContain("error: [APP_INVALID]"); // Node has a warning of its own above it.
    expect(served.stderr).toMatch(remedy);
  });

  test("one that is not there, and an export that it has not", async () => {
    expectError(await check("nowhere.ts"), "FILE_UNREADABLE", 1);
    await fileOf("lending.ts", lending);
    expectError(await check("lending.ts", "--export", "lend"), "USAGE", 2);
  });
});
