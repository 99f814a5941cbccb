/**
 * Servers: those of a run, three or one, what they lead, and the run's own line to them, which nobody disturbs.
 *
 * V1 Every input that INBOX stores is published again by the server and kept in AUDIT: the server's own account of
 *    what it took in. What dies with a server between the two is missing there, so nothing follows from absence.
 */
import { join } from "node:path";
import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { type LocalCluster, startLocalCluster } from "../../deploy/local-cluster.ts";
import { buckets, ledgerStream, streams } from "../../protocol/subjects.ts";
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { bucketStream } from "../../services/nats/streams.ts";
import type { Ports } from "../../services/wire/ports.ts";
import { diesWithProcess } from "../support/cluster.ts";

export const auditStream = "AUDIT";

export interface Servers {
  readonly cluster: LocalCluster;
  readonly nc: NatsConnection;
  readonly jsm: JetStreamManager;
  readonly ports: Ports;
  /** Places of the server that leads the stream; undefined while none does. */
  leaderOf(stream: string): Promise<number | undefined>;
  /** Whether every copy of what counts is up to date: one server may go. */
  areCurrent(): Promise<boolean>;
  stop(): Promise<void>;
}

const counted = [streams.ledger, streams.inbox, streams.work, bucketStream(buckets.claim)];

export interface ServersOptions {
  /** Default three. */
  readonly size?: 1 | 3;
  /** Streams that ledgers are spread over. Default one. */
  readonly shards?: number;
  /** More lines of the server's own language. */
  readonly extraConfig?: string;
  /** V1. Default true; false leaves the mesh as sagamesh makes it. */
  readonly audits?: boolean;
}

/** Starts the servers, with a mesh of as many copies. */
export async function startServers(
  folder: string,
  partitions: number,
  { size = 3, shards = 1, extraConfig = "", audits = true }: ServersOptions = {},
): Promise<Servers> {
  const cluster = await startLocalCluster({
    ...{ dataDir: join(folder, "servers"), report: () => undefined, size, extraConfig },
    advertise: false, // Everybody keeps to the line that can be cut.
  });
  const { spare } = diesWithProcess(cluster);
  const nc = await connectNats({ servers: cluster.url.split(","), name: "chaos" });
  const ports = await openNatsPorts(nc, { replicas: size, partitions, shards });
  const jsm = await jetstreamManager(nc);
  if (audits) {
    await jsm.streams.add({ name: auditStream, subjects: ["audit.>"], num_replicas: size });
    const { config } = await jsm.streams.info(streams.inbox);
    await jsm.streams.update(streams.inbox, { ...config, republish: { src: ">", dest: "audit.>" } }); // V1
  }
  return {
    ...{ cluster, nc, jsm, ports },
    leaderOf: async (stream) => {
      const { cluster: group } = await jsm.streams.info(stream);
      if (size === 1) return 0;
      const place = cluster.servers.findIndex(({ name }) => name === group?.leader);
      return place < 0 ? undefined : place;
    },
    areCurrent: async () => {
      const others = Array.from({ length: shards - 1 }, (_, shard) => ledgerStream(shard + 1));
      const infos = await Promise.all([...counted, ...others].map((stream) => jsm.streams.info(stream)));
      return infos.every(({ cluster: group }) => {
        const copies = group?.replicas ?? [];
        return copies.length === size - 1 && copies.every(({ current, offline }) => current && !offline);
      });
    },
    stop: async () => {
      spare();
      await ports.close();
      await nc.close();
      await cluster.stop();
    },
  };
}
