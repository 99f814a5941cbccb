/**
 * A long saga of real processes on a real server: 200 steps, and hosts and workers are killed by SIGKILL. It ends
 * completed, and the model was asked exactly as often as the ledger can explain. test/services/host/long-agent.walk.test.ts
 * has a hundred such runs in virtual time.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seededChance } from "../../services/memory/faults.ts";
import { systemClock } from "../../services/runtime/system.ts";
import { checkAccount, type Line, longAgent } from "../support/long-agent.ts";
import { expectExplained, saga, steps } from "../support/long-run.ts";
import { type AccountServer, openRealMesh, startAccountServer } from "../support/real-mesh.ts";
import { type SpawnedProcess, spawnProcess } from "../support/spawn-process.ts";

describe("on a real server, with real processes", () => {
  let server: AccountServer;
  let folder: string;
  beforeAll(async () => {
    server = await startAccountServer(1);
    folder = await mkdtemp(join(tmpdir(), "sagamesh-long-"));
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test("a saga of 200 steps survives SIGKILLs, and the number of model requests is explained", async () => {
    const world = join(folder, "world");
    await writeFile(world, "");
    const mesh = await openRealMesh(server.nextUrl());
    const chance = seededChance(1);
    const killed = new Set<string>();
    const begin = (role: "host" | "worker") => {
      const env = {
        MESH_URL: mesh.url,
        MESH_WORLD: world,
        LONG_ROLE: role,
        LONG_STEPS: String(steps),
        LONG_SEED: "1",
      };
      return { role, process: spawnProcess("long-process", env) };
    };
    const processes = [begin("host"), begin("host"), begin("worker")];
    const kill = async (victim: SpawnedProcess) => {
      killed.add(await victim.serves);
      victim.kill();
      expect(await victim.ended).toBe("SIGKILL");
    };
    try {
      await Promise.all(processes.map(({ process }) => process.serves));
      const { agent } = longAgent({
        by: "nobody",
        steps,
        note: () => undefined,
        fails: () => false,
        think: async () => undefined,
      });
      const handle = await mesh.client.start(agent, {}, { id: saga });
      const saw = { end: false };
      const ended = handle.result({ signal: AbortSignal.timeout(80_000) }).finally(() => (saw.end = true));
      for (let kills = 0; kills < 5 && !saw.end; kills++) {
        await systemClock.sleep(chance.between(300, 2_500));
        const at = kills % processes.length;
        const victim = processes[at];
        if (victim === undefined || saw.end) break;
        await kill(victim.process);
        processes[at] = begin(victim.role);
      }
      const { status } = await ended;
      const lines = (await readFile(world, "utf8"))
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Line);
      const account = checkAccount(await mesh.turns(saga), lines, killed);
      expect(killed.size).toBeGreaterThanOrEqual(3);
      expectExplained({ ...account, status, kills: killed.size });
    } finally {
      for (const { process } of processes) process.kill();
      await mesh.close();
    }
  }, 100_000);
});
