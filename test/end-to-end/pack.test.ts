/**
 * The package as somebody else gets it: packed, installed in a folder of its own, run from JavaScript.
 *
 * Nothing of this repository's sources is on the way there: the application imports "sagamesh" and gets the
 * build. The server's binary is the one the suite has found already.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access, constants, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { codeOf, earlyCommands, exitEarly, exitMsMax, writeEarlyApps } from "../support/early-exits.ts";
import { installPacked, packedEnv } from "../support/packed.ts";
import { startTestServer } from "../support/nats-server.ts";
import { follow, stepsOf } from "../support/tour.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const packingMs = 300_000;

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
let main: string;
const env = packedEnv;

const npx = (...args: string[]) => run("npx", ["sagamesh", ...args], { cwd: folder, env });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-pack-"));
  data = join(folder, "data");
  main = await installPacked(folder);
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

test("no command that ends early hangs, or has to be killed", async () => {
  const early = join(folder, "early");
  await mkdir(early);
  await writeEarlyApps(early);
  for (let round = 0; round < 3; round++)
    for (const command of earlyCommands) {
      const ended = await exitEarly(main, early, command);
      expect(ended).toMatchObject({ command, code: codeOf(command), signal: null, isForced: false });
      expect(ended.exitMs, command).toBeLessThan(exitMsMax);
    }
}, 120_000);

test("a host loads few files of the package, and a thread of it not the host's", async () => {
  const server = await startTestServer();
  const file = join(folder, "modules");
  const record = new URL("../support/record-modules.ts", import.meta.url);
  const words = [main, "host", "--app", "app.mjs", "--server", server.url];
  const host = spawn(process.execPath, words, {
    cwd: folder,
    env: { ...env, MODULES_FILE: file, NODE_OPTIONS: `--import=${record.href}` },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    for await (const text of host.stdout) if (String(text).includes("serves greeting@1")) break;
    host.kill("SIGTERM");
    await once(host, "exit");
    const loaded = (await readFile(file, "utf8")).split("\n").filter((url) => /\/sagamesh\/dist\//.test(url));
    expect(loaded.length).toBeGreaterThan(3);
    expect(loaded.length).toBeLessThan(25); // Of 458 files of the sources.
    const watch = join(folder, "node_modules/sagamesh/dist/services/runtime/holds-thread.js");
    expect(await readFile(watch, "utf8")).not.toContain("parts/host.js");
  } finally {
    host.kill("SIGKILL");
    await server.stop();
  }
});

test("a folder that installs the package keeps its own Node", async () => {
  const brought = (await readdir(join(folder, "node_modules"))).filter((name) => /^node(-|$)/.test(name));
  expect(brought.filter((name) => !name.startsWith("node-gyp"))).toEqual([]);
  await expect(access(join(folder, "node_modules", ".bin", "node"))).rejects.toThrow("ENOENT");
});

test("on every older Node of this machine, the installed command says in one line what it needs", async () => {
  for (const node of await oldNodes()) {
    const said = await run(node, [main, "--version"], { env }).catch((error: unknown) => error);
    expect(said).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: sagamesh needs Node [^\n]+\n$/),
    });
  }
});

/** Each `node` on the PATH that is older than the package allows. */
async function oldNodes(): Promise<readonly string[]> {
  const found: string[] = [];
  for (const place of (process.env["PATH"] ?? "").split(delimiter)) {
    const node = join(place, "node");
    const isThere = await access(node, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!isThere) continue;
    const [major = 0, minor = 0] = (await run(node, ["--version"])).stdout.slice(1).split(".").map(Number);
    if (major < 22 || (major === 22 && minor < 18)) found.push(node);
  }
  return found;
}

test("an application in JavaScript is served by the installed package, and its saga runs to the end", async () => {
  const up = spawn("npx", ["sagamesh", "up", "--app", "app.mjs", "--data", data, "--console-port", "0"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  try {
    const console = await new Promise<string>((resolve, reject) => {
      let said = "";
      up.stdout.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        const [, url] = /look at it at (http:\S+)/.exec(said) ?? [];
        if (url !== undefined && said.includes("serves greeting@1")) resolve(url);
      });
      up.once("exit", (code) => reject(new Error(`up ended with ${code}`)));
    });
    const page = await (await fetch(console)).text();
    const [, script = ""] = /src="(\/assets\/[^"]+\.js)"/.exec(page) ?? [];
    expect((await fetch(`${console}${script}`)).headers.get("content-type")).toContain("javascript");
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
    const asked = await npx(
      "query",
      "select status, count(*) from sagas group by 1",
      "--csv",
      "--data",
      data,
    );
    expect(asked.stdout).toContain("completed,1");
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

test("a new application runs where the package was installed, and all that its README says happens", async () => {
  const server = await startTestServer();
  try {
    const said = JSON.parse((await npx("new", "my-agent", "--json")).stdout) as {
      folder: string;
      next: string[];
    };
    expect(said.next).toEqual(["cd my-agent", "npm start"]);
    const steps = stepsOf(await readFile(join(said.folder, "README.md"), "utf8"));
    const own = { ...env, SAGAMESH_DATA: join(folder, "tour") };
    const typed = await follow(steps, {
      folder: said.folder,
      env: own,
      instead: { "nats://10.0.0.5:4222": server.url },
    });
    const chapters = ["", "2. Money", "3. A signal", "4. A crash", "5. A changed prompt", "6. Two machines"];
    for (const chapter of chapters)
      expect(
        typed.some((one) => one.chapter.startsWith(chapter)),
        chapter,
      ).toBe(true);
    const paid = (await readFile(join(said.folder, "bank.txt"), "utf8")).trim().split("\n");
    const asked = paid.map((line) => /for (o-\d), under the key ([\w-]+)\./.exec(line)?.slice(1).join(" "));
    expect(asked).toEqual([
      "o-1 first-1",
      "o-2 big-1",
      "o-3 late-1",
      "o-3 crash-1",
      "o-3 old-1",
      "o-1 far-1",
    ]);
  } finally {
    await server.stop();
  }
}, 240_000);

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
