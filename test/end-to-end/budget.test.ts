/**
 * Goal: fifty parallel children never exceed the pool they share by a token, though hosts are killed by SIGKILL in the
 * middle of their calls, on a real server. Method: a provider with a bill of its own.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { startCli } from "../support/cli.ts";
import { type Bill, chief } from "../support/fifty.ts";
import { openRealMesh, startAccountServer, until } from "../support/real-mesh.ts";

import { checkPool, sumOf } from "../support/fifty-checks.ts";

describe("on a real server", () => {
  let folder: string | undefined;
  afterAll(async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  test("fifty children never exceed the pool though hosts are killed in the middle of their calls", async () => {
    folder = await mkdtemp(join(tmpdir(), "sagamesh-budget-"));
    const world = join(folder, "bill");
    await writeFile(world, "");
    const server = await startAccountServer(2);
    const mesh = await openRealMesh(server.nextUrl());
    const hosts: ReturnType<typeof startCli>[] = [];
    const launch = async () => {
      const host = startCli(["host", "--app", "test/apps/fifty.ts", "--server", mesh.url, "--json"], {
        env: { MESH_WORLD: world },
      });
      hosts.push(host);
      await host.says('"role":"host"');
    };
    const bills = async (): Promise<Bill[]> =>
      (await readFile(world, "utf8"))
        .split("\n")
        .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Bill]));
    try {
      await Promise.all([launch(), launch(), launch(), launch()]);
      const saga = await mesh.client.start(chief, {}, { id: "chief" });
      for (const kill of [0, 1, 2]) {
        const billed = (await bills()).length;
        await until("calls are made", async () => (await bills()).length >= billed + 25, 30_000);
        hosts[kill]?.process.kill("SIGKILL");
      }
      const end = await saga.result({ signal: AbortSignal.timeout(90_000) });
      expect(end).toMatchObject({ status: "completed" });
      const turns = await mesh.turns("chief");
      const budget = checkPool(turns, await bills());
      expect(budget.used.tokens, "what the dead had asked for counts").toBeGreaterThan(sumOf(await bills()));
      expect(await mesh.letters()).toEqual([]);
    } finally {
      for (const host of hosts) host.process.kill("SIGKILL");
      await mesh.close();
      await server.stop();
    }
  }, 180_000);
});
