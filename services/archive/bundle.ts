/**
 * Bundle: the sagas that one run archives, in one file in which each is found without reading the others.
 *
 * A row of *blocks*, each a gzip member of its own with the lines of some sagas (file.ts); then a block of one line, the
 * index, which tells in which block a saga is; then an empty member that tells in its header where the index begins. So
 * `zcat BUNDLE | jq` reads it like any archive. Sagas of one definition are much alike: packed together they take a
 * fraction of what they take alone.
 *
 * BN1 A block holds whole sagas, and every blob that they name. What is in no other block is read from one.
 * BN2 A bundle has its index last, and each manifest in it says that there is one: a bundle that was cut is known for that
 *     wherever it was cut.
 */
import { type FileHandle, open } from "node:fs/promises";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { BundleIndex } from "../../protocol/documents/archive.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Chance } from "../wire/ports.ts";
import { archiveSuffix, onDisk } from "./file.ts";
import { isSummed, lineOf } from "./lines.ts";

const pack = promisify(gzip);
const unpack = promisify(gunzip);

/** Of lines, before they are packed: enough that sagas alike are packed well, and a saga is read within milliseconds. */
const blockBytesMin = 262_144;
/** Sagas of a bundle: what a run that dies has to do again, and an index that is read at once. */
const sagasMax = 5_000;
/** Of lines, before they are packed. */
const bytesMax = 256 * 1_024 * 1_024;

const prefix = "archived-";

/**
 * A name for a bundle, in the order of time: `archived-2026-03-01T09-00-00-123-x7b2.jsonl.gz`. `now`: milliseconds since the
 * epoch.
 */
export function bundleName(now: number, chance: Pick<Chance, "nonce">): string {
  const time = new Date(now).toISOString().replace(/[:.]/g, "-").replace("Z", "");
  return `${prefix}${time}-${chance.nonce().replace(/\W/g, "").slice(0, 8)}${archiveSuffix}`;
}

/** Whether a file's name may be a bundle's: the file is opened to know. */
export const looksLikeBundle = (name: string): boolean =>
  name.startsWith(prefix) && name.endsWith(archiveSuffix);

/** A saga's lines: its manifest's and its turns', and by their digests those of the blobs that it names. */
export interface SagaLines {
  readonly lines: readonly Buffer[];
  readonly blobs: ReadonlyMap<string, Buffer>;
}

/** A bundle that is being written. Every method throws ARCHIVE_UNWRITABLE. */
export interface BundleDraft {
  /** Takes a saga in; waits while much is to be written. */
  add(saga: SagaId, lines: SagaLines): Promise<void>;
  isFull(): boolean;
  /** Writes the index and waits for the disk. */
  end(): Promise<BundleIndex>;
  /** Lets go of the file, whole or not. */
  close(): Promise<void>;
}

/** A new file. Throws ARCHIVE_UNWRITABLE. */
export async function openBundle(path: string, { blockBytes = blockBytesMin } = {}): Promise<BundleDraft> {
  const file = await onDisk(path, () => open(path, "wx", 0o600));
  const blocks: BundleIndex["blocks"] = [];
  let block = emptyBlock();
  let at = 0;
  let [sagas, bytes] = [0, 0];
  let writing: Promise<void> = Promise.resolve();
  const write = async (parts: readonly Buffer[]): Promise<number> => {
    const packed = await pack(Buffer.concat(parts));
    await onDisk(path, () => writeAll(file, packed));
    at += packed.length;
    return packed.length;
  };
  const flush = (): Promise<void> => {
    const full = block;
    block = emptyBlock();
    writing = writing.then(async () => {
      const begins = at;
      blocks.push({ at: begins, length: await write(full.parts), sagas: full.sagas });
    });
    return writing;
  };
  return {
    isFull: () => sagas >= sagasMax || bytes >= bytesMax,
    add: async (saga, { lines, blobs }) => {
      const parts = [...lines];
      for (const [digest, line] of blobs)
        if (!block.blobs.has(digest)) {
          block.blobs.add(digest);
          parts.push(line);
        }
      for (const part of parts) {
        block.parts.push(part);
        block.bytes += part.length;
        bytes += part.length;
      }
      block.sagas.push(saga);
      sagas += 1;
      if (block.bytes >= blockBytes) await flush();
    },
    end: async () => {
      if (block.sagas.length > 0) await flush();
      await writing;
      const index: BundleIndex = { format: "sagamesh.index", v: 1, blocks };
      const begins = at;
      await write([Buffer.from(lineOf(index))]);
      await onDisk(path, async () => {
        await writeAll(file, trailerOf(begins));
        await file.sync();
      });
      return index;
    },
    close: async () => {
      await writing.catch(() => undefined); // Told to who added.
      await file.close();
    },
  };
}

const emptyBlock = () => ({
  parts: [] as Buffer[],
  sagas: [] as SagaId[],
  blobs: new Set<string>(),
  bytes: 0,
});

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await file.write(bytes, done, bytes.length - done, null)).bytesWritten;
}

/** RFC 1952: an empty member whose extra field, "SM", has where the index begins, in eight bytes, the lowest first. */
const trailerHead = Buffer.from([0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 12, 0, 0x53, 0x4d, 8, 0]);
const trailerTail = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
const trailerBytes = trailerHead.length + 8 + trailerTail.length;

function trailerOf(begins: number): Buffer {
  const place = Buffer.alloc(8);
  place.writeBigUInt64LE(BigInt(begins));
  return Buffer.concat([trailerHead, place, trailerTail]);
}

/**
 * A bundle's index; undefined for a file that has none: an archive of one saga, an export, or what is no archive at all. Throws
 * ARCHIVE_BROKEN.
 */
export async function readIndex(path: string): Promise<BundleIndex | undefined> {
  const broken = (what: string) => new MeshError("ARCHIVE_BROKEN", `${path}: ${what}`);
  const file = await open(path, "r").catch((error: unknown) => {
    throw broken(describeError(error));
  });
  try {
    const { size } = await file.stat();
    if (size < trailerBytes) return undefined;
    const trailer = await readAt(file, size - trailerBytes, trailerBytes);
    const place = trailerHead.length;
    const isTrailer =
      trailer.subarray(0, place).equals(trailerHead) && trailer.subarray(place + 8).equals(trailerTail);
    if (!isTrailer) return undefined;
    const begins = Number(trailer.readBigUInt64LE(place));
    if (begins >= size - trailerBytes) throw broken("its index is not where it says");
    const line = (await unpack(await readAt(file, begins, size - trailerBytes - begins))).toString();
    if (!isSummed(line.trimEnd())) throw broken("its index is not as it was written");
    return BundleIndex.parse(JSON.parse(line));
  } catch (error) {
    throw error instanceof MeshError ? error : broken(`its index cannot be read: ${describeError(error)}`);
  } finally {
    await file.close();
  }
}

async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, at);
  return bytes.subarray(0, bytesRead);
}
