/**
 * Goal: a program that embeds a host and a worker can tell how they are, end them well and lose nothing when it dies.
 * Method: such a program in a process of its own, on a real server; it is drained and stopped, and killed by SIGKILL in
 * the middle of an effect. What happened is held against a file of the outside world.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type RunningHealth } from "sagamesh";
import { afterEach, beforeEach, expect, test } from "vitest";
import { errandOf } from "../../support/errand-app.ts";
import { startTestServer } from "../../support/nats-server.ts";
import { until } from "../../support/real-mesh.ts";

interface Said {
  readonly what: string;
  readonly host: RunningHealth;
  readonly worker: RunningHealth;
}

let folder: string;
let server: Awaited<ReturnType<typeof startTestServer>>;
let file: string;
const programs: ChildProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-embedding-"));
  file = join(folder, "world");
  await writeFile(file, "");
  server = await startTestServer();
});
afterEach(async () => {
  for (const program of programs.splice(0)) program.kill("SIGKILL");
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const lines = async () => (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
const begun = async () => (await lines()).filter((line) => line.startsWith("begun"));
const heard = async (program: ChildProcess): Promise<Said> => (await once(program, "message"))[0] as Said;

async function embed(): Promise<{ program: ChildProcess; said: Said }> {
  const program = fork(new URL("../../support/embedding-process.ts", import.meta.url).pathname, {
    env: { ...process.env, EMBED_SERVERS: server.url, EMBED_FILE: file },
    execArgv: ["--conditions=sagamesh-source"],
  });
  programs.push(program);
  return { program, said: await heard(program) };
}

const start = async (id: string) => {
  const mesh = await connect({ servers: server.url });
  return {
    mesh,
    saga: await mesh.start(
      errandOf(async () => undefined),
      { name: id },
      { id },
    ),
  };
};

test("a program that drains in the middle of an effect lets it settle, takes nothing new, stops and ends by itself", async () => {
  const { program, said } = await embed();
  expect(said).toMatchObject({
    what: "serves",
    host: { phase: "serving", partitions: expect.any(Number) as number, sagas: 0 },
    worker: { phase: "serving" },
  });
  expect([said.host.whyNotReady, said.worker.whyNotReady]).toEqual([undefined, undefined]);
  expect(said.host.partitions).toBeGreaterThan(0);

  const { mesh, saga } = await start("ana");
  await until("the effect has begun", async () => (await begun()).length === 1);
  program.send("drain");
  await writeFile(`${file}.go`, "");
  expect(await heard(program)).toMatchObject({
    what: "drain",
    host: { phase: "draining", whyNotReady: "draining: takes nothing new", sagas: 0 },
    worker: { phase: "draining", whyNotReady: "draining: takes nothing new" },
  });
  expect((await lines()).map((line) => line.split(" ")[0])).toEqual(["begun", "done"]);

  program.send("stop");
  expect(await heard(program)).toMatchObject({
    what: "stop",
    host: { phase: "stopped", whyNotReady: "stopped: its connection is closed" },
  });
  expect((await once(program, "exit"))[0]).toBe(0);

  const next = await embed();
  expect(await saga.result()).toEqual({ status: "completed", output: "ana", standing: [] });
  expect(await begun()).toHaveLength(1);
  next.program.kill("SIGKILL");
  await mesh.close();
});

test("a program that is killed in the middle of an effect leaves it to the next one, which asks under the same key", async () => {
  const { program } = await embed();
  const { mesh, saga } = await start("ben");
  await until("the effect has begun", async () => (await begun()).length === 1);
  program.kill("SIGKILL");
  await once(program, "exit");
  await writeFile(`${file}.go`, "");
  await embed();
  expect(await saga.result()).toEqual({ status: "completed", output: "ben", standing: [] });
  const all = await begun();
  expect(all).toHaveLength(2);
  expect(new Set(all).size).toBe(1);
  await mesh.close();
});
