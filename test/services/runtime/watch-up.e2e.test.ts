/**
 * Goal: `up --watch` serves what the files say now: what cannot be loaded replaces nothing (UW1), sagas of a changed
 * definition move where the proof holds, and the process that serves ends with the one that watches (GQ2).
 *
 * Method: the command as a person runs it, in a folder of its own whose files are written anew.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ServingDocument } from "../../../protocol/documents/process.ts";
import { runCli, startCli } from "../../support/cli.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";

let folder: string;
let env: Record<string, string>;
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  env = { NATS_URL: server.url };
  // Inside the repository, where the package is found by its name.
  folder = await mkdtemp(fileURLToPath(new URL("../../apps/watched-", import.meta.url)));
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const file = () => join(folder, "app.ts");
const write = (name: string, text: string) => writeFile(join(folder, name), text);

/** A door that rests in a state of a name of its own, and a gate that opens by a tool. */
const app = `
import { setup } from "xstate";
import { z } from "zod";
import { defineApp, defineSaga, defineTool, toActors } from "sagamesh";
import { rests, opens } from "./words.ts";
const tool = (name) => defineTool({
  name, description: "Opens.", effect: "idempotent", placement: "host", input: z.object({}), output: z.object({}),
  perform: async () => ({}),
});
const saga = (name, machine) => defineSaga({ name, version: 1, input: z.object({}), output: z.any(), signals: { go: z.object({}) }, machine });
const door = setup({}).createMachine({ initial: rests, states: { [rests]: { on: { go: "done" } }, done: { type: "final" } } });
const gate = setup({ actors: toActors({ open: tool(opens) }) }).createMachine({
  initial: "opening",
  states: { opening: { invoke: { src: "open", input: {}, onDone: "shut" } }, shut: { on: { go: "done" } }, done: { type: "final" } },
});
export default defineApp({ sagas: [saga("door", door), saga("gate", gate)] });
`;
const words = (rests: string, opens: string) =>
  `export const rests = "${rests}";\nexport const opens = "${opens}";\n`;

test(
  "what the files say is served once they change, sagas go on under it where they can, and a broken file replaces nothing",
  { timeout: 120_000 },
  async () => {
    await write("app.ts", app);
    await write("words.ts", words("resting", "book"));
    const run = (...args: string[]) => runCli(args, { env });
    const up = startCli(["up", "--app", file(), "--watch", "--no-gateway"], { env });
    try {
      await up.says("serves door@1, gate@1");
      await run("start", "door", "--input", "{}", "--id", "d1");
      await run("start", "gate", "--input", "{}", "--id", "g1");
      await expect
        .poll(async () => (await run("inspect", "g1")).stdout, { timeout: 20_000 })
        .toContain("succeeded");

      await write("words.ts", words("asleep", "book"));
      await up.says(/words\.ts changed/, "stderr");
      await up.says("1 saga moved to what the file says now: d1", "stderr");

      await write("words.ts", "export const rests = ;\n");
      const broken = await up.says(/not served: .*the one before goes on/, "stderr");
      const [line = ""] = broken.split("\n").filter((one) => one.includes("not served"));
      expect(line).toContain("app.ts");
      expect(line).toContain("words.ts");
      const started = await run("start", "door", "--input", "{}", "--id", "d2");
      expect(started.code).toBe(0);

      await write("words.ts", words("asleep", "look"));
      await up.says(/g1 stays under gate@1#\w+: turn 1: .*book/, "stderr");
      await up.says("raise the version", "stderr");
      for (const id of ["d1", "d2"]) await run("signal", id, "go", "{}");
      await expect
        .poll(async () => (await run("ls")).stdout, { timeout: 20_000 })
        .toMatch(/d1 .*completed[^]*d2 .*completed|d2 .*completed[^]*d1 .*completed/);
    } finally {
      up.process.kill("SIGTERM");
    }
    const ended = await up.ended;
    expect(ended.code, ended.stderr).toBe(0);
  },
);

test("a process that serves ends when the one that watches is killed", { timeout: 60_000 }, async () => {
  await write("app.ts", app);
  await write("words.ts", words("asleep", "look"));
  const up = startCli(["up", "--app", file(), "--watch", "--no-gateway", "--json"], { env });
  const said = await up.says(/"pid":\d+.*\n/);
  const { pid } = ServingDocument.parse(JSON.parse(said.split("\n")[0] ?? ""));
  expect(pid).not.toBe(up.process.pid);
  const lives = () => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  expect(lives()).toBe(true);
  up.process.kill("SIGKILL");
  await expect.poll(lives, { timeout: 20_000 }).toBe(false);
});
