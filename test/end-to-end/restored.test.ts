/**
 * Goal: the whole store put back from a copy with nothing alive, which no process can notice: once a person has said so,
 * nothing `once` or `probe` that was done meanwhile is done again, and what is new goes on as ever.
 * Method: a real server with its store in files, copied while a saga's start waits; the sixteen `once` and sixteen `probe`
 * effects that follow are in no ledger and in no claim of the copy. The operator's own command, in the test's process.
 */
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { RestoredDocument } from "../../protocol/documents/restored.ts";
import { startEmbeddedServer } from "../../services/nats/server/embedded.ts";
import app, { doneIn, perKind, till } from "../apps/till.ts";
import { runHere } from "../support/cli.ts";
import { codes, doctor } from "../support/doctor.ts";
import { openRealMesh, type RealMesh, until } from "../support/real-mesh.ts";

test(
  "what was done after the copy is asked about and not done again, until a person says it is settled",
  { timeout: 180_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "sagamesh-said-"));
    const [dataDir, copy, world] = [join(folder, "server"), join(folder, "copy"), join(folder, "world")];
    const store = join(dataDir, "store");
    await writeFile(world, "");
    process.env["TILL_WORLD"] = world;
    const server = await startEmbeddedServer({ dataDir, report: () => {} });
    onTestFinished(async () => {
      delete process.env["TILL_WORLD"];
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    });
    const toolsThatEnded = async (mesh: RealMesh, saga: string, outcome: string) =>
      (await mesh.view(saga)).intents.filter((one) => one.intent.kind === "tool" && one.outcome === outcome);

    const before = await openRealMesh(server.url);
    await before.client.start(till, {}, { id: "till" });
    process.kill(server.pid, "SIGSTOP");
    await cp(store, copy, { recursive: true });
    process.kill(server.pid, "SIGCONT");
    await before.host(app);
    await before.worker(app);
    await until("all is done", () => doneIn(world).length === 2 * perKind, 60_000);
    await before.close();
    process.kill(server.pid, "SIGKILL");
    await rm(store, { recursive: true });
    await cp(copy, store, { recursive: true });
    const { url } = await server.revive();

    const restored = async (...words: string[]) => {
      const { code, stdout } = await runHere(["restored", "--server", url, "--json", ...words]);
      expect(code).toBe(0);
      return RestoredDocument.parse(JSON.parse(stdout));
    };
    expect(await restored()).toMatchObject({ outcome: "due", sagas: 0, ahead: [], calls: [] });
    expect(codes(await doctor(url), "warning")).not.toContain("RESTORED");
    const said = await restored("--yes");
    expect(said).toMatchObject({ outcome: "said" });
    expect((await restored("--yes")).asks!.at).toBeGreaterThan(said.asks!.at); // RW2: it may be said again.
    expect(codes(await doctor(url), "warning")).toContain("RESTORED");

    const after = await openRealMesh(url);
    onTestFinished(() => after.close());
    await after.host(app);
    await after.worker(app);
    const ended = (outcome: string) => toolsThatEnded(after, "till", outcome).catch(() => []);
    await until("each is asked about", async () => (await ended("in_doubt")).length === perKind, 60_000);
    await until("each outside is asked", async () => (await ended("succeeded")).length === perKind, 60_000);
    expect(new Set(doneIn(world)).size).toBe(doneIn(world).length);
    expect(doneIn(world)).toHaveLength(2 * perKind);
    const tasks = await after.client.tasks();
    expect(tasks.filter(({ about }) => about === "doubt")).toHaveLength(perKind);

    expect(await restored("--settled")).toEqual({ outcome: "settled" });
    expect(codes(await doctor(url), "warning")).not.toContain("RESTORED");
    const fresh = await openRealMesh(url); // What is open hears of it at its next look.
    onTestFinished(() => fresh.close());
    expect(fresh.ports.restored?.()).toBeUndefined();
  },
);
