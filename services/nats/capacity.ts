/**
 * Capacity: how much the server can still store, as far as it can be known: the account's limit and those of streams, which
 * every client is told; the server's own limit, where its monitoring answers.
 *
 * What is left of a server's disk no client is told. Of an embedded one it is asked where its folder is (server/disk.ts).
 */
import type { JetStreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import type { Capacity } from "../../protocol/storage.ts";
import { translated } from "./errors.ts";
import { readMonitor, usualMonitor } from "./monitor.ts";
import { isOfMesh } from "./streams.ts";
import { managerOf } from "./manager.ts";

/**
 * What is left of each thing that has a limit; none for what has none. `monitors`: where to ask; the usual unless given.
 * Throws UNAVAILABLE, SERVER_REFUSED.
 */
export async function readCapacities(
  nc: NatsConnection,
  monitors: readonly string[] = [],
): Promise<Capacity[]> {
  const jsm = await managerOf(nc);
  const all = () => Promise.all([accountOf(jsm), streamsOf(jsm), serversOf(nc, monitors)]);
  return (await translated("what is left to store in", all)).flat();
}

const capacity = (of: string, usedBytes: number, allBytes: number): Capacity[] =>
  allBytes > 0 ? [{ of, allBytes, leftBytes: Math.max(0, allBytes - usedBytes) }] : [];

async function accountOf(jsm: JetStreamManager): Promise<Capacity[]> {
  const { storage, limits } = await jsm.getAccountInfo();
  return capacity(accountStorage, storage, limits.max_storage);
}

/** Somebody else's limits: sagamesh gives its streams none. */
async function streamsOf(jsm: JetStreamManager): Promise<Capacity[]> {
  const all: Capacity[] = [];
  for await (const { config, state } of jsm.streams.list())
    if (isOfMesh(config.name)) all.push(...capacity(`stream ${config.name}`, state.bytes, config.max_bytes));
  return all;
}

async function serversOf(nc: NatsConnection, monitors: readonly string[]): Promise<Capacity[]> {
  const usual = monitors.length === 0 ? [usualMonitor(nc.getServer()) ?? []].flat() : [];
  const answers = await Promise.all([...monitors, ...usual].map(readMonitor));
  return answers.flatMap((said) => {
    if (said?.storage === undefined) return [];
    if (monitors.length === 0 && said.serverId !== nc.info?.server_id) return []; // Another server may have that port.
    return capacity(`${serverPrefix}${said.serverName}`, said.storage.usedBytes, said.storage.maxBytes);
  });
}

/** Whether it is a server's own: its limit, or its disk (server/disk.ts). */
export const isOfServer = ({ of }: Pick<Capacity, "of">): boolean =>
  of.startsWith(serverPrefix) || of.startsWith("the disk of ");

export const accountStorage = "the account's storage";
const serverPrefix = "the storage of server ";
