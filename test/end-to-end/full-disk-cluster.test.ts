/**
 * One server's disk of a cluster is full: the others go on, also for those who are connected to it, and it is named.
 *
 * Method: three real servers, the store of one on a disk of 24 MB; a host and a worker that know that server alone.
 */
import { mkdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startLocalCluster } from "../../deploy/local-cluster.ts";
import { dial } from "../../services/nats/connection.ts";
import { diesWithProcess } from "../support/cluster.ts";
import { codes, lookUntil } from "../support/doctor.ts";
import { errandApp, errandOf } from "../support/errand-app.ts";
import { openRealMesh, until } from "../support/real-mesh.ts";
import { smallDisk, whyNoDisk } from "../support/small-disk.ts";

const minute = 60_000;

test.skipIf(whyNoDisk !== undefined)(
  `a cluster goes on while one server's disk is full, also through that server, and doctor names it (${whyNoDisk ?? "a tmpfs"})`,
  async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "sagamesh-cluster-"));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const folder = join(dataDir, "n1");
    mkdirSync(folder);
    const disk = smallDisk(24, folder);
    onTestFinished(() => disk.remove());
    const cluster = await startLocalCluster({ dataDir, report: () => undefined });
    const { kill, spare } = diesWithProcess(cluster);
    onTestFinished(() => {
      spare();
      kill();
    });
    const [full] = cluster.servers;
    const makes = await openRealMesh(cluster.url, { replicas: 3 });
    onTestFinished(() => makes.close());
    await disk.fill();
    const hasLeft = async () => {
      await makes.ports.registry.put("filling", new Uint8Array(100_000));
      const nc = await dial({ servers: full!.url, name: "test" });
      await nc.close();
      return nc.info?.jetstream !== true;
    };
    await until("it switches its JetStream off", hasLeft, minute);

    const mesh = await openRealMesh(full!.url, { replicas: 3 });
    onTestFinished(() => mesh.close());
    const done: string[] = [];
    const app = errandApp(async (key) => void done.push(key));
    await mesh.host(app);
    await mesh.worker(app);
    const saga = await mesh.client.start(
      errandOf(async () => undefined),
      { name: "through it" },
    );
    expect(await saga.result()).toMatchObject({ status: "completed" });
    expect(done).toHaveLength(1);
    const named = await lookUntil(full!.url, (one) => codes(one).includes("SERVER_WITHOUT_JETSTREAM"));
    expect(codes(named)).not.toContain("SERVER_MISCONFIGURED");

    await disk.free();
    full!.signal("SIGKILL");
    await full!.start();
    const whole = await lookUntil(full!.url, (one) => codes(one).length === 0);
    expect(codes(whole)).toEqual([]);
  },
  180_000,
);
