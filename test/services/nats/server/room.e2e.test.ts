/** An embedded server that stores no more, and when it is restarted. Method: real servers on a small disk. */
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { isMeshError, type MeshError } from "../../../../protocol/errors.ts";
import { connectNats } from "../../../../services/nats/connection.ts";
import { openNatsPorts } from "../../../../services/nats/open.ts";
import { findRunningServer, startEmbeddedServer } from "../../../../services/nats/server/embedded.ts";
import { hasRoom, watchRoom } from "../../../../services/nats/server/room.ts";
import { until } from "../../../support/real-mesh.ts";
import { smallDisk, whyNoDisk } from "../../../support/small-disk.ts";

const minute = 60_000;

test("ZL1: there is room where 64 MiB or a twentieth of the disk is free", () => {
  const [small, large] = [8_000_000, 1e12];
  const has = (freeBytes: number, sizeBytes: number) => hasRoom({ freeBytes, sizeBytes });
  expect([has(small / 20, small), has(small / 21, small)]).toEqual([true, false]);
  expect([has(64 * 1024 * 1024, large), has(63 * 1024 * 1024, large)]).toEqual([true, false]);
});

describe.skipIf(whyNoDisk !== undefined)(`on a disk of its own (${whyNoDisk ?? "a tmpfs"})`, () => {
  test("ZL1: a server at its limit is restarted once its limit would be larger, by one of two that see to it, and keeps its durability", async () => {
    const disk = smallDisk(48);
    onTestFinished(() => disk.remove());
    await disk.fill(30_000_000);
    const said: string[] = [];
    const report = (line: string) => void said.push(line);
    const server = await startEmbeddedServer({
      dataDir: join(disk.path, "server"),
      report,
      syncAlways: true,
    });
    onTestFinished(() => server.stop());
    const other = await startEmbeddedServer({ dataDir: server.dataDir, report });
    onTestFinished(() => other.stop());
    const nc = await connectNats({ servers: server.url, name: "test" });
    onTestFinished(() => nc.close());
    const ports = await openNatsPorts(nc);
    onTestFinished(() => ports.close());
    for (const one of [server, other]) {
      const watch = watchRoom(nc, one, report, { askEveryMs: 500 });
      onTestFinished(() => watch.stop());
    }
    const put = (key: string): Promise<MeshError | undefined> =>
      ports.registry.put(key, new Uint8Array(60_000)).then(
        () => undefined,
        (error: unknown) => (isMeshError(error) ? error : Promise.reject(error)),
      );
    let refusal: MeshError | undefined;
    for (let k = 0; refusal === undefined; k++) refusal = await put(`k${k}`);
    expect(refusal.message).toContain("10023");
    expect((await put("again"))?.message).toContain("10023");
    expect(await findRunningServer(server.dataDir)).toMatchObject({ pid: server.pid });
    await disk.free();
    await until("it stores again", async () => (await put("after")) === undefined, minute);
    expect(await findRunningServer(server.dataDir)).toMatchObject({ url: server.url, syncAlways: true });
    await until("it was said", () => said.some((line) => line.endsWith("stores again")), minute);
    expect(said.filter((line) => line.endsWith("stores again"))).toHaveLength(1);
  }, 120_000);
});
