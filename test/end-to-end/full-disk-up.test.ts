/**
 * `up` on a disk that fills up and is freed: it restarts its own server, and all goes on; started on a full one it waits.
 *
 * Method: the command as people run it, a process of its own, on a disk of 8 MB; the outside is a file elsewhere.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { existsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ServingDocument } from "../../protocol/documents/process.ts";
import { connect } from "../../services/runtime/connect.ts";
import { findRunningServer, stopEmbeddedServer } from "../../services/nats/server/embedded.ts";
import { doneIn, perKind, till } from "../apps/till.ts";
import { startCli } from "../support/cli.ts";
import { codes, doctor } from "../support/doctor.ts";
import { until } from "../support/real-mesh.ts";
import { smallDisk, whyNoDisk } from "../support/small-disk.ts";

/** A disk of 8 MB, and how an `up` is started on it whose outside is a file on another disk. */
async function openDisk() {
  const disk = smallDisk(8);
  onTestFinished(() => disk.remove());
  const elsewhere = await mkdtemp(join(tmpdir(), "sagamesh-outside-"));
  onTestFinished(() => rm(elsewhere, { recursive: true, force: true }));
  const world = join(elsewhere, "world");
  writeFileSync(world, "");
  const dataDir = join(disk.path, "server");
  onTestFinished(async () => {
    if (existsSync(dataDir)) await stopEmbeddedServer(dataDir);
  });
  const up = () => {
    const args = ["up", "--app", "test/apps/till.ts", "--data", disk.path, "--no-gateway", "--json"];
    const cli = startCli(args, {
      env: { TILL_WORLD: world, SAGAMESH_RESERVE_MB: "0", SAGAMESH_CACHE: process.env["SAGAMESH_CACHE"] },
    });
    onTestFinished(async () => {
      cli.process.kill("SIGKILL");
      await cli.ended.catch(() => undefined);
    });
    const urlOf = async () => ServingDocument.parse(JSON.parse(await cli.says(/"role":.*\n/))).url;
    return { cli, urlOf };
  };
  return { disk, dataDir, world, up };
}

const inTime = { timeout: 120_000 };
const minute = 60_000;

describe.skipIf(whyNoDisk !== undefined)(`on a disk of its own (${whyNoDisk ?? "a tmpfs"})`, () => {
  test(
    "`up` restarts its own server once its full disk has room again, and every saga ends with each charge made once",
    inTime,
    async () => {
      const { disk, dataDir, world, up } = await openDisk();
      const { cli, urlOf } = up();
      const url = await urlOf();
      await using mesh = await connect({ servers: url });
      const before = await findRunningServer(dataDir);
      await disk.fill(150_000);
      const sagas = ["a", "b", "c", "d", "e", "f", "g", "h"];
      for (const id of sagas) await mesh.start(till, {}, { id }).catch(() => undefined); // Some are refused.
      await cli.says("[STORAGE_FULL]", "stderr");
      await disk.free();
      await cli.says("was restarted and stores again", "stderr");
      const after = await findRunningServer(dataDir);
      expect(after?.url).toBe(before?.url);
      expect(after?.pid).not.toBe(before?.pid);
      for (const id of sagas) await mesh.start(till, {}, { id }); // The same start again counts once.
      for (const id of sagas)
        expect(await mesh.saga(till, id).result()).toMatchObject({ status: "completed" });
      const keys = doneIn(world);
      expect(new Set(keys).size).toBe(sagas.length * 2 * perKind);
      expect(keys).toHaveLength(new Set(keys).size);
      await until("doctor finds nothing", async () => codes(await doctor(url)).length === 0, minute);
    },
  );

  test(
    "`up` that is started on a full disk waits, says why, and serves once there is room",
    inTime,
    async () => {
      const { disk, up } = await openDisk();
      await disk.fill(0);
      const { cli, urlOf } = up();
      await cli.says(/STORAGE_FULL.*no space left.*Free space/, "stderr");
      await disk.free();
      const url = await urlOf();
      await using mesh = await connect({ servers: url });
      expect(await (await mesh.start(till, {})).result()).toMatchObject({ status: "completed" });
      cli.process.kill("SIGTERM");
      expect((await cli.ended).code).toBe(0);
    },
  );
});
