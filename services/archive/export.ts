/**
 * Export: a saga as a bundle, a file in the form of an archive that is whole without a server.
 *
 * EX1 Nothing is changed where the saga lives, and it may go on meanwhile: the file holds its ledger as it stood.
 * EX2 A file has its name only once it was read back whole and verified. After a crash there is a draft, or nothing.
 */
import { rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { ExportDocument } from "../../protocol/documents/archive.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { childrenOf } from "../views/children.ts";
import { type Registered, viewingBy } from "../client/registry.ts";
import { viewOf } from "../views/view.ts";
import { unreadableOf } from "../ledger/many.ts";
import type { LedgerSource } from "../ledger/reader.ts";
import type { Chance } from "../wire/ports.ts";
import { type ArchiveSection, nameFile, readArchive, writeArchive } from "./file.ts";
import { manifestOfView } from "./manifest.ts";
import { verifyArchive } from "./verify.ts";
import { emptyHead, readChain } from "../ledger/chain.ts";
import { assertNotArchived, turnsOf } from "../ledger/reader.ts";

/** Where a saga's ledger is, and what is registered there. */
export interface ExportSource {
  readonly source: LedgerSource;
  readonly registered: Registered;
}

export interface ExportDeps {
  readonly chance: Pick<Chance, "nonce">;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Where a saga is. Throws what says that it is nowhere. */
  readonly find: (saga: SagaId) => Promise<ExportSource>;
}

/**
 * Writes a saga to a file, with `withChildren` all sagas below it. A child that cannot be had is named in the document
 * and left out. Throws SAGA_UNKNOWN, LEDGER_BROKEN for a ledger that is not whole, ARCHIVE_UNWRITABLE, UNAVAILABLE, and
 * USAGE where the file is there and is not of this saga.
 */
export async function exportSaga(
  deps: ExportDeps,
  saga: SagaId,
  { path, withChildren }: { path: string; withChildren: boolean },
): Promise<ExportDocument> {
  await assertOurs(path, saga);
  const first = await sectionOf(deps, saga);
  const sections = [first.section];
  const missing: ExportDocument["missing"] = [];
  const waiting = withChildren ? [...first.children] : [];
  for (const child of waiting) {
    if (sections.some(({ manifest }) => manifest.saga === child)) continue;
    const found = await sectionOf(deps, child).catch((error: unknown) => {
      if (isMeshError(error, "UNAVAILABLE")) throw error;
      const { code, reason } = unreadableOf(child, error);
      missing.push({ saga: child, reason: `[${code}] ${reason}` });
      return undefined;
    });
    if (found === undefined) continue;
    sections.push(found.section);
    waiting.push(...found.children);
  }
  const bytes = await writeBundle(deps, path, sections);
  const turns = sections.reduce((sum, { manifest }) => sum + manifest.turns, 0);
  return {
    saga,
    file: path,
    status: first.section.manifest.status,
    sagas: sections.length,
    turns,
    bytes,
    missing,
  };
}

async function sectionOf(
  { find, now }: ExportDeps,
  saga: SagaId,
): Promise<{ section: ArchiveSection; children: SagaId[] }> {
  const { source, registered } = await find(saga);
  const last = await source.ledger.last(saga);
  const { links, tombstone } =
    last === undefined ? { links: [] } : await readChain(source, saga, emptyHead, last.seq);
  if (tombstone !== undefined) await assertNotArchived(source.blobs, tombstone);
  if (links.length === 0) throw new MeshError("SAGA_UNKNOWN", `there is no saga ${saga}`);
  const messages = links.map(({ message }) => message);
  const turns = await turnsOf(source, links);
  const view = viewOf(
    turns.map(({ turn }) => turn),
    viewingBy(registered),
  );
  const manifest = manifestOfView(saga, messages, view, { at: now, registered });
  const children = childrenOf(view.intents).map((child) => child.saga);
  return { section: { manifest, messages, blobs: source.blobs }, children };
}

/** EX2. Its size. */
export async function writeBundle(
  { chance }: Pick<ExportDeps, "chance">,
  path: string,
  sections: readonly ArchiveSection[],
): Promise<number> {
  const draft = join(dirname(path), `.${basename(path)}.${chance.nonce()}.draft`);
  try {
    await writeArchive(draft, sections);
    const [fault] = (await verifyArchive(draft, {})).flatMap(({ saga, findings }) =>
      findings.map(({ turn, what }) => `turn ${turn} of ${saga}: ${what}`),
    );
    if (fault !== undefined) throw new MeshError("ARCHIVE_BROKEN", `${path}: ${fault}; no file was left`);
    await nameFile(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  return (await stat(path)).size;
}

/** A mistyped name must not replace a file of another kind. */
async function assertOurs(path: string, saga: SagaId): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there === undefined) return;
  const isOurs = await readArchive(path).then(
    ({ manifest }) => manifest.saga === saga,
    () => false,
  );
  if (!isOurs)
    throw new MeshError("USAGE", `${path} is there and is no bundle of ${saga}`, {
      remedy: "Name another file with --out, or take that one away.",
    });
}
