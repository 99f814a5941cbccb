/**
 * Entries: what stands in the bucket SNAPSHOT, sealed by its digest and in pieces where it is large.
 *
 * ZE1 An entry is an array of its content's SHA-256 and the content, as MessagePack. Where they do not fit, the
 *    entry is as good as absent.
 * ZE2 What is too large for a message stands in pieces beside its entry, which says how many. They are written
 *    over by the next one: a blob for each would stay for ever.
 */
import { contentTypes, decodeOwn, encodeMsgpack } from "../../protocol/codec.ts";
import { sha256 } from "../../protocol/digest.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Ports } from "../wire/ports.ts";

/** What reading and writing entries needs. */
export interface EntryDeps {
  readonly ports: Pick<Ports, "snapshots">;
  readonly clock: Clock;
}

/** Some gigabytes: more is no snapshot, and would be asked for piece by piece. */
const piecesMax = 4_096;

/** What an entry holds. */
export interface Content {
  readonly value: Json;
  readonly digest: string;
  /** The same as bytes: those of the digest. */
  readonly bytes: Uint8Array;
}

const pieceName = (name: string | undefined, index: number): string =>
  name === undefined ? `piece-${index}` : `${name}-piece-${index}`;

/** Writes an entry over the one of its name; the snapshot itself has none. Throws TOO_LARGE, STORAGE_FULL, UNAVAILABLE. */
export async function writeEntry(
  snapshots: Ports["snapshots"],
  saga: SagaId,
  content: Uint8Array,
  name?: string,
): Promise<void> {
  const entry = seal(content);
  if (entry.length <= limits.messageBytesMax) return snapshots.put(saga, entry, name);
  const pieces = Math.ceil(content.length / limits.snapshotPieceBytes);
  for (let index = 0; index < pieces; index++) {
    const from = index * limits.snapshotPieceBytes;
    const piece = content.subarray(from, from + limits.snapshotPieceBytes);
    await snapshots.put(saga, piece, pieceName(name, index));
  }
  await snapshots.put(saga, seal(encodeMsgpack({ pieces, digest: sha256(content) })), name);
}

/** Reads one; undefined where none can be read. Throws UNAVAILABLE. */
export async function readEntry(
  { ports, clock }: EntryDeps,
  saga: SagaId,
  name?: string,
): Promise<Content | undefined> {
  const get = (entry?: string) => patiently(clock, () => ports.snapshots.get(saga, entry));
  const entry = unseal(await get(name));
  const cut = entry?.value as { pieces?: unknown; digest?: unknown } | undefined;
  if (typeof cut?.pieces !== "number") return entry;
  if (!(cut.pieces <= piecesMax)) return undefined;
  const pieces = await Promise.all(
    Array.from({ length: cut.pieces }, (_, index) => get(pieceName(name, index))),
  );
  return open(Buffer.concat(pieces.flatMap((piece) => piece ?? [])), cut.digest);
}

/** The first bytes of an entry: an array of two, and a text of 64 characters. */
const frame = [0x92, 0xd9, 64] as const;
const digestEnd = frame.length + 64;

/** ZE1. */
const seal = (content: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.from(frame), Buffer.from(sha256(content)), content]);

function unseal(entry: Uint8Array | undefined): Content | undefined {
  if (entry === undefined) return undefined;
  return open(
    entry.subarray(digestEnd),
    Buffer.from(entry.subarray(frame.length, digestEnd)).toString("latin1"),
  );
}

function open(content: Uint8Array, expected: unknown): Content | undefined {
  const digest = sha256(content);
  if (digest !== expected) return undefined;
  try {
    const value = decodeOwn(content, contentTypes.msgpack);
    return { value, digest, bytes: content };
  } catch {
    return undefined; // Its digest holds and it does not decode: whoever wrote it, the ledger is there.
  }
}
