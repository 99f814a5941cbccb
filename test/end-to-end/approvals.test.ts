/**
 * Approvals on a real server: a hundred at once are one effect, and the wait for them survives whatever happens to
 * hosts and server, at no cost.
 *
 * Method: hosts and workers as people start them, processes of their own that are killed by SIGKILL; the outside's
 * account is a file that every body appends a line to. Voters are clients on connections of their own.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { OpenTask } from "../../services/client/tasks.ts";
import { startEmbeddedServer } from "../../services/nats/server/embedded.ts";
import { connect } from "../../services/runtime/connect.ts";
import payerApp, { payer } from "../apps/payer.ts";
import { type RunningCli, startCli } from "../support/cli.ts";
import { startTestServer, type TestServer } from "../support/nats-server.ts";
import { openRealMesh, type RealMesh, until } from "../support/real-mesh.ts";

let server: TestServer;
let mesh: RealMesh;
let folder: string;
let world: string;
const running = new Set<RunningCli>();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-approvals-"));
  world = join(folder, "world");
  await writeFile(world, "");
  server = await startTestServer();
  mesh = await openRealMesh(server.url);
});
afterEach(async () => {
  for (const one of running) one.process.kill("SIGKILL");
  running.clear();
  await mesh.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Starts `sagamesh host` or `worker`; resolves when it serves. */
async function serve(role: "host" | "worker"): Promise<RunningCli> {
  const cli = startCli([role, "--app", "test/apps/payer.ts", "--server", server.url, "--json"], {
    env: { MESH_WORLD: world },
  });
  running.add(cli);
  await cli.says(`"role":"${role}"`);
  return cli;
}

async function kill(cli: RunningCli): Promise<void> {
  cli.process.kill("SIGKILL");
  await cli.ended;
  running.delete(cli);
}

const lines = async (word: string): Promise<string[]> =>
  (await readFile(world, "utf8")).split("\n").filter((line) => line.startsWith(word));

const order = { cents: 700, quorum: 1, withinMs: 3_600_000 };

async function asked(saga: string): Promise<OpenTask> {
  let found: OpenTask | undefined;
  await until("somebody is asked", async () => {
    // The server may be on its way back.
    found = (await mesh.client.tasks().catch(() => [])).find((task) => task.saga === saga);
    return found !== undefined;
  });
  if (found === undefined) throw new Error("it was found");
  return found;
}

const inTime = { timeout: 120_000 };

describe("a hundred approvals of one task", () => {
  test.each([
    ["of which one is enough", 1],
    ["of which sixty must be", 60],
  ])("%s are one effect, from many clients, while the saga's host is killed", inTime, async (_, quorum) => {
    const hosts = [await serve("host"), await serve("host")];
    await serve("worker");
    const saga = await mesh.client.start(payer, { ...order, quorum }, { id: "s1" });
    const task = await asked("s1");
    const clients = await Promise.all(Array.from({ length: 10 }, () => connect({ servers: server.url })));
    try {
      /** One that comes when enough have spoken is told that the task is over. */
      const vote = (k: number) =>
        (clients[k % clients.length] ?? mesh.client)
          .vote(task, { vote: "approve", by: `p${k}`, as: "finance" })
          .catch((error: unknown) => expect(error).toMatchObject({ code: "TASK_OVER" }));
      const all = (from: number, to: number) =>
        Promise.all(Array.from({ length: to - from }, (__, k) => vote(from + k)));
      const first = all(0, 50);
      const owner = (await mesh.view("s1")).hosts.at(-1) ?? "";
      const victim = hosts.find((one) => owner.includes(`-${one.process.pid}-`));
      if (victim === undefined) throw new Error(`${owner} is one of the hosts`);
      await Promise.all([first, kill(victim)]);
      await all(50, 100);
      expect(await saga.result()).toMatchObject({ status: "completed", output: { outcome: "succeeded" } });
    } finally {
      await Promise.all(clients.map((one) => one.close()));
    }
    await until("every vote is acked", async () => (await mesh.unacked()).inbox === 0, 30_000);
    expect(await lines("pay")).toEqual(["pay 700"]);
    const { intents } = await mesh.view("s1");
    expect(intents.filter(({ intent }) => intent.kind === "tool" && intent.name === "pay")).toHaveLength(1);
    const { votes } = await mesh.client.task(task);
    const voters = new Set(votes.map(({ by }) => by));
    expect(voters.size).toBe(votes.length);
    expect(votes.length).toBeGreaterThanOrEqual(quorum);
    expect(new Set(votes.map(({ digest }) => digest))).toEqual(new Set([task.digest]));
    // What was stored before that and taken after it is a letter that says so, and nothing else is.
    expect((await mesh.letters()).filter((letter) => !JSON.stringify(letter).includes("TASK_OVER"))).toEqual(
      [],
    );
  });
});

describe("the wait for an approval", () => {
  test("survives the death of the only host, and of the server", inTime, async () => {
    const host = await serve("host");
    await serve("worker");
    const saga = await mesh.client.start(payer, order, { id: "s1" });
    const task = await asked("s1");
    await until("people were told", async () => (await lines("tell")).length === 1);
    await kill(host);
    process.kill(server.pid, "SIGKILL");
    const again = await startEmbeddedServer({ dataDir: server.dataDir, report: () => undefined });
    try {
      expect(again.url).toBe(server.url);
      expect(await asked("s1")).toEqual(task);
      await mesh.client.vote(task, { vote: "approve", by: "ana", as: "finance" });
      await serve("host");
      expect(await saga.result()).toMatchObject({ output: { outcome: "succeeded" } });
      expect(await lines("pay")).toEqual(["pay 700"]);
    } finally {
      await again.stop();
    }
  });

  test("goes down its line though nobody was there when the deadline passed", inTime, async () => {
    const host = await serve("host");
    await serve("worker");
    const saga = await mesh.client.start(payer, { ...order, withinMs: 2_000 }, { id: "s1" });
    const first = await asked("s1");
    await kill(host);
    await until("the deadline passed", () => Date.now() > first.dueAt + 500);
    await serve("host");
    await until("the next is asked", async () => (await lines("tell")).includes("tell board 0"), 30_000);
    const next = await asked("s1");
    expect(next).toMatchObject({ to: ["board"], digest: first.digest });
    await mesh.client.vote(next, { vote: "approve", by: "bo", as: "board" });
    expect(await saga.result()).toMatchObject({ output: { outcome: "succeeded" } });
    expect(await lines("pay")).toEqual(["pay 700"]);
  });

  test("costs the host nothing, and each reminder wakes it for a moment", inTime, async () => {
    const host = await mesh.host(payerApp);
    await serve("worker");
    await mesh.client.start(payer, { ...order, remindEveryMs: 6_000 }, { id: "s1" });
    await asked("s1");
    for (const reminder of [0, 1]) {
      await until(`people are told: ${reminder}`, async () =>
        (await lines("tell")).includes(`tell finance ${reminder}`),
      );
      await until("it is let go", () => host.resident() === 0);
      await until("and holds nothing", async () => {
        const { inbox, work } = await mesh.unacked();
        return inbox + work === 0;
      });
    }
  });
});
