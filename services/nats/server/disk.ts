/**
 * Disk: how much room the store of the embedded server has.
 *
 * ZD1 What it may hold is what it holds already and most of what is free: a limit that is reached refuses, and nothing has to be
 *     restarted, where a disk that is full breaks a stream until the server is. The server's own choice is three quarters of
 *     what is free when it starts, for all that it holds: a store of half a disk would take nothing any more after a restart.
 */
import { readdir, readFile, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { existsSync } from "node:fs";
import type { Capacity } from "../../../protocol/storage.ts";
import { serverFiles } from "./state.ts";

export interface Space {
  readonly freeBytes: number;
  /** Used by whatever it is. */
  readonly takenBytes: number;
  /** Of the whole disk. */
  readonly sizeBytes: number;
}

export interface Disk extends Space {
  /** On the disk, of the store. */
  readonly usedBytes: number;
  /** What the store may hold in all. */
  readonly storeBytesMax: number;
}

/** The rest is for what else writes there, the server's log among it. */
const shareOfFree = 0.9;

/** The disk of this store, which need not be there yet. */
export async function diskOf(store: string): Promise<Disk> {
  const [space, usedBytes] = await Promise.all([spaceOf(store), bytesIn(store)]);
  return { ...space, usedBytes, storeBytesMax: usedBytes + Math.floor(space.freeBytes * shareOfFree) };
}

/** Of the disk of a folder, or of the one that it will be made in. */
export async function spaceOf(folder: string): Promise<Space> {
  let there = folder;
  while (!existsSync(there)) there = dirname(there);
  const { bavail, bfree, blocks, bsize } = await statfs(there);
  return { freeBytes: bavail * bsize, takenBytes: (blocks - bfree) * bsize, sizeBytes: blocks * bsize };
}

/** What is left of the disk, and of the limit that the folder's server was started with. */
export async function capacitiesIn(dataDir: string): Promise<Capacity[]> {
  const { store, config } = serverFiles(dataDir);
  const { freeBytes, takenBytes, usedBytes } = await diskOf(store);
  const limit = await limitIn(config);
  const disk = { of: `the disk of ${store}`, leftBytes: freeBytes, allBytes: freeBytes + takenBytes };
  if (limit === undefined) return [disk];
  return [
    disk,
    { of: "the limit of the embedded server", leftBytes: Math.max(0, limit - usedBytes), allBytes: limit },
  ];
}

/** The limit that a server was started with, by its configuration file (config.ts). */
export async function limitIn(config: string): Promise<number | undefined> {
  const [, bytes] = /^ *max_file_store: (\d+)$/m.exec(await readFile(config, "utf8").catch(() => "")) ?? [];
  return bytes === undefined ? undefined : Number(bytes);
}

/** Files go while they are counted: what is gone counts as nothing. */
async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  let bytes = 0;
  for (const entry of entries)
    if (entry.isFile())
      bytes += (await stat(join(entry.parentPath, entry.name)).catch(() => ({ size: 0 }))).size;
  return bytes;
}
