/**
 * Look: whether a saga is to be archived now, with all that its bundle and its tombstone say of it. Changes nothing.
 */
import { chainHash, digestOf } from "../../protocol/digest.ts";
import type { ArchiveDocument } from "../../protocol/documents/archive.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import { type Registered, viewingBy } from "../client/registry.ts";
import { chainOf, emptyHead, lastTurnOf } from "../ledger/chain.ts";
import { isTombstone, type LedgerSource, readTombstone } from "../ledger/reader.ts";
import { readLedger, type SagaView, viewOf } from "../views/view.ts";
import { verifyLedger } from "../views/verify.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Ports, StoredMessage } from "../wire/ports.ts";
import type { SagaLines } from "./bundle.ts";
import { reasonToKeep, remainsOf } from "./due.ts";
import { blobLines, ledgerOf, ownLines } from "./file.ts";
import { manifestOfView } from "./manifest.ts";

export interface ArchiveOptions {
  /** How long ago the last turn must be by the server's clock, in milliseconds. */
  readonly afterMs: number;
  /** Effects in doubt are no reason to keep it. */
  readonly isForced: boolean;
  /** Only says what would be done. */
  readonly isDryRun: boolean;
  /** Tombstones that were stored so long ago go too, in milliseconds; undefined: none (left.ts). */
  readonly forgetAfterMs?: number | undefined;
}

export interface LookDeps {
  readonly ports: Pick<Ports, "ledger" | "blobs">;
  readonly clock: Clock;
  /** What hosts have registered, which an archive keeps. */
  readonly registered: Registered;
  /** The server's time, milliseconds since the epoch. */
  readonly now: () => number;
}

/** A saga that is to be archived. Small: thousands are held while their bundle is written. */
export interface Due {
  readonly saga: SagaId;
  readonly turns: number;
  /** Of its lines. */
  readonly bytes: number;
  /** Of every message, with all that the server says of it, and of every blob (`printOf`). */
  readonly print: string;
  /** What the tombstone says but for the file; undefined for a saga that has one (AV3 of archive.ts). */
  readonly tombstone?: Omit<Tombstone, "file" | "by">;
  /** The tombstone's place, or the last message that was read, of which all behind the last turn is foreign. */
  readonly endSeq: number;
  /** When its last turn was stored, by the server's clock. */
  readonly lastAt: number;
}

/** A saga that was archived before, and of which nothing but the tombstone is left. */
export interface Buried {
  readonly tombstone: Tombstone;
  /** Its place, and when it was stored by the server's clock. */
  readonly seq: number;
  readonly storedAt: number;
}

/** What is found of a saga. A document says why nothing is to be done, or in a dry run that something is. */
export type Found =
  | { readonly document: ArchiveDocument }
  | { readonly buried: Buried }
  | { readonly due: Due; readonly lines: SagaLines };

/** Looks at one saga. Throws SAGA_UNKNOWN, LEDGER_BROKEN, UNAVAILABLE. */
export async function lookAt(deps: LookDeps, saga: SagaId, options: ArchiveOptions): Promise<Found> {
  const { ports, clock, now } = deps;
  for (let looks = 1; ; looks++) {
    const newest = await patiently(clock, () => ports.ledger.last(saga));
    if (newest === undefined) throw new MeshError("SAGA_UNKNOWN", `there is no saga ${saga}`);
    // Where even what was stored last is old enough, or says that it is all there is, it is not asked before what of it is a turn:
    // all is read.
    const isRead = isTombstone(newest) || now() - newest.storedAt >= options.afterMs;
    const told = isRead ? undefined : await patiently(clock, () => lastTurnOf(ports, saga));
    if (!isRead && told === undefined) throw new MeshError("SAGA_UNKNOWN", `there is no saga ${saga}`);
    const isYoung = (turn: StoredMessage) => !isTombstone(turn) && now() - turn.storedAt < options.afterMs;
    const tooYoung = { document: { saga, outcome: "kept", reason: "its last turn is too young" } } as const;
    if (told !== undefined && isYoung(told)) return tooYoung;
    // What somebody else published behind the last turn: the tombstone follows that too (AV2 of archive.ts).
    const endSeq = Math.max(newest.seq, told?.seq ?? 0);
    const stored = await patiently(clock, () => ports.ledger.read(saga, 0, endSeq));
    if (stored.at(-1)?.seq !== endSeq) {
      // Purged by another meanwhile, or a replica lags.
      if (looks < looksMax) continue;
      throw new MeshError("UNAVAILABLE", `the ledger of ${saga} cannot be read up to ${endSeq}`);
    }
    const { links, tombstone } = chainOf(saga, emptyHead, stored);
    const last = tombstone ?? links.at(-1)?.message;
    if (last === undefined) throw new MeshError("SAGA_UNKNOWN", `there is no saga ${saga}`);
    if (told !== undefined && told.seq !== last.seq) continue; // One came meanwhile.
    if (isYoung(last)) return tooYoung; // What stands behind it is no tombstone of it.
    const isBuried = tombstone !== undefined;
    const messages = links.map(({ message }) => message);
    if (!isBuried) return dueOf(deps, saga, { messages, endSeq }, options);
    const entry = await readTombstone(ports.blobs, last);
    const { turns, prev, archivedAt } = entry;
    const before = messages.at(-1);
    if (before === undefined) return { buried: { tombstone: entry, seq: last.seq, storedAt: last.storedAt } };
    if (options.isDryRun) return { document: { saga, outcome: "due", turns } };
    if (chainHash(before.data) !== prev)
      throw new MeshError("LEDGER_BROKEN", `the tombstone of ${saga} follows another turn than the last one`);
    const view = await readWhole(deps, saga, messages);
    const { lines, ...own } = await linesOf(deps, saga, { messages, view, archivedAt });
    return { due: { ...own, saga, turns, endSeq: last.seq }, lines };
  }
}

