/**
 * Past parts: what a state laid by (actors/kernel/past.ts), as entries beside its snapshot.
 *
 * Owns: which entry holds which part, and what is read where a host died between two writes. Does not own: what is laid by, and
 * which parts become one.
 *
 * ZP1 Parts are numbered without a gap and each names the one before by its digest, however many were made one: every version's
 *     host reads them so.
 * ZP2 The part that takes others into itself is written over the oldest of them, which the snapshot before names. That one is put
 *     aside first, and found there as long as it is named: whichever of the writes is the last one, all parts are there.
 */
import { joined, type PastPart, pastWith, sizeOf, takenInto } from "../../actors/kernel/past.ts";
import type { Past } from "../../actors/contract/state.ts";
import { encodeMsgpack } from "../../protocol/codec.ts";
import { sha256 } from "../../protocol/digest.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { type Content, type EntryDeps, readEntry, writeEntry } from "./entries.ts";

const partName = (number: number): string => `past-${number}`;
/** Where a part is that another was written over (ZP2). */
const asideName = (number: number): string => `${partName(number)}-aside`;

/** A part, and its bytes as they are stored. */
interface StoredPart {
  readonly part: PastPart;
  readonly bytes: Uint8Array;
}

/**
 * Stores what is laid by as a part of its own, or with the newest ones as one (ZP2), and says what the state knows of it then.
 * Throws TOO_LARGE, STORAGE_FULL, UNAVAILABLE: then the snapshot that is there counts on.
 */
export async function storePart(deps: EntryDeps, past: Past | undefined, part: PastPart): Promise<Past> {
  const { snapshots } = deps.ports;
  const { saga } = part;
  const own = encodeMsgpack(part);
  const taken = takenInto(past, sizeOf(part));
  const [oldest, ...newer] = past === undefined ? [] : ((await readNewest(deps, saga, past, taken)) ?? []);
  if (past === undefined || oldest === undefined) {
    const next = pastWith(past, part, sha256(own));
    await writeEntry(snapshots, saga, own, partName(next.parts));
    return next;
  }
  const whole = encodeMsgpack(joined([oldest.part, ...newer.map((one) => one.part), part]));
  const next = pastWith(past, part, sha256(whole), taken);
  await writeEntry(snapshots, saga, oldest.bytes, asideName(next.parts));
  await writeEntry(snapshots, saga, whole, partName(next.parts));
  return next;
}

/** Every part that a state laid by, oldest first, or undefined if one is lost or another's. Throws UNAVAILABLE. */
export async function readPast(deps: EntryDeps, saga: SagaId, past: Past): Promise<PastPart[] | undefined> {
  const parts = await readNewest(deps, saga, past, past.parts);
  return parts?.[0]?.part.prev === "" ? parts.map(({ part }) => part) : undefined;
}

/** So many of the newest, oldest first; one after the other, for a lost one ends the reading. */
async function readNewest(
  deps: EntryDeps,
  saga: SagaId,
  past: Past,
  count: number,
): Promise<StoredPart[] | undefined> {
  const found: StoredPart[] = [];
  let digest = past.digest;
  for (let number = past.parts; number > past.parts - count; number--) {
    const entry = await readPart(deps, saga, number, digest);
    if (entry === undefined) return undefined;
    const part = entry.value as unknown as PastPart; // Proof: its digest is the one that the next part names, or the state.
    found.push({ part, bytes: entry.bytes });
    digest = part.prev;
  }
  return found.reverse();
}

/** ZP2. */
async function readPart(
  deps: EntryDeps,
  saga: SagaId,
  number: number,
  digest: string,
): Promise<Content | undefined> {
  for (const name of [partName(number), asideName(number)]) {
    const entry = await readEntry(deps, saga, name);
    if (entry?.digest === digest) return entry;
  }
  return undefined;
}
