/**
 * The package as somebody else gets it: packed, installed in a folder of its own, run from JavaScript.
 *
 * Nothing of this repository's sources is on the way there: the application imports "sagamesh" and gets the
 * build. The server's binary is the one the suite has found already.
 */
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const packingMs = 180_000;

const application = `
import { defineApp, defineSaga, defineTool, toActors } from "sagamesh";
import { setup } from "xstate";
import { z } from "zod";

const greet = defineTool({
  name: "greet", description: "Greet.", effect: "read", input: z.object({ who: z.string() }), output: z.string(),
  perform: async ({ who }) => "hello " + who,
});
const machine = setup({ actors: toActors({ greet }) }).createMachine({
  id: "greeting", initial: "greeting", context: ({ input }) => ({ ...input, said: "" }),
  states: {
    greeting: { invoke: { src: "greet", input: ({ context }) => ({ who: context.who }), onDone: "done" } },
    done: { type: "final" },
  },
  output: ({ context }) => context.who,
});
const greeting = defineSaga({ name: "greeting", version: 1, input: z.object({ who: z.string() }), output: z.string(), signals: {}, machine });
export default defineApp({ sagas: [greeting] });
`;

const typedClient = `
import { type App, connect, defineAgent, defineApp, defineTool, type SagaRow, startHost, startWorker, type Tool } from "sagamesh";
import { mcpTools, type McpTools } from "sagamesh/mcp";
import { modelFallback, openaiModel } from "sagamesh/models";
import { callsAtMost, windowedContext } from "sagamesh/policies";
import { runCode } from "sagamesh/sandbox";
import { scriptedModel, testMesh } from "sagamesh/testing";
import { syntacticValidity } from "sagamesh/validators";
import { defineWorkflow } from "sagamesh/workflow";
import { z } from "zod";
const tool: Tool = defineTool({ name: "t", description: "", effect: "read", input: z.object({}), output: z.string(), perform: async () => "x" });
export const names: string = tool.name;
export const files = (): Promise<McpTools> => mcpTools({ name: "files", command: "npx", effects: { write: "idempotent" } });
export const tools = async (): Promise<readonly Tool[]> => [...(await files()), runCode()];
// @ts-expect-error the output is a text
defineTool({ name: "t", description: "", effect: "read", input: z.object({}), output: z.string(), perform: async () => 1 });
const agent = defineAgent({
  name: "a", version: 1, description: "", model: "one", instructions: "", input: z.string(), output: z.string(), signals: {}, tools: [tool],
  policies: [callsAtMost(tool, 1)], context: windowedContext({ messages: 10 }),
});
const workflow = defineWorkflow({
  name: "w", version: 1, input: z.object({}), nodes: { n: { run: tool, pointOfNoReturn: true } },
  validators: { output: [syntacticValidity({ schema: z.string() })] },
});
const models = { one: modelFallback("two"), two: openaiModel({ model: "m", apiKey: "k", baseURL: "http://127.0.0.1:1" }) };
export const app: App = defineApp({ sagas: [agent, workflow], models });
// @ts-expect-error sagas is the one list
defineApp({ agents: [agent] });
export async function embedded(): Promise<readonly SagaRow[]> {
  await using host = await startHost({ app, sagasMax: 10 });
  await using worker = await startWorker({ app, tools: ["t"] });
  await using mesh = await connect();
  const why: string | undefined = (await host.health()).whyNotReady ?? (await worker.health()).whyNotReady;
  const { output } = { output: undefined, ...(await (await mesh.start(agent, "x")).result()) };
  const said: string | undefined = output;
  const spent: number = (await mesh.describe("a-1", { turn: 1, app })).spent.inputTokens;
  return why === said && spent > 0 ? [] : mesh.list({ running: true });
}
export const mesh = () => testMesh(app, { models: { one: scriptedModel("one", () => ({ text: "x" })) } }).list();
`;

/** A program that has host, worker and client in one process; and each sub-path, loaded from the build. */
const embedding = `
import { connect, startHost, startWorker } from "sagamesh";
import app from "./app.mjs";
const dataDir = process.argv[2];
const { exports: doors } = JSON.parse(await (await import("node:fs/promises")).readFile("node_modules/sagamesh/package.json", "utf8"));
const empty = [];
for (const door of Object.keys(doors)) if (Object.keys(await import("sagamesh" + door.slice(1))).length === 0) empty.push(door);
const refused = await startHost({ app, data: dataDir }).catch((error) => error.code);
const host = await startHost({ app, dataDir });
const worker = await startWorker({ app, dataDir });
const mesh = await connect({ dataDir });
const ended = await (await mesh.start(app.config.sagas[0], { who: "ben" }, { id: "ben" })).result();
const rows = await mesh.list({ query: "status=completed" });
const { intents } = await mesh.describe("ben");
await mesh.close();
await Promise.all([host.drain(), worker.drain()]);
const { phase } = await host.health();
await Promise.all([host.stop(), worker.stop()]);
console.log(JSON.stringify({ doors: Object.keys(doors).length, empty, refused, output: ended.output, listed: rows.map((row) => row.saga), intents: intents.length, phase }));
`;

