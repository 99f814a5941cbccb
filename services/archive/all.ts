/**
 * All: archives sagas, those of a run in as few bundles as hold them. What fails for one says so in its document and hinders no
 * other.
 *
 * YA1 A saga is told of once: as kept, as archived, or with what failed.
 * YA2 What cannot be written or read back fails all sagas of its bundle, and changes none.
 */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ArchiveDocument } from "../../protocol/documents/archive.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { unreadableOf } from "../ledger/many.ts";
import { isTombstone } from "../ledger/reader.ts";
import { eachOf } from "../process/each-of.ts";
import { patiently } from "../wire/patience.ts";
import { type ArchiveDeps, bury, draftOf, nameBundle } from "./archive.ts";
import { type BundleDraft, bundleName, openBundle, type SagaLines } from "./bundle.ts";
import { createLeft, type Left, seeToLeft } from "./left.ts";
import { type ArchiveOptions, type Due, lookAt } from "./look.ts";

/** Ledgers held in memory at a time. */
const looksAtOnce = 4;
/** Requests under way to the server, for sagas of which little is held. */
const burialsAtOnce = 32;
/** After so many it is asked whether the bundle is full. */
const atATime = 250;
/** A saga on which turns come as fast as it is archived is left to another run. */
const roundsMax = 5;

type Options = ArchiveOptions & { readonly signal: AbortSignal };
type Tell = (document: ArchiveDocument) => void;

/**
 * Archives each saga that is due and tells of each, in no order; of one that cannot be read why. At the signal it ends early: what
 * is in no bundle yet stays as it is. Throws UNAVAILABLE.
 */
export async function archiveAll(
  deps: ArchiveDeps,
  sagas: readonly SagaId[],
  options: Options,
  tell: Tell,
): Promise<void> {
  const run = await begin(deps, sagas.length, tell);
  let left = sagas;
  for (let round = 1; left.length > 0 && round <= roundsMax; round++)
    left = await archiveRound(run, left, options);
  for (const saga of left)
    tell(failed(saga, new MeshError("WRONG_SEQUENCE", "its ledger moved each time it was looked at")));
}

/** Of these sagas sees to what those that were archived have left; of the others nothing but the last message is asked. */
export async function seeToArchived(
  deps: ArchiveDeps,
  sagas: readonly SagaId[],
  options: Options,
  tell: Tell,
): Promise<void> {
  const { clock, ports } = deps;
  const run = await begin(deps, sagas.length, tell);
  await eachOf(sagas, burialsAtOnce, async (saga) => {
    if (options.signal.aborted) return;
    try {
      const last = await patiently(clock, () => ports.ledger.last(saga));
      if (last === undefined || !isTombstone(last)) return;
      const found = await lookAt(run, saga, options);
      if ("buried" in found) tell(await seeToLeft(run, run.left, found.buried, options));
    } catch (error) {
      tell(failed(saga, error));
    }
  });
}

/** The time is asked for once: by the server's clock, as the age of a turn is. */
async function begin(deps: ArchiveDeps, sagas: number, tell: Tell): Promise<Run> {
  const { clock, ports } = deps;
  const ahead = (await patiently(clock, () => ports.claims.now())) - clock.elapsed();
  const timed = { ...deps, now: () => ahead + clock.elapsed() };
  return { ...timed, tell, left: createLeft(timed, sagas) };
}

type Run = ArchiveDeps & {
  readonly now: () => number;
  readonly tell: Tell;
  readonly left: Left;
};

/** Each saga once; gives those whose ledger has moved. */
async function archiveRound(run: Run, sagas: readonly SagaId[], options: Options): Promise<SagaId[]> {
  const moved: SagaId[] = [];
  let writing = beginBundle(run);
  for (let from = 0; from < sagas.length && !options.signal.aborted; from += atATime) {
    await eachOf(sagas.slice(from, from + atATime), looksAtOnce, async (saga) => {
      if (options.signal.aborted) return;
      try {
        const found = await lookAt(run, saga, options);
        if ("document" in found) run.tell(found.document);
        else if ("buried" in found) run.tell(await seeToLeft(run, run.left, found.buried, options));
        else await writing.add(found.due, found.lines);
      } catch (error) {
        run.tell(failed(saga, error));
      }
    });
    if (!writing.isFull()) continue;
    moved.push(...(await writing.end(options.signal)));
    writing = beginBundle(run);
  }
  moved.push(...(await writing.end(options.signal)));
  return moved;
}

/** A bundle that is made once there is something to write. */
function beginBundle(run: Run) {
  const dues: Due[] = [];
  let opened: ReturnType<typeof openNew> | undefined;
  let isFull = false;
  return {
    isFull: () => isFull,
    add: async (due: Due, lines: SagaLines) => {
      const { bundle } = await (opened ??= openNew(run));
      const added = bundle.add(due.saga, lines);
      dues.push(due);
      isFull = bundle.isFull();
      await added.catch(() => undefined); // Told of by `end`, for all that are in it.
    },
    /** Names the bundle, and archives what is in it. Gives the sagas whose ledger has moved. */
    end: async (signal: AbortSignal): Promise<SagaId[]> => {
      const open = await opened?.catch(() => undefined); // Told of by `add`, to each.
      if (open === undefined) return [];
      const { bundle, name, draft } = open;
      try {
        if (signal.aborted) return [];
        const index = await bundle.end();
        await nameBundle(draft, join(run.folder, name), index, dues);
      } catch (error) {
        for (const { saga } of dues) run.tell(failed(saga, error)); // YA2
        return [];
      } finally {
        await bundle.close();
        await rm(draft, { force: true });
      }
      return buryAll(run, dues, name);
    },
  };
}

/** Under a name that no file has: while its draft is there no other run takes it (AV6 of archive.ts). */
async function openNew(run: Run): Promise<{ bundle: BundleDraft; name: string; draft: string }> {
  for (;;) {
    const name = bundleName(run.now(), run.chance);
    const draft = draftOf(run.folder, name);
    const bundle = await openBundle(draft);
    if (!existsSync(join(run.folder, name))) return { bundle, name, draft };
    await bundle.close();
    await rm(draft, { force: true });
  }
}

async function buryAll(run: Run, dues: readonly Due[], name: string): Promise<SagaId[]> {
  const ends = await eachOf(dues, burialsAtOnce, async (due) => {
    const end = await bury(run, due, name).catch((error: unknown) => failed(due.saga, error));
    if (end === "moved") return [due.saga];
    run.tell(end);
    return [];
  });
  return ends.flat();
}

function failed(saga: SagaId, error: unknown): ArchiveDocument {
  if (isMeshError(error, "UNAVAILABLE")) throw error;
  const { code, reason } = unreadableOf(saga, error);
  return { saga, outcome: "failed", reason: `[${code}] ${reason}` };
}
