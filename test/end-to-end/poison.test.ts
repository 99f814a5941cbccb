/**
 * Poison: what kills every process that takes it is set aside, with the reason, after few deaths; what is merely near
 * a death never is; and nothing else waits.
 *
 * Method: real processes, `sagamesh host` and `worker` as a person starts them, each started again when it has died.
 * Their logs are read: how they ended, and which child processes died with what.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hostCaller, pot, stroll, workerCaller } from "../apps/poison.ts";
import undoable, { traveller } from "../apps/undoable.ts";
import { limits } from "../../protocol/limits.ts";
import { crewOn, type CrewOptions, died, lettersOf, statusOf, victimsOf } from "../support/crew.ts";
import { type AccountServer, type RealMesh, startAccountServer, until } from "../support/real-mesh.ts";

let server: AccountServer;
beforeAll(async () => {
  server = await startAccountServer(8);
});
afterAll(() => server.stop());

const withinMs = 120_000;

const withCrew = (
  roles: Parameters<typeof crewOn>[1],
  work: Parameters<typeof crewOn>[3],
  options: CrewOptions = { file: "test/apps/poison.ts" },
) => crewOn(server.nextUrl(), roles, options, work);

describe.concurrent("poison", { timeout: withinMs }, () => {
  test("a signal whose assign aborts is a dead letter after three children, and its saga goes on without it", () =>
    withCrew(["host", "host"], async ({ mesh, deaths, said }) => {
      const boiling = await mesh.client.start(pot, {});
      await until("the pot waits", async () => (await mesh.head(boiling.id)) > 0);
      await boiling.signal("boom", {});
      const innocent = await mesh.client.start(stroll, { steps: 40 });
      await until("a letter", async () => (await mesh.letters()).length > 0, withinMs);
      await until(
        "it says what was set aside",
        async () => (await mesh.client.describe(boiling.id)).parked?.code === "POISON",
        withinMs,
      );
      await boiling.signal("finish", {});
      await until(
        "both end",
        async () => {
          const states = [await statusOf(mesh, boiling.id), await statusOf(mesh, innocent.id)];
          return states.every((status) => status === "completed");
        },
        withinMs,
      );
      expect(await mesh.letters()).toMatchObject([
        { subject: `dead.inbox.${boiling.id}`, reason: expect.stringContaining("[POISON]") as string },
      ]);
      expect((await lettersOf(mesh))[0]).toMatch(new RegExp(`POISON[^]*${boiling.id}`));
      expect(deaths().length).toBeLessThanOrEqual(2);
      expect(victimsOf(said(died))).toEqual({ [`saga.${boiling.id}`]: limits.victimsMax });
      await until(
        "no mark stays",
        async () => (await mesh.ports.suspects.get(`saga.${boiling.id}`)) === undefined,
      );
    }));

  test("calls that use up all memory or abort, a host's and a worker's, are recorded as failed; their sagas go on", () =>
    withCrew(["host", "host", "worker"], async ({ mesh, deaths, said }) => {
      const ofHost = await mesh.client.start(hostCaller, {});
      const ofWorker = await mesh.client.start(workerCaller, {});
      const innocent = await mesh.client.start(stroll, { steps: 40 });
      const poison = (of: string) => ({
        status: "completed",
        output: { reason: expect.stringMatching(new RegExp(`POISON.*${of}`)) as string },
      });
      expect(await ofHost.result()).toMatchObject(poison("hog"));
      expect(await ofWorker.result()).toMatchObject(poison("crash"));
      expect(await innocent.result()).toMatchObject({ output: { walked: 40 } });
      const letters = (await lettersOf(mesh)).join("");
      expect(letters).toMatch(/POISON[^]*hog/);
      expect(letters).toMatch(/POISON[^]*crash/);
      expect((await mesh.letters()).length).toBe(2);
      expect(deaths().length).toBeLessThanOrEqual(4);
      const victims = victimsOf(said(died));
      expect(
        Object.keys(victims)
          .map((suspect) => suspect.split(".")[0])
          .sort(),
      ).toEqual(["saga", "work"]);
      expect(victims).toMatchObject({ [`saga.${ofHost.id}`]: limits.victimsMax });
      expect(Object.values(victims)).toEqual([limits.victimsMax, limits.victimsMax]);
      await until("all is acked", async () => {
        const { inbox, work } = await mesh.unacked();
        return inbox + work === 0;
      });
    }));

  test(
    "a saga whose ledger kills whoever folds it is cancelled all the same: what stands is undone, each once",
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "sagamesh-poison-"));
      const world = join(folder, "world");
      const before = async (mesh: RealMesh) => {
        const [host, worker] = [await mesh.host(undoable), await mesh.worker(undoable)];
        const { id } = await mesh.client.start(traveller, {}, { id: "armed" });
        await until(
          "it has done all",
          async () => (await mesh.head(id)) > 0 && (await mesh.view(id)).effects.length === 3,
        );
        await mesh.client.saga(traveller, id).signal("arm", {});
        await until("it is armed, and waits", async () => (await mesh.unacked()).inbox === 0);
        await Promise.all([host.stop(1_000), worker.stop(1_000)]);
        // Without its snapshot it has to be folded.
        await jetstreamManager(mesh.nc).then((jsm) => jsm.streams.purge("KV_SNAPSHOT"));
      };
      const served = { before, file: "test/apps/undoable.ts", env: { FOLD_KILLS: "1", MESH_WORLD: world } };
      try {
        await withCrew(
          ["host", "worker"],
          async ({ mesh, deaths, said }) => {
            await mesh.client.saga(traveller, "armed").cancel("it kills");
            await until("its end", async () => (await statusOf(mesh, "armed")) !== "running", withinMs);
            expect(await mesh.view("armed")).toMatchObject({ status: "cancelled", effects: [], open: [] });
            const undone = (await readFile(world, "utf8")).trim().split("\n");
            expect(undone.map((line) => line.split(" ")[0]).sort()).toEqual(["unbook", "uncharge", "unrent"]);
            expect(victimsOf(said(died))).toEqual({ "saga.armed": limits.victimsMax });
            expect(deaths().length).toBeLessThanOrEqual(2);
            expect(await mesh.letters()).toEqual([]);
          },
          served,
        );
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    2 * withinMs,
  );

  test("hosts that are killed at random, six in a row, make nothing poison", () =>
    withCrew(["host", "host"], async ({ mesh, crew, said, deaths }) => {
      const strolls = await Promise.all(
        Array.from({ length: 12 }, () => mesh.client.start(stroll, { steps: 30 })),
      );
      const walked = async () =>
        (await Promise.all(strolls.map(({ id }) => mesh.head(id)))).reduce((a, b) => a + b);
      for (let kill = 0; kill < 6; kill += 1) {
        const before = await walked();
        await until("somebody goes on", async () => (await walked()) > before, withinMs);
        crew[kill % 2]?.kill();
      }
      await until(
        "all end",
        async () => {
          const states = await Promise.all(strolls.map(({ id }) => statusOf(mesh, id)));
          return states.every((status) => status === "completed");
        },
        withinMs,
      );
      expect(await mesh.letters()).toEqual([]);
      expect(said(died)).toEqual([]);
      expect(said("suspect taken in a child process").length).toBeGreaterThan(0);
      expect(deaths()).toEqual([]);
    }));
});
