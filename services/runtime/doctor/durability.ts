/**
 * Durability: what a turn that was acked survives, in so many words, as far as it can be known.
 *
 * How a server syncs is told by no API of JetStream. It is known of the embedded server, whose configuration is
 * ours, and of every server whose monitoring endpoint can be reached from here.
 */
import { minOf } from "../../../protocol/extremes.ts";
import type { Examination } from "../../nats/examine.ts";
import { findRunningServer } from "../../nats/server/embedded.ts";
import { type Monitored, readMonitor, usualMonitor } from "../../nats/monitor.ts";

export interface Durability {
  readonly sentences: string[];
  /** Fewest copies of any stream; 0 where there is none. */
  readonly copies: number;
  /** Of the servers whose way of syncing is known: all sync each write. Undefined: none is known. */
  readonly syncAlways: boolean | undefined;
  /** Endpoints that were named and gave no answer. */
  readonly silent: readonly string[];
}

export async function durabilityOf(
  { health }: Examination,
  where: {
    serverDir: string | undefined;
    serverId: string | undefined;
    connectedTo: string;
    monitors: readonly string[] | undefined;
  },
): Promise<Durability> {
  const there = (health?.streams ?? []).filter((stream) => stream.state === "there");
  const copies = there.length === 0 ? 0 : minOf(there.map((stream) => stream.replicas));
  const servers = new Set(
    there.flatMap(({ leader, peers }) => [leader, ...peers.map((peer) => peer.server)]),
  );
  servers.delete(undefined);
  const known = await syncOf(where);
  const syncAlways =
    known.servers.length === 0 ? undefined : known.servers.every((server) => server.syncAlways === true);
  return {
    copies,
    syncAlways,
    silent: known.silent,
    sentences:
      copies === 0
        ? []
        : [copiesSentence(copies), syncSentence(syncAlways, known.servers.length, servers.size)],
  };
}

const copiesSentence = (copies: number): string => {
  if (copies === 1)
    return "one copy: a turn survives the death of any process, not the loss of the server's disk";
  const lost = Math.floor((copies - 1) / 2);
  return lost === 0
    ? "two copies: a turn survives the loss of a server's disk, and nothing is written while a server is away"
    : `${copies} copies: a turn survives the loss of ${lost === 1 ? "one server" : `${lost} servers`}, and work goes on`;
};

function syncSentence(syncAlways: boolean | undefined, asked: number, servers: number): string {
  if (syncAlways === undefined)
    return "whether a turn survives a power cut is the server's configuration, which no client is told: --monitor asks its monitoring endpoint";
  const of = servers > 1 ? ` (asked ${asked} of ${servers} servers)` : "";
  return syncAlways
    ? `sync_interval: always${of}: a turn survives a power cut`
    : `no sync_interval: always${of}: a power cut may take the last two minutes with it`;
}

/** The embedded server by its record; else what the endpoints named say, or the usual one if it is the same server. */
async function syncOf({
  serverDir,
  serverId,
  connectedTo,
  monitors,
}: {
  serverDir: string | undefined;
  serverId: string | undefined;
  connectedTo: string;
  monitors: readonly string[] | undefined;
}): Promise<{ servers: { syncAlways: boolean | undefined }[]; silent: string[] }> {
  const embedded = serverDir === undefined ? undefined : await findRunningServer(serverDir);
  if (embedded !== undefined) return { servers: [embedded], silent: [] };
  if (monitors === undefined || monitors.length === 0) {
    const usual = usualMonitor(connectedTo);
    const found = usual === undefined ? undefined : await readMonitor(usual);
    // Another server may have that port: it is believed only if it is the one we speak to.
    return { servers: found !== undefined && found.serverId === serverId ? [found] : [], silent: [] };
  }
  const answers = await Promise.all(monitors.map(async (url) => ({ url, said: await readMonitor(url) })));
  const servers = answers.flatMap(({ said }): Monitored[] => (said === undefined ? [] : [said]));
  return { servers, silent: answers.filter(({ said }) => said === undefined).map(({ url }) => url) };
}
