/**
 * Goal: a pinned file says what a server's tools are, keeps what a person decided, and shows what changed.
 * Method: the command as people run it, against the server that misbehaves and a reference server.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PinDocument } from "../../../protocol/documents/pin.ts";
import { mcpTools } from "../../../services/mcp/index.ts";
import { runCli } from "../../support/cli.ts";
import { oddServer, referenceServer } from "../../support/mcp-servers.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-pin-"));
  file = join(folder, "odd.mcp.json");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const mcp = (args: readonly string[], env = {}) => runCli(["mcp", ...args], { env });
const document = (stdout: string): PinDocument => PinDocument.parse(JSON.parse(stdout));

async function pinOdd() {
  const odd = oddServer(folder);
  const { command, args, settings } = odd.server;
  const set = Object.entries(settings).flatMap(([name, value]) => ["--setting", `${name}=${value}`]);
  const words = ["pin", file, "--name", "odd", "--json", ...set, "--env", "CANARY", "--", command, ...args];
  const pinned = await mcp(words, { CANARY: "canary-7f3a9c-2b" });
  expect(pinned).toMatchObject({ code: 0, stderr: "" });
  return { ...odd, pinned: document(pinned.stdout) };
}

test("pin writes the tools with their effects, names secrets and never writes one; the application loads it", async () => {
  const { pinned } = await pinOdd();
  expect(pinned).toMatchObject({
    name: "odd",
    ok: true,
    written: true,
    server: { name: "odd", version: "1" },
  });
  expect(pinned.tools.every(({ change }) => change === "new")).toBe(true);
  expect(pinned.tools.find(({ tool }) => tool === "look")).toMatchObject({
    effect: "read",
    hints: { readOnlyHint: true },
  });
  const text = await readFile(file, "utf8");
  expect(text).toContain('"CANARY"');
  expect(text).not.toContain("canary-7f3a9c-2b");
  const tools = await mcpTools({ pinned: file });
  expect(tools.tool("look")).toMatchObject({ name: "odd_look", effect: "read" });
});

test("check says what changed by its exit code and writes nothing; pin takes it over and keeps a person's effects", async () => {
  const { toolsFile } = await pinOdd();
  const edited = JSON.parse(await readFile(file, "utf8")) as { tools: Record<string, { effect: string }> };
  edited.tools["note"]!.effect = "idempotent";
  edited.tools["look"]!.effect = "once";
  await writeFile(file, JSON.stringify(edited));
  const env = { CANARY: "canary-7f3a9c-2b" };
  expect(await mcp(["check", file], env)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("are those of"),
  });
  const over = {
    note: { description: "Notes better." },
    look: { annotations: {} },
    leak: null,
    pay: { name: "pay_more" },
  };
  await writeFile(toolsFile, JSON.stringify(over));
  const before = await readFile(file, "utf8");
  const checked = await mcp(["check", file, "--json"], env);
  expect(checked.code).toBe(1);
  expect(await readFile(file, "utf8")).toBe(before);
  const changes = document(checked.stdout).tools.filter(({ change }) => change !== "same");
  expect(changes).toMatchObject([
    { tool: "look", change: "changed", what: "its annotations changed", effect: "once" },
    { tool: "note", change: "changed", what: "its description changed", effect: "idempotent" },
    { tool: "pay_more", change: "new", effect: "once" },
    { tool: "leak", change: "gone" },
    { tool: "pay", change: "gone" },
  ]);
  expect(await mcp(["pin", file], env)).toMatchObject({ code: 0 });
  expect(await mcp(["check", file], env)).toMatchObject({ code: 0 });
  const tools = await mcpTools({ pinned: file });
  expect(tools.tool("note")).toMatchObject({ effect: "idempotent", description: "Notes better." });
});

test("a pinned file is pinned again to the same bytes", async () => {
  const { command, args } = referenceServer("filesystem", folder);
  await mcp(["pin", file, "--name", "files", "--", command, ...args]);
  const once = await readFile(file, "utf8");
  await mcp(["pin", file]);
  expect(await readFile(file, "utf8")).toBe(once);
});

test.each([
  ["an action that is none", ["list", "x.json"], /expected pin or check/],
  ["a new file without a server", ["pin", "none.json"], /there is no none.json yet/],
  ["a server without a name", ["pin", "none.json", "--", "node"], /--name NAME is missing/],
  ["a command and a URL", ["pin", "none.json", "--name", "a", "--url", "http://x", "--", "node"], /not both/],
  [
    "a header that holds its secret",
    ["pin", "none.json", "--name", "a", "--url", "http://x", "--header", "Authorization: Bearer abcdef"],
    /names its secret as/,
  ],
  [
    "a header without a colon",
    ["pin", "none.json", "--name", "a", "--url", "http://x", "--header", "abcdef-secret"],
    /--header: expected/,
  ],
  [
    "a setting that is none",
    ["pin", "none.json", "--name", "a", "--setting", "abc", "--", "node"],
    /--setting: expected/,
  ],
])("%s is bad usage, and what was typed is not repeated where it may be a secret", async (_, args, words) => {
  const ended = await mcp(args);
  expect(ended).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(words) });
  expect(ended.stderr).toContain("[USAGE]");
  expect(ended.stderr).not.toContain("abcdef");
});

test("a server that cannot be used, and a file that is none, are told by their codes", async () => {
  const gone = await mcp(["pin", file, "--name", "odd", "--", "/no/such/command"]);
  expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining("[TOOL_UNAVAILABLE]") });
  await writeFile(file, "{}");
  expect(await mcp(["check", file])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("[APP_INVALID]"),
  });
  await expect(mcpTools({ pinned: join(folder, "none.json") })).rejects.toThrow(/APP_INVALID/);
});
