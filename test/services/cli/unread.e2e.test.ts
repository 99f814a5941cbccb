/**
 * A process whose stdout or stderr is full, closed, or read by nobody: what serves goes on serving and counts what it could
 * not say, what only tells something ends.
 *
 * Method: each command that serves as a process of its own, behind a shell that gives it such an end, with a log that says
 * everything; then sagas are run through it.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { codes, doctor, saying } from "../../support/doctor.ts";
import { runCli } from "../../support/cli.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";
import { until } from "../../support/real-mesh.ts";

const main = fileURLToPath(new URL("../../../services/cli/main.ts", import.meta.url));
const app = "test/apps/desk.ts";

let server: TestServer;
let folder: string;
beforeAll(async () => {
  server = await startTestServer();
  folder = await mkdtemp(join(tmpdir(), "sagamesh-unread-"));
}, 120_000);
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

/** What stands at the end of a stream. A pipe that nobody reads takes 64 KiB. */
type Kind = "full device" | "closed pipe" | "full pipe";
const kinds: readonly Kind[] = ["full device", "closed pipe", "full pipe"];

let pipes = 0;
/** The end of that kind, and what frees it. */
function endOf(kind: Kind): { fd: number; close: () => void } {
  if (kind === "full device") {
    const fd = openSync("/dev/full", "w");
    return { fd, close: () => closeSync(fd) };
  }
  const path = join(folder, `pipe-${pipes++}`);
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (kind === "full pipe") fillUp(path);
  const fd = openSync(path, "w");
  if (kind === "closed pipe") closeSync(reader);
  return {
    fd,
    close: () => {
      closeSync(fd);
      if (kind === "full pipe") closeSync(reader);
    },
  };
}

/** Until it takes no byte more. */
function fillUp(pipe: string): void {
  const fd = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    for (;;) writeSync(fd, Buffer.alloc(1_024));
  } catch {
    closeSync(fd); // EAGAIN: it is full.
  }
}

interface Unread {
  readonly process: ChildProcess;
  readonly health: string;
  close(): void;
}

let ports = 0;
const basePort = 20_000 + (process.pid % 20_000);

/** Starts a command that serves, with such ends at its streams. */
function serveTo(words: readonly string[], kind: Kind): Unread {
  const [out, err] = [endOf(kind), endOf(kind)];
  const port = basePort + ports++;
  const child = spawn(
    process.execPath,
    ["--conditions=sagamesh-source", main, ...words, "--server", server.url, "--health-port", String(port)],
    {
      env: { ...process.env, LOG_LEVEL: "debug", SAGAMESH_GATEWAY_SECRET: "x".repeat(32) },
      stdio: ["ignore", out.fd, err.fd],
    },
  );
  return {
    process: child,
    health: `http://127.0.0.1:${port}`,
    close: () => {
      child.kill("SIGKILL");
      for (const end of [out, err]) end.close();
    },
  };
}

const isReady = async ({ health }: Unread): Promise<boolean> =>
  (await fetch(`${health}/readyz`).catch(() => undefined))?.status === 200;
const lostBy = async ({ health }: Unread): Promise<number> =>
  Number(/^sagamesh_lines_lost_total (\d+)$/m.exec(await (await fetch(`${health}/metrics`)).text())?.[1]);
const startDesk = (id: string) =>
  runCli([
    "start",
    "desk",
    "--input",
    '{"errand":"book","to":"rome"}',
    "--id",
    id,
    "--wait",
    "--server",
    server.url,
  ]);

const serving = [
  ["host", "--app", app],
  ["worker", "--app", app],
  ["up", "--app", app, "--no-gateway"],
  ["gateway", "--port", "0"],
];

test("each command that serves goes on, whatever its streams end in, and what a host could not say is known", async () => {
  const all = serving.flatMap((words) => kinds.map((kind) => ({ words, kind, one: serveTo(words, kind) })));
  const ended = () =>
    all.filter(({ one }) => one.process.exitCode !== null || one.process.signalCode !== null);
  try {
    const areReady = async () => (await Promise.all(all.map(({ one }) => isReady(one)))).every(Boolean);
    await until("all serve", areReady, 90_000);
    expect((await startDesk("unread")).code).toBe(0);
    await until("doctor knows", async () => codes(await doctor(server.url), "warning").includes("LOG_LOST"));
    expect(saying(await doctor(server.url), "LOG_LOST")).toMatch(/could not write \d+ lines? of its log/);
    expect(ended().map(({ words, kind }) => [words[0], kind])).toEqual([]);
    for (const { kind, one } of all) if (kind !== "full pipe") expect(await lostBy(one)).toBeGreaterThan(0);
    for (const { one } of all) one.process.kill("SIGTERM");
    await until("all end", async () => ended().length === all.length, 30_000);
    expect(
      all.filter(({ one }) => one.process.exitCode !== 0).map(({ words, kind }) => [words[0], kind]),
    ).toEqual([]);
  } finally {
    for (const { one } of all) one.close();
  }
}, 180_000);

test("what only tells something ends quietly when its reader goes, and says so where its result cannot be written", async () => {
  const run = (script: string) =>
    new Promise<{ code: number | null; stderr: string }>((resolve) => {
      const child = spawn("bash", ["-o", "pipefail", "-c", script], { stdio: ["ignore", "ignore", "pipe"] });
      let stderr = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
      child.once("close", (code) => resolve({ code, stderr }));
    });
  const help = `${process.execPath} --conditions=sagamesh-source ${main} completion bash`;
  expect(await run(`${help} | head -1`)).toEqual({ code: 0, stderr: "" });
  const full = await run(`${help} > /dev/full`);
  expect(full.code).toBe(1);
  expect(full.stderr).toContain("[STORAGE_FULL] what the command has to say could not be written");
  expect((await run(`${help} 2> /dev/full`)).code).toBe(0);
});
