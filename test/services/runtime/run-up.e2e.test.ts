/**
 * Goal: what a machine logs by XState's `log` is seen by the person who runs `sagamesh up`, once for the turn that said it.
 * Method: the command as a person runs it, killed after the first line, and run again on the same server.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runHere, startCli } from "../../support/cli.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";

let folder: string;
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  // Inside the repository, where the package is found by its name.
  folder = await mkdtemp(fileURLToPath(new URL("../../apps/logging-", import.meta.url)));
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const app = `
import { createMachine, log } from "xstate";
import { z } from "zod";
import { defineApp, defineSaga } from "sagamesh";
const machine = createMachine({
  initial: "shut",
  states: { shut: { entry: log("it is shut"), on: { go: "open" } }, open: { entry: log("it is open"), type: "final" } },
});
const door = defineSaga({ name: "door", version: 1, input: z.object({}), output: z.any(), signals: { go: z.object({}) }, machine });
export default defineApp({ sagas: [door] });
`;

test(
  "up shows what a machine logs, with its saga and definition, and what was shown is not shown again after a crash",
  { timeout: 120_000 },
  async () => {
    const file = join(folder, "app.ts");
    await writeFile(file, app);
    const on = ["--server", server.url, "--data", folder];
    const start = () => startCli(["up", "--app", file, "--no-gateway", ...on]);
    const first = start();
    await first.says("serves door@1");
    await runHere(["start", "door", "--input", "{}", "--id", "d1", ...on]);
    await first.says("d1 (door@1) logs: it is shut", "stderr");
    first.process.kill("SIGKILL"); // Perhaps before the start was acked: then it comes again.
    await first.ended;

    const second = start();
    await second.says("serves door@1");
    await runHere(["signal", "d1", "go", "{}", ...on]);
    const said = await second.says("d1 (door@1) logs: it is open", "stderr");
    second.process.kill("SIGTERM");
    const { code, stderr } = await second.ended;
    expect(code, stderr).toBe(0);
    expect(said).not.toContain("it is shut");
    expect(stderr.match(/it is open/g)).toHaveLength(1);
  },
);
