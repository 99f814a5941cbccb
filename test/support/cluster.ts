/**
 * A real cluster of three servers for tests: free ports, stores of its own, gone afterwards.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LocalCluster, startLocalCluster } from "../../deploy/local-cluster.ts";

/** Starts three servers. They die with the process of the test, unless that is killed hard. */
export async function startTestCluster(options: { extraConfig?: string } = {}): Promise<LocalCluster> {
  const dataDir = await mkdtemp(join(tmpdir(), "sagamesh-cluster-"));
  const cluster = await startLocalCluster({ ...options, dataDir, report: () => {} });
  const { kill, spare } = diesWithProcess(cluster);
  return {
    ...cluster,
    stop: async () => {
      spare();
      kill(); // The stores go anyway, so nothing need be ended in order.
      await cluster.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Kills the servers when this process exits, unless it is told to spare them; or at once. */
export function diesWithProcess(cluster: LocalCluster): { kill: () => void; spare: () => void } {
  const kill = () => {
    for (const server of cluster.servers)
      try {
        server.signal("SIGKILL");
      } catch {
        // It is gone already.
      }
  };
  process.once("exit", kill);
  return { kill, spare: () => void process.off("exit", kill) };
}
