/**
 * File: sagas as gzipped lines of JSON: what `archive` and `export` write. `zcat FILE | jq` reads it, and so does every
 * language.
 *
 * Owns: writing and reading one. Does not own: when, and what follows (archive.ts), and the file that holds thousands
 * (bundle.ts). The first line is the manifest; then the turns' messages in order, with the bytes and headers that the ledger had; then the same of each
 * other saga; then each blob that a turn, or another blob, names, so that nothing outside is needed to read it.
 *
 * AF1 A file is on disk when `writeFile` returns: its bytes and, once `nameFile` returns, its name.
 * AF2 What `readArchive` returns answers like a mesh that holds these sagas alone: whatever reads a ledger there
 *     reads it here.
 * AF3 A file that was changed is found: the manifest names the last turn's hash, each turn the one before, a blob is
 *     named by its own, and each line has its sum (lines.ts).
 */
import { createWriteStream } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { contentTypes, decodeOwn, isBlobRef, mayHoldBlob } from "../../protocol/codec.ts";
import type { ArchivedMessage, ArchiveManifest } from "../../protocol/documents/archive.ts";
import { describeError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { headers } from "../../protocol/subjects.ts";
import type { LedgerSource } from "../ledger/reader.ts";
import { processLoop } from "../wire/loop.ts";
import type { StoredMessage } from "../wire/ports.ts";
import { type Examined, examineFile, lineOf } from "./lines.ts";

export interface Archive {
  /** Of the saga that the file is of; a bundle may hold others, its children. */
  readonly manifest: ArchiveManifest;
  readonly messages: readonly StoredMessage[];
  readonly source: LedgerSource;
  /** Of every saga in it, that one first. */
  readonly manifests: readonly ArchiveManifest[];
}

/** One saga as it is written. */
export interface ArchiveSection {
  readonly manifest: ArchiveManifest;
  readonly messages: readonly StoredMessage[];
  readonly blobs: LedgerSource["blobs"];
}

/** A file of one saga in a folder, as exports are named, and archives were before there were bundles. */
export const archiveName = (saga: SagaId): string => `${saga}${archiveSuffix}`;
export const archiveSuffix = ".jsonl.gz";

/** Writes a new file and waits for the disk. Throws ARCHIVE_UNWRITABLE, and what reading a blob throws. */
export async function writeArchive(path: string, sections: readonly ArchiveSection[]): Promise<void> {
  const lines = Readable.from(linesOf(sections));
  await onDisk(path, () =>
    pipeline(lines, createGzip(), createWriteStream(path, { flags: "wx", mode: 0o600, flush: true })),
  );
}

/** Gives a file its name, in place of the one that has it, and waits for the disk (AF1). */
export const nameFile = (from: string, to: string): Promise<void> =>
  onDisk(to, async () => {
    await rename(from, to);
    const folder = await open(dirname(to), "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  });

/** Runs what writes to the folder; what the system says against it is ARCHIVE_UNWRITABLE. */
export async function onDisk<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (typeof (error as NodeJS.ErrnoException).syscall !== "string") throw error;
    throw new MeshError("ARCHIVE_UNWRITABLE", `${path}: ${describeError(error)}`, { cause: error });
  }
}

async function* linesOf(sections: readonly ArchiveSection[]): AsyncGenerator<string> {
  const named = new Map<string, LedgerSource["blobs"]>();
  for (const section of sections) yield* ownLines(section, named);
  for await (const [, line] of blobLines(named)) yield line;
}

/** A saga's manifest and turns as lines; the blobs that its turns name are put where the others are. */
export function* ownLines(
  { manifest, messages, blobs }: ArchiveSection,
  named: Map<string, LedgerSource["blobs"]>,
): Generator<string> {
  yield lineOf(manifest);
  for (const [index, message] of messages.entries()) {
    yield lineOf(toLine(message, index + 1));
    if (mayHoldBlob(message.data)) gather(decodeOwn(message.data, contentTypeOf(message)), named, blobs);
  }
}

/** By their digests the lines of the blobs that are named, of which one may name others. */
export async function* blobLines(
  named: Map<string, LedgerSource["blobs"]>,
): AsyncGenerator<readonly [digest: string, line: string]> {
  for (const [digest, blobs] of named) {
    const bytes = await blobs.get(digest);
    gather(decodeOwn(bytes, contentTypes.msgpack), named, blobs);
    yield [digest, lineOf({ blob: digest, base64: Buffer.from(bytes).toString("base64") })];
  }
}

/** The digests of all blobs that messages name, with those that blobs at hand name. */
export function digestsNamed(
  messages: readonly StoredMessage[],
  blobs: ReadonlyMap<string, Uint8Array>,
): string[] {
  const named = new Map<string, LedgerSource["blobs"]>();
  const source = blobsOf(blobs);
  for (const message of messages)
    if (mayHoldBlob(message.data)) gather(decodeOwn(message.data, contentTypeOf(message)), named, source);
  for (const digest of named.keys()) {
    const bytes = blobs.get(digest);
    if (bytes !== undefined) gather(decodeOwn(bytes, contentTypes.msgpack), named, source);
  }
  return [...named.keys()];
}

const contentTypeOf = (message: StoredMessage): string =>
  message.headers[headers.contentType] ?? contentTypes.json;

/** Text stays text, for people who look into the file; what does not survive that is told in base64. */
function toLine(
  { subject, seq, storedAt, headers: fields, data }: StoredMessage,
  turn: number,
): ArchivedMessage {
  const bytes = Buffer.from(data);
  const body = bytes.toString();
  const kept = Buffer.from(body).equals(bytes) ? { body } : { base64: bytes.toString("base64") };
  return { turn, subject, seq, storedAt, headers: { ...fields }, ...kept };
}

function gather(value: Json, named: Map<string, LedgerSource["blobs"]>, blobs: LedgerSource["blobs"]): void {
  if (typeof value !== "object" || value === null) return;
  if (isBlobRef(value)) {
    if (!named.has(value.$blob)) named.set(value.$blob, blobs);
  } else for (const member of Object.values(value)) gather(member, named, blobs);
}

/**
 * Reads a file whole: memory of its unpacked size. Throws ARCHIVE_BROKEN for what is none, or is not all there; its
 * chain and its blobs are checked when they are read, and every byte by `verifyArchive`.
 */
export const readArchive = async (path: string): Promise<Archive> => archiveOf(path, await examineFile(path));

/** What was read of a file, or of a part of it. Throws as `readArchive`. */
export function archiveOf(path: string, { sections, blobs }: Examined): Archive {
  const broken = (what: string) => new MeshError("ARCHIVE_BROKEN", `${path}: ${what}`);
  const gap = sections.flatMap(({ faults }) => faults).find(({ isGap }) => isGap);
  if (gap !== undefined) throw broken(gap.what);
  const whole = sections.flatMap(({ manifest, messages }) =>
    manifest === undefined
      ? []
      : [{ manifest, messages: messages.filter((message) => message !== undefined) }],
  ); // Proof: no gap.
  const [first] = whole;
  if (first === undefined) throw broken("it has no first line");
  const ledgers = new Map(
    whole.map(({ manifest: { saga }, messages }) => [saga, ledgerOf(saga, messages)] as const),
  );
  const ledgerOfSaga = (saga: SagaId) => ledgers.get(saga) ?? ledgerOf(saga, []);
  const ledger: LedgerSource["ledger"] = {
    last: (of) => ledgerOfSaga(of).last(of),
    read: (of, ...range) => ledgerOfSaga(of).read(of, ...range),
  };
  const manifests = whole.map(({ manifest }) => manifest);
  return { ...first, manifests, source: { ledger, blobs: blobsOf(blobs), loop: processLoop } };
}

/** Messages as the ledger that they are all of. */
export const ledgerOf = (saga: SagaId, messages: readonly StoredMessage[]): LedgerSource["ledger"] => ({
  last: async (of) => (of === saga ? messages.at(-1) : undefined),
  read: async (of, afterSeq, throughSeq, most = messages.length) => {
    const from = messages.findIndex(({ seq }) => seq > afterSeq);
    if (of !== saga || from < 0) return [];
    return messages.slice(from, from + most).filter(({ seq }) => seq <= throughSeq);
  },
});

/** Blobs at hand. */
export const blobsOf = (blobs: ReadonlyMap<string, Uint8Array>): LedgerSource["blobs"] => ({
  get: async (digest) => {
    const bytes = blobs.get(digest);
    if (bytes === undefined) throw new MeshError("LEDGER_BROKEN", `blob ${digest} is not in the archive`);
    return bytes;
  },
});
