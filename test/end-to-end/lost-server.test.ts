/**
 * Goal: an embedded server that dies or is left behind strands nobody. Method: the commands as people run them,
 * each a process of its own, and SIGKILL for the server or for whoever started it.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { EndDocument } from "../../protocol/documents/saga.ts";
import { LogDocument, ProgressDocument } from "../../protocol/documents/stderr.ts";
import { ServingDocument } from "../../protocol/documents/process.ts";
import { findRunningServer, stopEmbeddedServer } from "../../services/nats/server/embedded.ts";
import { type Ended, runCli, type RunningCli, startCli } from "../support/cli.ts";

const app = "test/apps/desk.ts";
const inTime = { timeout: 60_000 };

/** A data folder of its own; what runs in it at the end of the test is ended. */
const openFolder = async () => {
  const data = await mkdtemp(join(tmpdir(), "sagamesh-lost-"));
  const server = join(data, "server");
  onTestFinished(async () => {
    await stopEmbeddedServer(server);
    await rm(data, { recursive: true, force: true });
  });
  const serve = async (command: "up" | "host" | "worker") => {
    const cli = startCli([command, "--app", app, "--data", data, "--json"]);
    onTestFinished(async () => {
      cli.process.kill("SIGKILL");
      await cli.ended.catch(() => undefined);
    });
    const said = await cli.says(/"role":.*\n/);
    return { cli, ...ServingDocument.parse(JSON.parse(said)) };
  };
  const pidOfServer = async (): Promise<number> =>
    (JSON.parse(await readFile(join(server, "server.json"), "utf8")) as { pid: number }).pid;
  const run = (...args: string[]) => runCli([...args, "--data", data]);
  const runs = async (id: string) => expect(await run(...start(id), "--wait")).toMatchObject({ code: 0 });
  return { server, serve, pidOfServer, run, runs };
};

const start = (id: string) => ["start", "desk", "--input", '{"errand":"book","to":"rome"}', "--id", id];
const end = async (cli: RunningCli): Promise<void> => {
  cli.process.kill("SIGTERM");
  expect((await cli.ended).code).toBe(0);
};

/** What a process that serves says with --json is documents, line by line. */
const expectDocuments = ({ stderr }: Ended): string[] => {
  const lines = stderr.trim().split("\n");
  for (const line of lines)
    expect(ProgressDocument.or(LogDocument).safeParse(JSON.parse(line)).error, line).toBeUndefined();
  return lines;
};

test("a killed server is started again by the `up` that uses it, and its sagas go on", inTime, async () => {
  const { server, serve, pidOfServer, run, runs } = await openFolder();
  const up = await serve("up");
  await runs("before");
  const killed = await pidOfServer();
  process.kill(killed, "SIGKILL");
  await up.cli.says("connected again", "stderr");
  expect(await findRunningServer(server)).toMatchObject({ url: up.url });
  expect(await pidOfServer()).not.toBe(killed);
  const { code, stdout } = await run(...start("after"), "--wait", "--json");
  expect(code, stdout).toBe(0);
  expect(EndDocument.parse(JSON.parse(stdout))).toMatchObject({ saga: "after", status: "completed" });
  await end(up.cli);
  expect(await findRunningServer(server)).toBeUndefined();
  const said = expectDocuments(await up.cli.ended);
  expect(said.filter((line) => line.includes("[UNAVAILABLE] lost the NATS server"))).toHaveLength(1);
});

test("a server that had to take another port is followed there by those who lost it", inTime, async () => {
  const { server, serve, pidOfServer, runs } = await openFolder();
  const [host, worker] = [await serve("host"), await serve("worker")];
  expect(worker.url).toBe(host.url);
  const pid = await pidOfServer();
  // Stopped, they cannot bring it back; meanwhile somebody takes the port, and a third one starts the server.
  const all = [host, worker];
  for (const { cli } of all) cli.process.kill("SIGSTOP");
  process.kill(pid, "SIGKILL");
  await expect.poll(() => findRunningServer(server)).toBeUndefined();
  const stranger = createServer((socket) => socket.destroy()).listen(
    Number(new URL(host.url).port),
    "127.0.0.1",
  );
  onTestFinished(() => void stranger.close());
  await new Promise((resolve) => stranger.once("listening", resolve));
  const other = await serve("host");
  expect(other.url).not.toBe(host.url);
  for (const { cli } of all) cli.process.kill("SIGCONT");
  await Promise.all(all.map(({ cli }) => cli.says("connected again", "stderr")));
  await runs("moved");
  await end(host.cli);
  expectDocuments(await host.cli.ended);
});

test("a command leaves the server that it started to an `up` that came meanwhile", inTime, async () => {
  const { server, serve, runs } = await openFolder();
  await end((await serve("up")).cli); // Leaves a store in which nothing runs.
  const early = startCli([...start("early"), "--wait", "--data", join(server, "..")]);
  await early.says("no host serves", "stderr");
  const up = await serve("up");
  expect((await early.ended).code).toBe(0);
  expect(await findRunningServer(server)).toMatchObject({ url: up.url });
  await runs("late");
  await end(up.cli);
  expect(await findRunningServer(server)).toBeUndefined();
});

test("the server of a killed `up` is taken over by the next one, and ended with it", inTime, async () => {
  const { server, serve } = await openFolder();
  const killed = await serve("up");
  killed.cli.process.kill("SIGKILL");
  await killed.cli.ended;
  expect(await findRunningServer(server)).toMatchObject({ url: killed.url });
  const next = await serve("up");
  expect(next.url).toBe(killed.url);
  await end(next.cli);
  expect(await findRunningServer(server)).toBeUndefined();
});
