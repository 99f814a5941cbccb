/**
 * A server that can store no more, because its disk is full or a limit is reached: it is named for what it is within ten
 * seconds, wherever a process meets it, and everything goes on afterwards.
 *
 * Method: real servers on a disk of 8 MB; hosts, workers and clients on connections of their own; the outside counts.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { isMeshError, type MeshError } from "../../protocol/errors.ts";
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { startEmbeddedServer, stopEmbeddedServer } from "../../services/nats/server/embedded.ts";
import { startHost } from "../../services/runtime/start.ts";
import another from "../apps/till.ts";
import { codes, doctor, saying } from "../support/doctor.ts";
import { errandApp, errandOf } from "../support/errand-app.ts";
import { openRealMesh, type RealMesh, until } from "../support/real-mesh.ts";
import { smallDisk, whyNoDisk } from "../support/small-disk.ts";

const ends: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** For the client, who performs nothing. */
const errand = errandOf(async () => undefined);

/** A mesh on a server on a disk of 8 MB, with a host and a worker whose outside counts. */
async function meshOnDisk(extraConfig: string, login = "") {
  const disk = smallDisk(8);
  ends.push(() => disk.remove());
  const dataDir = join(disk.path, "server");
  const start = (extra: string) =>
    startEmbeddedServer({ dataDir, extraConfig: extra, report: () => undefined });
  const { url: bare } = await start(extraConfig);
  ends.push(() => stopEmbeddedServer(dataDir));
  const url = bare.replace("//", `//${login}`);
  const done = new Map<string, number>();
  const app = errandApp(async (key) => void done.set(key, (done.get(key) ?? 0) + 1));
  const mesh = await openRealMesh(url);
  ends.push(() => mesh.close());
  await mesh.host(app);
  await mesh.worker(app);
  return { disk, dataDir, start, url, mesh, done };
}

/** Starts sagas with much in them until one is refused: with what, and how long that start took. */
async function startUntilRefused({
  client,
}: RealMesh): Promise<{ error: MeshError; ms: number; sagas: string[] }> {
  const sagas: string[] = [];
  for (let count = 0; ; count++) {
    const id = `full-${count}`;
    sagas.push(id); // The refused one as well: it may be stored all the same.
    const begun = performance.now();
    try {
      await client.start(errand, { name: "x".repeat(60_000) }, { id });
    } catch (error) {
      if (!isMeshError(error)) throw error;
      return { error, ms: performance.now() - begun, sagas };
    }
  }
}

const statuses = ({ view }: RealMesh, sagas: readonly string[]) =>
  Promise.all(
    sagas.map((saga) =>
      view(saga).then(
        (one) => one.status,
        () => "none",
      ),
    ),
  );

describe.skipIf(whyNoDisk !== undefined)(`on a disk of its own (${whyNoDisk ?? "a tmpfs"})`, () => {
  test("a full disk is STORAGE_FULL within 10 s for clients, hosts and doctor, and a restart with space loses nothing", async () => {
    const { disk, dataDir, start, url, mesh, done } = await meshOnDisk("");
    const said: string[] = [];
    const nc = await connectNats({ servers: url, name: "test" });
    ends.push(() => nc.close());
    const watching = await openNatsPorts(nc, { report: (line) => said.push(line) });
    ends.push(() => watching.close());
    await mesh.client.start(errand, { name: "before" }, { id: "before" });
    await until("it works", async () => (await statuses(mesh, ["before"]))[0] === "completed");

    await disk.fill(400_000);
    const { error, ms, sagas } = await startUntilRefused(mesh);
    expect(error).toMatchObject({ code: "STORAGE_FULL", retriable: true });
    expect(error.message).toContain("no space left on device");
    expect(error.remedy).toMatch(/Free space.*restart/);
    expect(ms).toBeLessThan(10_000);
    await watching.registry.put("full", new Uint8Array(100_000)).catch(() => undefined);
    expect(said.filter((line) => line.includes("[STORAGE_FULL]"))).toHaveLength(1);
    expect(watching.fault()).toMatchObject({ code: "STORAGE_FULL" });
    const look = await doctor(url);
    expect(codes(look)).toContain("STORAGE_FULL");
    expect(codes(look)).not.toContain("NO_HOST");
    expect(saying(look, "STORAGE_FULL")).toContain("no space left on device");
    const heard: string[] = [];
    const report = (line: string) => void heard.push(line);
    const late = startHost({ app: another, servers: url, report });
    const waits = () => heard.some((line) => line.includes("waits: [STORAGE_FULL]"));
    await until("a host that is started, and has something to register, waits", waits, 60_000);

    await disk.free();
    expect(saying(await doctor(url), "STORAGE_FULL")).toContain("no space left on device"); // Space alone is not enough.
    await stopEmbeddedServer(dataDir);
    expect((await start("")).url).toBe(url);
    await (await late).stop();
    await until("all goes on", async () => {
      const now = await statuses(mesh, sagas);
      return now.slice(0, -1).every((one) => one === "completed") && now.at(-1) !== "running";
    });
    expect([...done.values()].filter((times) => times !== 1)).toEqual([]);
    expect(codes(await doctor(url))).toEqual([]);
    expect(await readFile(join(dataDir, "server.log"), "utf8")).toContain("no space left");
  }, 60_000);

  test("an account's limit that is reached is named as such, and what waits goes on when it is raised", async () => {
    const configOf = (max: string) =>
      `accounts { A: { jetstream: { max_file: ${max} }, users: [{ user: a, password: a }] } }`;
    const { dataDir, start, url, mesh, done } = await meshOnDisk(configOf("1MB"), "a:a@");
    const { error, ms, sagas } = await startUntilRefused(mesh);
    expect(error.code).toBe("STORAGE_FULL");
    expect(error.message).toContain("account");
    expect(error.remedy).toContain("max_file");
    expect(ms).toBeLessThan(10_000);
    const look = await doctor(url);
    expect(saying(look, "STORAGE_FULL")).toContain("the account's limit is reached");
    expect(codes(look)).not.toContain("NO_HOST");
    await stopEmbeddedServer(dataDir);
    await start(configOf("6MB"));
    await until("all goes on", async () =>
      (await statuses(mesh, sagas)).slice(0, -1).every((one) => one === "completed"),
    );
    expect([...done.values()].filter((times) => times !== 1)).toEqual([]);
  }, 60_000);
});
