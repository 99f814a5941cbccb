/**
 * Goal: what a saga did that no host can take is undone by hand, each effect once, whatever dies meanwhile.
 * Method: the command as a person runs it, killed at random moments and run again, on a real server without a host. The outside
 * keeps the account: a file that the tools' bodies write into.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { UndoDocument } from "../../../protocol/documents/undo.ts";
import { takingHosts } from "../../../services/deployments/served.ts";
import { verifyLedger } from "../../../services/views/verify.ts";
import app, { traveller } from "../../apps/undoable.ts";
import { runHere, startCli } from "../../support/cli.ts";
import { ownOfFile } from "../../support/own-file.ts";
import { openRealMesh, type RealMesh, until } from "../../support/real-mesh.ts";

const own = ownOfFile("undo", 6);

const file = "test/apps/undoable.ts";

interface World {
  readonly mesh: RealMesh;
  readonly env: Readonly<Record<string, string>>;
  /** What the outside was told, by tool: the keys. */
  account(): Promise<Record<string, string[]>>;
  undo(...words: string[]): Promise<{ code: number | null; said: string; document: UndoDocument }>;
}

/**
 * A mesh with a saga that has booked, rented and charged, or, where nothing works, has booked and called for renting. Its host
 * and its worker are gone then.
 */
async function withTraveller(
  name: string,
  work: (world: World) => Promise<void>,
  { works = true, armed = false } = {},
): Promise<void> {
  const mesh = await openRealMesh(own.server.nextUrl());
  const path = join(own.folder, name);
  await writeFile(path, "");
  process.env["MESH_WORLD"] = path;
  try {
    const host = await mesh.host(app);
    const worker = works ? await mesh.worker(app) : undefined;
    await mesh.client.start(traveller, {}, { id: "t-1" });
    const begun = async () => (await mesh.head("t-1")) > 0;
    await until(
      "it has",
      async () => (await begun()) && (await mesh.view("t-1")).effects.length === (works ? 3 : 1),
    );
    await until("it waits", async () => (await mesh.unacked()).inbox === 0);
    if (armed) {
      await mesh.client.saga(traveller, "t-1").signal("arm", {});
      await until("it is armed", async () => (await mesh.unacked()).inbox === 0);
    }
    await host.stop(1_000);
    await worker?.stop(1_000);
    await work({
      mesh,
      env: { MESH_WORLD: path, UNDO_MS: "150" },
      account: async () => {
        const told: Record<string, string[]> = {};
        for (const line of (await readFile(path, "utf8")).trim().split("\n")) {
          const [tool = "", key = ""] = line.split(" ");
          (told[tool] ??= []).push(key);
        }
        return told;
      },
      undo: async (...words) => {
        const all = ["undo", "t-1", "--offline", "--app", file, "--server", mesh.url, "--json", ...words];
        const { code, stdout, stderr } = await runHere(all);
        return { code, said: stderr, document: JSON.parse(stdout || "null") as UndoDocument };
      },
    });
  } finally {
    await mesh.close();
  }
}

const inOrder = ["uncharge", "unrent", "unbook"];

