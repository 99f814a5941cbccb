/**
 * Archive: moves finished sagas' turns from LEDGER to a bundle.
 *
 * The steps: read, into a draft (look.ts) → the draft read back and named → for each saga its tombstone → its claims → its purge.
 * A process may die between any two of them, and may be started again, or twice at once, at any time:
 *
 * AV1 Nothing is purged that this very process has not read back from a file on disk, whole: every byte and header as the
 *     ledger had them, and every blob. A bundle is named, and anything purged for it, only if all of it is so.
 * AV2 The tombstone is appended by compare-and-set on the last message that was read, of which all behind the last turn in
 *     the file is foreign. A turn that came meanwhile refuses it, and the saga is looked at anew.
 * AV3 From the tombstone on the saga is archived, whether its turns are still there or not; what is left is
 *     purged by the next run of `archive`, after it was written to a file of that run.
 * AV4 Blobs stay on the server, for other sagas may name them: they are shared by content, and a sweep would race
 *     with a host that is about to name one that is there. What else is left on the server: left.ts.
 * AV5 What is appended is judged by what is said of signatures after it was stored (services/ledger/trust.ts), before
 *     anything is purged for it: a tombstone that does not count would leave nothing that does.
 * AV6 A file that has its name is never written again nor taken away, so there is nothing that two runs could fight for. A run
 *     that dies leaves a draft, or a bundle of sagas that are not archived yet, and those will be in another one too.
 */
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { encodeJson, offload } from "../../protocol/codec.ts";
import { sha256 } from "../../protocol/digest.ts";
import type { ArchiveDocument, BundleIndex } from "../../protocol/documents/archive.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { headers } from "../../protocol/subjects.ts";
import { type Tombstone, tombstoneEvent } from "../../protocol/tombstone.ts";
import { lastTurnOf } from "../ledger/chain.ts";
import { patiently } from "../wire/patience.ts";
import type { Chance, Ports } from "../wire/ports.ts";
import { type Signer, signTurn } from "../wire/signing.ts";
import { digestsNamed, nameFile, onDisk } from "./file.ts";
import { examineFile } from "./lines.ts";
import type { Left } from "./left.ts";
import { type Due, type LookDeps, printOf } from "./look.ts";

export interface ArchiveDeps extends Omit<LookDeps, "now"> {
  readonly ports: Pick<Ports, "ledger" | "blobs" | "snapshots" | "claims" | "trust" | "work">;
  /** Signs tombstones; without it none is signed. */
  readonly signer?: Signer | undefined;
  readonly chance: Chance;
  /** The person or program that archives; the tombstone records it. */
  readonly by: string;
  /** Where the files are. */
  readonly folder: string;
}

/**
 * Gives a draft that is written its name, once all of it was read back (AV1). Throws ARCHIVE_BROKEN, ARCHIVE_UNWRITABLE.
 */
export async function nameBundle(
  draft: string,
  path: string,
  index: BundleIndex,
  dues: readonly Due[],
): Promise<void> {
  const prints = new Map(dues.map(({ saga, print }) => [saga, print]));
  for (const block of index.blocks) {
    const { sections, blobs } = await examineFile(draft, block);
    for (const [digest, bytes] of blobs)
      if (sha256(bytes) !== digest)
        throw new MeshError("ARCHIVE_BROKEN", `${path}: blob ${digest} is not what its name says`);
    for (const { manifest, messages, faults } of sections) {
      const whole = messages.filter((message) => message !== undefined);
      const named = digestsNamed(whole, blobs);
      const isHeld =
        manifest !== undefined &&
        faults.length === 0 &&
        named.every((digest) => blobs.has(digest)) &&
        prints.get(manifest.saga) === printOf(whole, named);
      if (!isHeld)
        throw new MeshError(
          "ARCHIVE_BROKEN",
          `${path} does not hold what the ledger of ${manifest?.saga ?? "a saga"} does`,
        );
      prints.delete(manifest.saga);
    }
  }
  const [missing] = prints.keys();
  if (missing !== undefined) throw new MeshError("ARCHIVE_BROKEN", `${path} does not hold ${missing}`);
  await nameFile(draft, path);
}

/**
 * Archives a saga that a bundle holds: its tombstone, its claims, its purge. `moved`: a turn came, or another archiver was first;
 * it is to be looked at anew. After a crash at any point the same goes on with another bundle. Throws UNAVAILABLE, STORAGE_FULL.
 */
export async function bury(
  deps: ArchiveDeps & { readonly left: Left },
  due: Due,
  file: string,
): Promise<ArchiveDocument | "moved"> {
  const { ports, clock, left } = deps;
  const { saga, turns, bytes, endSeq, tombstone, lastAt } = due;
  // Before the tombstone: where the server's storage is full, this makes room for it.
  await left.dropSnapshots(saga, lastAt);
  const seq =
    tombstone === undefined ? endSeq : await append(deps, { ...tombstone, by: deps.by, file }, endSeq);
  if (seq === undefined) return "moved"; // AV2
  if (tombstone !== undefined && !(await stands(deps, saga, seq))) return "moved"; // AV5
  await left.dropClaims(saga, lastAt);
  await patiently(clock, () => ports.ledger.purgeBefore(saga, seq));
  return { saga, outcome: "archived", file, turns, bytes };
}

/** Appends the tombstone (AV2) and gives its sequence; undefined if the ledger has moved. */
async function append(
  { ports, clock, signer }: ArchiveDeps,
  tombstone: Tombstone,
  expectedSeq: number,
): Promise<number | undefined> {
  const { saga, definition } = tombstone;
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
    [headers.agent]: definition.name,
    ...(signer === undefined ? {} : { [headers.signature]: signTurn(signer, data) }),
  };
  const message = { data, headers: fields, expectedSeq };
  try {
    return (await patiently(clock, () => ports.ledger.append(saga, message))).seq;
  } catch (error) {
    if (isMeshError(error, "WRONG_SEQUENCE")) return undefined; // Or it is stored and the answer was lost: AV3.
    throw error;
  }
}

/** AV5. Throws TRUST_UNSETTLED, UNAVAILABLE. */
async function stands({ ports, clock }: ArchiveDeps, saga: SagaId, seq: number): Promise<boolean> {
  await patiently(clock, async () => ports.trust?.learn());
  if ((ports.trust?.revision() ?? 0) === 0) return true;
  const last = await patiently(clock, () => lastTurnOf(ports, saga));
  return last?.seq === seq;
}

const draftSuffix = ".draft";
/** What a process that died has left. A living one needs minutes. */
const draftAgeMaxMs = 86_400_000;

/** Under which name a bundle is written before it is whole. */
export const draftOf = (folder: string, name: string): string => join(folder, `.${name}${draftSuffix}`);

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
