/**
 * Goal: a person with an old Node is told so in one line. Method: the entry runs in a process that says it is another
 * version, and what the build makes of it is read as the oldest Node reads it; `test/end-to-end/pack.test.ts` runs it on
 * every older Node that the machine has.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

const main = fileURLToPath(new URL("../../../services/cli/main.ts", import.meta.url));
const { engines } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
  engines: { node: string };
};

/** Runs the entry's help as if Node were of this version. */
const runAs = (version: string) =>
  new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const versions = `{ ...process.versions, node: ${JSON.stringify(version)} }`;
    const pretend = `data:text/javascript,Object.defineProperty(process, "versions", { value: ${versions} })`;
    const args = ["--conditions=sagamesh-source", "--import", encodeURI(pretend), main, "--help"];
    const child = execFile(process.execPath, args, (_, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr });
    });
  });

test.each(["12.22.12", "18.20.8", "20.20.2", "22.17.1"])(
  "Node %s is refused in one line",
  async (version) => {
    const { code, stdout, stderr } = await runAs(version);
    const needs = engines.node.replace(">=", "");
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^error: [^\n]+\n$/);
    expect(stderr).toContain(`needs Node ${needs} or newer, and this is Node ${version}`);
  },
);

test.each(["22.18.0", "24.0.0"])("Node %s runs the command", async (version) => {
  expect(await runAs(version)).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining("Usage: "),
  });
});

test("the entry imports nothing before it knows the version, and has no syntax that Node 12 does not know", () => {
  const source = ts.createSourceFile(main, readFileSync(main, "utf8"), ts.ScriptTarget.Latest, true);
  const found = new Set<ts.SyntaxKind>();
  const visit = (node: ts.Node): void => {
    found.add(node.kind);
    node.forEachChild(visit);
  };
  visit(source);
  const tooNew = [
    ...[ts.SyntaxKind.ImportDeclaration, ts.SyntaxKind.ExportDeclaration, ts.SyntaxKind.AwaitExpression],
    ...[ts.SyntaxKind.QuestionDotToken, ts.SyntaxKind.QuestionQuestionToken, ts.SyntaxKind.PrivateIdentifier],
  ];
  expect(tooNew.filter((kind) => found.has(kind)).map((kind) => ts.SyntaxKind[kind])).toEqual([]);
  expect(found).toContain(ts.SyntaxKind.ImportKeyword); // the one of the rest, in time
});