describe("undo --offline", { timeout: 60_000 }, () => {
  test("lists the compensations in their order and changes nothing; with --yes they run, and the saga has ended", () =>
    withTraveller("plain", async ({ mesh, undo, account }) => {
      const head = await mesh.head("t-1");
      const would = await undo();
      expect(would).toMatchObject({ code: 0, document: { did: "would", because: "unserved", standing: [] } });
      expect(
        would.document.steps.map(({ compensation, performer, round }) => [compensation, performer, round]),
      ).toEqual(inOrder.map((name, k) => [name, "here", k + 1]));
      expect(await mesh.head("t-1")).toBe(head);
      expect(Object.keys(await account())).toEqual(["book", "rent", "charge"]);

      const did = await undo("--yes", "--reason", "it kills");
      expect(did).toMatchObject({
        code: 0,
        document: { did: "undone", status: "cancelled", standing: [], open: [] },
      });
      expect(did.said).toContain("uncharge");
      expect(Object.keys(await account()).slice(3)).toEqual(inOrder);
      expect((await mesh.view("t-1")).end).toMatchObject({ status: "cancelled", reason: "it kills" });
      expect((await verifyLedger(mesh.ports, mesh.client.saga(traveller, "t-1").id, app)).findings).toEqual(
        [],
      );
      expect(await undo("--yes")).toMatchObject({
        code: 1,
        said: expect.stringContaining("SAGA_ENDED") as string,
      });
    }));

  test("leaves to a living host what it can do, unless that is forced; then one of the two undoes each effect", () =>
    withTraveller("served", async ({ mesh, undo, account }) => {
      await mesh.host(app);
      await until("it is known", async () => (await takingHosts(mesh.ports.membership)).length > 0);
      const refused = await undo("--yes");
      expect(refused).toMatchObject({ code: 1, said: expect.stringContaining("SAGA_SERVED") as string });
      await mesh.worker(app);
      await Promise.all([undo("--yes", "--force"), mesh.client.saga(traveller, "t-1").cancel("by its host")]);
      await until("its end", async () => (await mesh.view("t-1")).status === "cancelled");
      const keys = Object.entries(await account()).filter(([name]) => name.startsWith("un"));
      expect(keys.map(([name, all]) => [name, new Set(all).size]).sort()).toEqual(
        inOrder.map((name) => [name, 1]).sort(),
      );
    }));

  test("folds nothing of a saga whose ledger kills whoever folds it", () =>
    withTraveller(
      "armed",
      async ({ mesh, env, account }) => {
        const words = ["undo", "t-1", "--offline", "--app", file, "--server", mesh.url, "--yes"];
        const { code, signal } = await startCli(words, { env: { ...env, FOLD_KILLS: "1" } }).ended;
        expect({ code, signal }).toEqual({ code: 0, signal: null });
        expect(Object.keys(await account()).slice(3)).toEqual(inOrder);
        expect(await mesh.view("t-1")).toMatchObject({ status: "cancelled", effects: [] });
      },
      { armed: true },
    ));

  test("holds a call for in doubt that a worker may have taken, and undoes it by its key; a late success is undone as well", () =>
    withTraveller(
      "late",
      async ({ mesh, undo, account }) => {
        expect((await undo()).document.steps.map(({ compensation }) => compensation)).toEqual([
          "unrent",
          "unbook",
        ]);
        expect(await undo("--yes")).toMatchObject({ code: 0, document: { did: "undone", standing: [] } });
        expect(Object.keys(await account())).toEqual(["book", "unrent", "unbook"]);
        await mesh.host(app);
        await mesh.worker(app);
        await until("the late one is undone", async () => (await account())["unrent"]?.length === 2);
        await until("nothing stands", async () => (await mesh.view("t-1")).open.length === 0);
        expect(await mesh.view("t-1")).toMatchObject({ status: "cancelled", effects: [] });
      },
      { works: false },
    ));

  test("killed at random moments and run again, it undoes each effect once, by the account of the outside", () =>
    withTraveller("killed", async ({ mesh, env, account }) => {
      const words = ["undo", "t-1", "--offline", "--app", file, "--server", mesh.url, "--yes"];
      let ended: number | null = null;
      let kills = 0;
      while (ended === null) {
        const cli = startCli(words, { env });
        // From the first look at the ledger on, a moment later each time: the last run is left alone.
        const killing = sleep(700 + kills * 200).then(() => kills < 4 && cli.process.kill("SIGKILL"));
        const { code, signal, stderr } = await cli.ended;
        await killing;
        if (signal === "SIGKILL") kills += 1;
        else if (code === 1 && /SAGA_ENDED/.test(stderr)) ended = 0;
        else ended = code;
      }
      expect(ended).toBe(0);
      expect(kills).toBeGreaterThan(0);
      const told = await account();
      for (const name of inOrder) expect({ name, keys: new Set(told[name]).size }).toEqual({ name, keys: 1 });
      expect(await mesh.view("t-1")).toMatchObject({ status: "cancelled", effects: [] });
      const cancels = (await mesh.turns("t-1")).flatMap(({ steps }) =>
        steps.filter(({ event }) => event.type === "signal"),
      );
      expect(cancels).toHaveLength(1);
    }));
});
