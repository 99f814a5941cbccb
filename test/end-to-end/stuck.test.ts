/**
 * Stuck: code of an application that never gives its host's loop back. It costs one host process, its saga is set aside and
 * can be cancelled, and nothing else waits. What gives it back late, after a lease, costs time alone, where no other host is too.
 *
 * Method: real hosts, as in poison.test.ts, with a bound of a second.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { booker } from "../apps/stuck.ts";
import { limits } from "../../protocol/limits.ts";
import { crewOn, died, victimsOf } from "../support/crew.ts";
import { type AccountServer, startAccountServer, until } from "../support/real-mesh.ts";

let server: AccountServer;
beforeAll(async () => {
  server = await startAccountServer(2);
});
afterAll(() => server.stop());

const file = "test/apps/stuck.ts";
const withinMs = 90_000;

test(
  "a guard that never returns costs one host, its neighbours go on, and the cancel undoes what stands",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "sagamesh-stuck-"));
    const world = join(folder, "world");
    const env = { SAGAMESH_HELD_MAX_MS: "1000", MESH_WORLD: world };
    try {
      await crewOn(server.nextUrl(), ["host", "host"], { file, env }, async ({ mesh, deaths, said }) => {
        const neighbours = await Promise.all(Array.from({ length: 6 }, () => mesh.client.start(booker, {})));
        const stuck = await mesh.client.start(booker, {});
        const all = [stuck, ...neighbours];
        await until("all have booked, and wait", async () => {
          const heads = await Promise.all(all.map(({ id }) => mesh.head(id)));
          return heads.every((seq) => seq > 0) && (await mesh.unacked()).inbox === 0;
        });
        await stuck.signal("look", {});
        await until("a host ends", () => deaths().length > 0, withinMs);
        for (const one of neighbours) await one.signal("finish", {});
        for (const one of neighbours) expect(await one.result()).toMatchObject({ status: "completed" });
        await until("the letter", async () => (await mesh.letters()).length > 0, withinMs);
        expect(await mesh.letters()).toMatchObject([
          { subject: `dead.inbox.${stuck.id}`, reason: expect.stringContaining("[POISON]") as string },
        ]);
        await stuck.cancel("it is stuck");
        await until("its end", async () => (await mesh.view(stuck.id)).status === "cancelled", withinMs);
        const done = (await readFile(world, "utf8")).trim().split("\n");
        expect(done.filter((line) => line.startsWith("book")).length).toBe(7);
        expect(done.filter((line) => line.startsWith("unbook")).length).toBe(1);
        // One; where so much else runs that its mark comes later than the lease ends, the next host as well.
        expect([["70"], ["70", "70"]]).toContainEqual(deaths());
        expect(victimsOf(said(died))).toEqual({ [`saga.${stuck.id}`]: limits.victimsMax });
        const [line] = said("one saga holds the loop: the process ends");
        expect(line).toMatchObject({ suspect: `saga.${stuck.id}`, input: "signal look", exitCode: 70 });
        expect(JSON.stringify(line?.["where"])).toContain("stuck.ts");
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  2 * withinMs,
);

test(
  "a decision of more than a lease succeeds on a lone host, which lapses over it, and is not set aside (FQ3)",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "sagamesh-ponder-"));
    const world = join(folder, "world");
    try {
      await crewOn(
        server.nextUrl(),
        ["host"],
        { file, env: { MESH_WORLD: world } },
        async ({ mesh, deaths, said }) => {
          const slow = await mesh.client.start(booker, {});
          const bookings = async () => (await readFile(world, "utf8").catch(() => "")).split("\n").length - 1;
          await until("it has booked", async () => (await bookings()) === 1, withinMs);
          await slow.signal("ponder", {});
          await until("it has booked again", async () => (await bookings()) === 2, withinMs);
          await slow.signal("finish", {});
          expect(await slow.result()).toMatchObject({ status: "completed" });
          expect(said("host stood still for too long").length).toBeGreaterThan(0);
          expect([deaths(), await mesh.letters()]).toEqual([[], []]);
        },
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  2 * withinMs,
);
