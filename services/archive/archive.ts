/**
 * Archive: moves a finished saga's turns from LEDGER to a file.
 *
 * The steps: read → file, verified → tombstone → purge. A process may die between any two of them, and may be
 * started again, or twice at once, at any time:
 *
 * AV1 Nothing is purged that this very process has not read back from a file on disk, whole and verified.
 * AV2 The tombstone is appended by compare-and-set on the last message that was read, of which all behind the last turn in
 *     the file is foreign. A turn that came meanwhile refuses it, and the saga is looked at anew.
 * AV3 From the tombstone on the saga is archived, whether its turns are still there or not; what is left is
 *     purged by the next run of `archive`, after it was written to a file of its own if it stands in none.
 * AV4 Blobs stay on the server, for other sagas may name them: they are shared by content, and a sweep would race
 *     with a host that is about to name one that is there. Claims stay for ever: a claim that vanished would let a late
 *     delivery perform its effect again.
 * AV5 What is appended is judged by what is said of signatures after it was stored (services/ledger/trust.ts), before
 *     anything is purged for it: a tombstone that does not count would leave nothing that does.
 */
import { access, mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { encodeJson, offload } from "../../protocol/codec.ts";
import { chainHash } from "../../protocol/digest.ts";
import type { ArchiveDocument } from "../../protocol/documents/archive.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { headers } from "../../protocol/subjects.ts";
import { type Tombstone, tombstoneEvent } from "../../protocol/tombstone.ts";
import { type Registered, viewingBy } from "../client/registry.ts";
import { verifyLedger } from "../views/verify.ts";
import { readLedger, type SagaView, viewOf } from "../views/view.ts";
import { isTombstone, readTombstone } from "../ledger/reader.ts";
import { patiently } from "../wire/patience.ts";
import type { Chance, Clock, Ports, StoredMessage } from "../wire/ports.ts";
import { type Signer, signTurn } from "../wire/signing.ts";
import { reasonToKeep, remainsOf } from "./due.ts";
import { archiveName, ledgerOf, nameFile, onDisk, readArchive, writeArchive } from "./file.ts";
import { manifestOfView } from "./manifest.ts";
import { chainOf, emptyHead, lastTurnOf } from "../ledger/chain.ts";

export interface ArchiveDeps {
  readonly ports: Pick<Ports, "ledger" | "blobs" | "snapshots" | "claims" | "trust">;
  /** Signs tombstones; without it none is signed. */
  readonly signer?: Signer | undefined;
  readonly clock: Clock;
  readonly chance: Chance;
  /** The person or program that archives; the tombstone records it. */
  readonly by: string;
  /** Where the files are. */
  readonly folder: string;
  /** What hosts have registered, which an archive keeps. */
  readonly registered: Registered;
}

export interface ArchiveOptions {
  /** How long ago the last turn must be by the server's clock, in milliseconds. */
  readonly afterMs: number;
  /** Effects in doubt are no reason to keep it. */
  readonly isForced: boolean;
  /** Only says what would be done. */
  readonly isDryRun: boolean;
}

/** A saga's turns as they are stored, with what they say. */
interface Whole {
  readonly messages: readonly StoredMessage[];
  readonly last: StoredMessage;
  readonly view: SagaView;
}

/**
 * Archives one saga if it is due. After a crash at any point the ledger, or a verified file, holds every turn, and the
 * same call goes on. Throws SAGA_UNKNOWN, LEDGER_BROKEN, ARCHIVE_BROKEN if the file is another's, ARCHIVE_UNWRITABLE,
 * UNAVAILABLE.
 */
export async function archiveSaga(
  deps: ArchiveDeps,
  saga: SagaId,
  options: ArchiveOptions,
): Promise<ArchiveDocument> {
  const { ports, clock } = deps;
  for (let looks = 1; ; looks++) {
    const last = await patiently(clock, () => lastTurnOf(ports, saga));
    if (last === undefined) throw new MeshError("SAGA_UNKNOWN", `there is no saga ${saga}`);
    const now = isTombstone(last) ? 0 : await patiently(clock, () => ports.claims.now());
    if (!isTombstone(last) && now - last.storedAt < options.afterMs)
      return { saga, outcome: "kept", reason: "its last turn is too young" };
    // AV2: a tombstone follows the last message, though it be no turn.
    const endSeq = Math.max(last.seq, (await patiently(clock, () => ports.ledger.last(saga)))?.seq ?? 0);
    const stored = await patiently(clock, () => ports.ledger.read(saga, 0, endSeq));
    if (stored.at(-1)?.seq !== endSeq) {
      // Purged by another meanwhile, or a replica lags.
      if (looks < looksMax) continue;
      throw new MeshError("UNAVAILABLE", `the ledger of ${saga} cannot be read up to ${endSeq}`);
    }
    const { links, tombstone } = chainOf(saga, emptyHead, stored);
    if (!isTombstone(last) && (tombstone ?? links.at(-1)?.message)?.seq !== last.seq) continue; // AV2
    const messages = links.map(({ message }) => message);
    if (isTombstone(last)) return finish(deps, saga, { last, before: messages }, options);
    const whole = await readWhole(deps, saga, messages);
    const reason = reasonToKeep(whole.view, options.isForced);
    const turns = messages.length;
    if (reason !== undefined) return { saga, outcome: "kept", turns, reason };
    if (options.isDryRun) return { saga, outcome: "due", turns };
    const bytes = await ensureFile(deps, saga, whole, now);
    // Before the tombstone: where the server's storage is full, this makes room for it.
    await patiently(clock, () => ports.snapshots.drop(saga));
    const tombstoneSeq = await bury(deps, saga, whole, { archivedAt: now, endSeq });
    if (tombstoneSeq === undefined) continue; // AV2
    if (!(await stands(deps, saga, tombstoneSeq))) continue; // AV5
    await patiently(clock, () => ports.ledger.purgeBefore(saga, tombstoneSeq));
    return { saga, outcome: "archived", file: archiveName(saga), turns, bytes };
  }
}

const looksMax = 5;

/** AV5. Throws TRUST_UNSETTLED, UNAVAILABLE. */
async function stands({ ports, clock }: ArchiveDeps, saga: SagaId, seq: number): Promise<boolean> {
  await patiently(clock, async () => ports.trust?.learn());
  if ((ports.trust?.revision() ?? 0) === 0) return true;
  const last = await patiently(clock, () => lastTurnOf(ports, saga));
  return last?.seq === seq;
}

/** AV3. */
async function finish(
  deps: ArchiveDeps,
  saga: SagaId,
  { last, before }: { last: StoredMessage; before: readonly StoredMessage[] },
  { isDryRun }: ArchiveOptions,
): Promise<ArchiveDocument> {
  const { ports, clock } = deps;
  const { file, turns, prev, archivedAt } = await readTombstone(ports.blobs, last);
  if (before.length === 0) return { saga, outcome: "already", file, turns };
  if (isDryRun) return { saga, outcome: "due", turns };
  const whole = await readWhole(deps, saga, before);
  if (chainHash(whole.last.data) !== prev)
    throw new MeshError("LEDGER_BROKEN", `the tombstone of ${saga} follows another turn than the last one`);
  const bytes = await ensureFile(deps, saga, whole, archivedAt);
  await patiently(clock, () => ports.snapshots.drop(saga));
  await patiently(clock, () => ports.ledger.purgeBefore(saga, last.seq));
  return { saga, outcome: "archived", file: archiveName(saga), turns, bytes };
}

async function readWhole(
  { ports, clock, registered }: ArchiveDeps,
  saga: SagaId,
  messages: readonly StoredMessage[],
): Promise<Whole> {
  const last = messages.at(-1);
  if (last === undefined) throw new MeshError("INTERNAL", "a ledger that is archived has a turn");
  const source = { ledger: ledgerOf(saga, messages), blobs: ports.blobs };
  const turns = await patiently(clock, () => readLedger(source, saga));
  const view = viewOf(
    turns.map(({ turn }) => turn),
    viewingBy(registered),
  );
  return { messages, last, view };
}

/** A verified file of exactly these turns under the saga's name (AV1). Its size. */
async function ensureFile(
  deps: ArchiveDeps,
  saga: SagaId,
  whole: Whole,
  archivedAt: number,
): Promise<number> {
  const { clock, chance, folder, ports } = deps;
  const path = join(folder, archiveName(saga));
  await patiently(clock, () => assertSound(deps, saga, whole));
  if (!(await isThere(path, saga, whole))) {
    const draft = join(folder, `.${archiveName(saga)}.${chance.nonce()}${draftSuffix}`);
    try {
      const blobs = { get: (digest: string) => patiently(clock, () => ports.blobs.get(digest)) };
      const options = { at: archivedAt, registered: deps.registered };
      const manifest = manifestOfView(saga, whole.messages, whole.view, options);
      await writeArchive(draft, [{ manifest, messages: whole.messages, blobs }]);
      await assertHolds(draft, saga, whole);
      await nameFile(draft, path);
    } finally {
      await rm(draft, { force: true });
    }
  }
  return (await stat(path)).size;
}

/** Whether the file is there already. One of fewer turns of this ledger is none: it is written anew. */
async function isThere(path: string, saga: SagaId, { messages, last }: Whole): Promise<boolean> {
  if (!(await exists(path))) return false;
  const { manifest, messages: own } = await readArchive(path);
  const isOurs =
    manifest.saga === saga && own.every(({ data }, index) => isSame(data, messages[index]?.data));
  if (!isOurs) throw new MeshError("ARCHIVE_BROKEN", `${path} holds another ledger than the one of ${saga}`);
  if (manifest.head.hash !== chainHash(last.data)) return false;
  if (own.some(({ seq }, index) => seq !== messages[index]?.seq)) return false; // They were written again since.
  await assertHolds(path, saga, { messages, last });
  return true;
}

/** Reads the file back: every byte and header as the ledger has it, every blob, and the chain. */
async function assertHolds(
  path: string,
  saga: SagaId,
  { messages }: Pick<Whole, "messages" | "last">,
): Promise<void> {
  const archive = await readArchive(path);
  const isWhole =
    archive.messages.length === messages.length &&
    archive.messages.every((own, index) => {
      const message = messages[index];
      return (
        message !== undefined &&
        isSame(own.data, message.data) &&
        own.seq === message.seq &&
        own.storedAt === message.storedAt &&
        JSON.stringify(own.headers) === JSON.stringify(message.headers)
      );
    });
  if (!isWhole)
    throw new MeshError("ARCHIVE_BROKEN", `${path} does not hold what the ledger of ${saga} does`);
  const [finding] = (await verifyLedger(archive.source, saga)).findings;
  if (finding !== undefined)
    throw new MeshError("ARCHIVE_BROKEN", `${path}: turn ${finding.turn}: ${finding.what}`);
}

/** Of a ledger that is not whole, no archive can be. */
async function assertSound({ ports }: ArchiveDeps, saga: SagaId, { messages }: Whole): Promise<void> {
  const source = { ledger: ledgerOf(saga, messages), blobs: ports.blobs };
  const [finding] = (await verifyLedger(source, saga)).findings;
  if (finding !== undefined)
    throw new MeshError(
      "LEDGER_BROKEN",
      `turn ${finding.turn} of ${saga}: ${finding.what}; it is not archived`,
    );
}

const isSame = (a: Uint8Array, b: Uint8Array | undefined): boolean =>
  b !== undefined && Buffer.compare(a, b) === 0;

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Appends the tombstone (AV2) and gives its sequence; undefined if the ledger has moved. */
async function bury(
  { ports, clock, by, signer }: ArchiveDeps,
  saga: SagaId,
  { messages, last, view }: Whole,
  { archivedAt, endSeq }: { readonly archivedAt: number; readonly endSeq: number },
): Promise<number | undefined> {
  const tombstone: Tombstone = {
    v: 1,
    type: "tombstone",
    saga,
    archivedAt,
    by,
    file: archiveName(saga),
    turns: messages.length,
    prev: chainHash(last.data),
    ...remainsOf(view),
  };
  let data = encodeJson(tombstone);
  if (data.length > limits.inlineBytesMax) {
    const smaller = offload(tombstone);
    for (const { digest, bytes } of smaller.blobs)
      await patiently(clock, () => ports.blobs.put(digest, bytes));
    data = encodeJson(smaller.value);
  }
  const fields = {
    [headers.saga]: saga,
    [headers.event]: tombstoneEvent,
    [headers.agent]: view.definition.name,
    ...(signer === undefined ? {} : { [headers.signature]: signTurn(signer, data) }),
  };
  const message = { data, headers: fields, expectedSeq: endSeq };
  try {
    return (await patiently(clock, () => ports.ledger.append(saga, message))).seq;
  } catch (error) {
    if (isMeshError(error, "WRONG_SEQUENCE")) return undefined; // Or it is stored and the answer was lost: AV3.
    throw error;
  }
}

const draftSuffix = ".draft";
/** What a process that died has left. A living one needs seconds. */
const draftAgeMaxMs = 86_400_000;

/** Makes the folder, for this user alone, and clears it of what dead processes left. Throws ARCHIVE_UNWRITABLE. */
export const openFolder = (folder: string, now: number): Promise<void> =>
  onDisk(folder, async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const name of await readdir(folder)) {
      if (!name.endsWith(draftSuffix)) continue;
      const path = join(folder, name);
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: now })); // Just named, or cleared by another.
      if (now - mtimeMs > draftAgeMaxMs) await rm(path, { force: true });
    }
  });