const looksMax = 5;

async function dueOf(
  deps: LookDeps,
  saga: SagaId,
  { messages, endSeq }: { readonly messages: readonly StoredMessage[]; readonly endSeq: number },
  { isForced, isDryRun }: ArchiveOptions,
): Promise<Found> {
  const view = await readWhole(deps, saga, messages);
  const turns = messages.length;
  const reason = reasonToKeep(view, isForced);
  if (reason !== undefined) return { document: { saga, outcome: "kept", turns, reason } };
  if (isDryRun) return { document: { saga, outcome: "due", turns } };
  const archivedAt = deps.now();
  const { lines, ...own } = await linesOf(deps, saga, { messages, view, archivedAt });
  const prev = chainHash((messages.at(-1) as StoredMessage).data); // Proof: the view is of one turn at least.
  const tombstone = { v: 1, type: "tombstone", saga, archivedAt, turns, prev, ...remainsOf(view) } as const;
  return { due: { ...own, saga, turns, endSeq, tombstone }, lines };
}

async function readWhole(
  { ports, clock, registered }: LookDeps,
  saga: SagaId,
  messages: readonly StoredMessage[],
): Promise<SagaView> {
  const source = { ledger: ledgerOf(saga, messages), blobs: ports.blobs };
  const turns = await patiently(clock, () => readLedger(source, saga));
  return viewOf(
    turns.map(({ turn }) => turn),
    viewingBy(registered),
  );
}

/** Its lines. Of a ledger that is not whole, no archive can be: LEDGER_BROKEN. */
async function linesOf(
  { ports, clock, registered }: LookDeps,
  saga: SagaId,
  of: { readonly messages: readonly StoredMessage[]; readonly view: SagaView; readonly archivedAt: number },
): Promise<{ lines: SagaLines } & Pick<Due, "bytes" | "print" | "lastAt">> {
  const { messages, view, archivedAt: at } = of;
  const source = { ledger: ledgerOf(saga, messages), blobs: ports.blobs };
  const [finding] = (await patiently(clock, () => verifyLedger(source, saga))).findings;
  if (finding !== undefined)
    throw new MeshError(
      "LEDGER_BROKEN",
      `turn ${finding.turn} of ${saga}: ${finding.what}; it is not archived`,
    );
  const manifest = { ...manifestOfView(saga, messages, view, { at, registered }), bundled: true as const };
  const patient = { get: (digest: string) => patiently(clock, () => ports.blobs.get(digest)) };
  const named = new Map<string, LedgerSource["blobs"]>();
  const lines = [...ownLines({ manifest, messages, blobs: patient }, named)].map((line) => Buffer.from(line));
  const blobs = new Map<string, Buffer>();
  for await (const [digest, line] of blobLines(named)) blobs.set(digest, Buffer.from(line));
  const bytes = [...lines, ...blobs.values()].reduce((sum, { length }) => sum + length, 0);
  return {
    ...{ lines: { lines, blobs }, bytes, print: printOf(messages, [...blobs.keys()]) },
    lastAt: (messages.at(-1) as StoredMessage).storedAt, // Proof: the view is of one turn at least.
  };
}

/** By which a ledger is known again in a file: every byte and header of its messages as the server had them, and its blobs' names. */
export const printOf = (messages: readonly StoredMessage[], blobs: readonly string[]): string =>
  digestOf({
    messages: messages.map(({ subject, seq, storedAt, headers, data }) => ({
      ...{ subject, seq, storedAt, headers: { ...headers } },
      hash: chainHash(data),
    })),
    blobs: [...blobs].sort(),
  });
