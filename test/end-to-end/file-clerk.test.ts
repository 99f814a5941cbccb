/**
 * The file clerk (test/examples/file-clerk.ts) on a real server: host and workers are processes, the tools are those of
 * the reference MCP server for files, and the worker is killed by SIGKILL in the middle of its one write.
 *
 * Method: the worker kills itself at a named point; another takes its place. Whether the file was written, and how
 * often, is read from the disk: that server writes a new file each time, so a second write would change its inode.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { EndDocument } from "../../protocol/documents/saga.ts";
import { type RunningCli, runCli, startCli } from "../support/cli.ts";
import { startTestServer, type TestServer } from "../support/nats-server.ts";
import { until } from "../support/real-mesh.ts";
import { type SpawnedProcess, spawnProcess } from "../support/spawn-process.ts";

const app = "test/examples/file-clerk.ts";
let server: TestServer;
let folder: string;
let running: RunningCli[];
let workers: SpawnedProcess[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-clerk-"));
  await mkdir(join(folder, "in"));
  await writeFile(join(folder, "in", "letter-1.txt"), "the tea");
  await writeFile(join(folder, "in", "letter-2.txt"), "the biscuits");
  server = await startTestServer();
  running = [];
  workers = [];
});

afterEach(async () => {
  for (const { process: child } of running) child.kill("SIGKILL");
  for (const worker of workers) worker.kill();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const env = () => ({ CLERK_FOLDER: folder });
const command = async (role: "host" | "worker") => {
  const started = startCli([role, "--app", app, "--server", server.url], { env: env() });
  running.push(started);
  await started.says(role === "host" ? "serves file-clerk@1" : "performs files_");
  return started;
};
const doomed = async (kill: string) => {
  const worker = spawnProcess("mcp-worker-process", {
    ...env(),
    MESH_URL: server.url,
    MESH_APP: app,
    MESH_KILL: kill,
  });
  workers.push(worker);
  await worker.serves;
  return worker;
};
const answerFile = () => join(folder, "in", "answer.txt");

/** Starts the clerk; its end once it has ended. */
async function ask(): Promise<() => Promise<EndDocument>> {
  const input = JSON.stringify({ folder: join(folder, "in") });
  const at = ["--server", server.url];
  const started = await runCli(["start", "file-clerk", "--input", input, "--id", "clerk-1", ...at]);
  expect(started.stderr).toBe("");
  return async () => {
    const ended = await runCli([
      "start",
      "file-clerk",
      "--input",
      input,
      "--id",
      "clerk-1",
      "--wait",
      "--json",
      ...at,
    ]);
    return EndDocument.parse(JSON.parse(ended.stdout));
  };
}

test("without harm the answer is written once", async () => {
  await Promise.all([command("host"), command("worker")]);
  const end = await (await ask())();
  expect(end).toMatchObject({ status: "completed", output: { read: 2, answered: true, note: "written" } });
  expect(await readFile(answerFile(), "utf8")).toBe("Thank you for: the tea; the biscuits");
}, 60_000);

test("killed after the write and before anybody knew: the clerk looks and finds it, and nobody writes again", async () => {
  await command("host");
  // One list and two reads go before; the fourth result is the write's.
  const victim = await doomed("inbox.publish:before:4");
  const end = await ask();
  expect(await victim.ended).toBe("SIGKILL");
  const written = await stat(answerFile());
  await command("worker");
  expect(await end()).toMatchObject({
    status: "completed",
    output: { read: 2, answered: true, note: "it was in doubt, and is there" },
  });
  expect((await stat(answerFile())).ino).toBe(written.ino);
  expect(await readFile(answerFile(), "utf8")).toBe("Thank you for: the tea; the biscuits");
  await until("the killed worker's own server is gone, too", async () => (await serversOf(folder)) <= 1);
}, 90_000);

test("killed between its claim and the write: nothing is there, and nobody writes it for the dead", async () => {
  await command("host");
  const victim = await doomed("claims.create:after:1");
  const end = await ask();
  expect(await victim.ended).toBe("SIGKILL");
  await command("worker");
  expect(await end()).toMatchObject({
    status: "completed",
    output: { read: 2, answered: false, note: "it was in doubt, and is not there" },
    standing: [expect.stringContaining("files_write_file")],
  });
  expect(await readdir(join(folder, "in"))).not.toContain("answer.txt");
}, 90_000);

/** Processes of the server for files that were given this folder; none where the system does not list processes. */
async function serversOf(of: string): Promise<number> {
  if (!existsSync("/proc/self/cmdline")) return 0;
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return lines.filter((line) => line.includes("server-filesystem") && line.includes(of)).length;
}