let folder: string;
let data: string;
/** The Node of this run, first on the PATH; none of the caller's mesh, and no condition that names sources. */
const { NODE_OPTIONS: _options, NATS_URL: _url, SAGAMESH_DATA: _data, ...inherited } = process.env;
const env = {
  ...inherited,
  PATH: [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter),
  npm_config_update_notifier: "false",
};

const npx = (...args: string[]) => run("npx", ["sagamesh", ...args], { cwd: folder, env });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-pack-"));
  data = join(folder, "data");
  await run("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: root, env });
  const [tarball = ""] = (await readdir(folder)).filter((name) => name.endsWith(".tgz"));
  await writeFile(
    join(folder, "package.json"),
    JSON.stringify({ name: "somebody-else", private: true, type: "module" }),
  );
  const install = [
    "install",
    "--prefer-offline",
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    "--omit=optional",
    `./${tarball}`,
  ];
  await run("npm", install, { cwd: folder, env });
  await writeFile(join(folder, "app.mjs"), application);
  await mkdir(join(folder, "types"));
  await writeFile(join(folder, "types", "client.ts"), typedClient);
}, packingMs);

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test("the installed command prints its help and its version", async () => {
  await expect(npx("help-me")).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("[USAGE]") });
  expect((await npx("--help")).stdout).toContain("Usage: sagamesh COMMAND");
  expect((await npx("--version")).stdout.trim()).toMatch(/^\d+\.\d+\.\d+$/);
});

test("an application in JavaScript is served by the installed package, and its saga runs to the end", async () => {
  const up = spawn("npx", ["sagamesh", "up", "--app", "app.mjs", "--data", data], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  try {
    await new Promise<void>((resolve, reject) => {
      up.stdout
        .setEncoding("utf8")
        .on("data", (text: string) => text.includes("serves greeting@1") && resolve());
      up.once("exit", (code) => reject(new Error(`up ended with ${code}`)));
    });
    const { stdout } = await npx(
      "start",
      "greeting",
      "--input",
      '{"who":"ana"}',
      "--wait",
      "--json",
      "--data",
      data,
    );
    expect(JSON.parse(stdout)).toMatchObject({ status: "completed", output: "ana" });
    const verified = await npx(
      "verify",
      (JSON.parse(stdout) as { saga: string }).saga,
      "--app",
      "app.mjs",
      "--data",
      data,
    );
    expect(verified.stdout).toContain("fold to the decisions recorded");
  } finally {
    const ended = new Promise((resolve) => up.once("exit", resolve));
    process.kill(-up.pid!, "SIGINT"); // npx and what it runs, as a terminal's Ctrl-C reaches both.
    await ended;
  }
}, 60_000);

test("a program embeds host and worker from the installed package, reads its sagas, and ends by itself", async () => {
  await writeFile(join(folder, "embedding.mjs"), embedding);
  const { stdout } = await run(process.execPath, ["embedding.mjs", join(folder, "embedded")], {
    cwd: folder,
    env,
    timeout: 60_000,
  });
  expect(JSON.parse(stdout)).toEqual({
    doors: 8,
    empty: [],
    refused: "USAGE",
    output: "ben",
    listed: ["ben"],
    intents: expect.any(Number) as number,
    phase: "draining",
  });
}, 70_000);

test("code is run and an MCP server is asked by the installed package", async () => {
  const server = join(root, "node_modules", "@modelcontextprotocol", "server-filesystem", "dist", "index.js");
  const script = `
    import { mcpTools } from "sagamesh/mcp";
    import { runCode } from "sagamesh/sandbox";
    const files = await mcpTools({ name: "files", command: process.execPath, args: [${JSON.stringify(server)}, "."] });
    const context = { key: "k", abort: new AbortController().signal, progress: () => {} };
    const listed = await files.tool("list_directory").body.perform({ path: process.cwd() }, context);
    const ran = await runCode().body.perform({ code: "return 6 * 7" }, context);
    console.log(JSON.stringify([listed.content.includes("app.mjs"), ran.value]));
    process.exit(0);
  `;
  await writeFile(join(folder, "tools.mjs"), script);
  const { stdout } = await run(process.execPath, ["tools.mjs"], { cwd: folder, env });
  expect(JSON.parse(stdout)).toEqual([true, 42]);
}, 60_000);

test("the types of the installed package hold for a strict TypeScript program", async () => {
  const tsc = join(root, "node_modules", ".bin", "tsc");
  const flags = [
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--module",
    "nodenext",
    "--target",
    "esnext",
    join("types", "client.ts"),
  ];
  await expect(run(tsc, flags, { cwd: folder, env })).resolves.toMatchObject({ stdout: "" });
}, 60_000);
