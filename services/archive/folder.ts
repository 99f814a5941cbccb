/**
 * Folder: in which of many files a saga is, and its turns from there. Of bundles the indexes alone are read for that.
 *
 * FE1 A saga may be in several files: an archiver that died had written it, or a turn came then. The file that its tombstone
 *     names comes first, then the newest bundle, then a file of its own as former versions wrote it. Which turns are meant the
 *     tombstone's hash tells, and its reader compares it.
 * FE2 A bundle whose index cannot be read hides no saga of another file.
 */
import { existsSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { BundleIndex } from "../../protocol/documents/archive.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { looksLikeBundle, readIndex } from "./bundle.ts";
import { type Archive, archiveName, archiveOf } from "./file.ts";
import { type Examined, examineFile } from "./lines.ts";

/** The files of a folder, or one file. Indexes that were read are kept, so it is for one run of a command. */
export interface Archives {
  readonly place: string;
  /** The file that has a saga, `named` if that is there (FE1); undefined: none has it. */
  find(saga: SagaId, named?: string): Promise<string | undefined>;
  /** What a file has of a saga, as far as it can be read: of a bundle the saga alone. Throws ARCHIVE_BROKEN for a lost index. */
  examine(path: string, saga: SagaId): Promise<Examined>;
}

export function openArchives(place: string): Archives {
  const isFile = statSync(place, { throwIfNoEntry: false })?.isFile() === true;
  const indexes = new Map<string, Promise<BundleIndex | undefined>>();
  const indexOf = (path: string) => {
    const known = indexes.get(path) ?? readIndex(path);
    indexes.set(path, known);
    return known;
  };
  let all: Promise<ReadonlyMap<SagaId, string>> | undefined;
  const has = async (path: string, saga: SagaId): Promise<boolean> => {
    const index = existsSync(path) ? await indexOf(path).catch(() => undefined) : undefined;
    return index?.blocks.some(({ sagas }) => sagas.includes(saga)) === true;
  };
  return {
    place,
    find: async (saga, named) => {
      if (isFile) return place;
      if (named !== undefined && looksLikeBundle(named) && (await has(join(place, named), saga)))
        return join(place, named);
      const bundle = (await (all ??= sagasIn(place, indexOf))).get(saga);
      const own = join(place, archiveName(saga));
      return bundle ?? (existsSync(own) ? own : undefined);
    },
    examine: async (path, saga) => {
      const index = await indexOf(path);
      if (index === undefined) return examineFile(path);
      const block = index.blocks.find(({ sagas }) => sagas.includes(saga));
      if (block === undefined) throw new MeshError("ARCHIVE_BROKEN", `${path} does not hold ${saga}`);
      const { sections, blobs } = await examineFile(path, block);
      const own = sections.filter(({ manifest }) => manifest?.saga === saga);
      return { sections: own.length === 0 ? sections : own, blobs };
    },
  };
}

/** The bundle of each saga, the newest where several have it. */
async function sagasIn(
  folder: string,
  indexOf: (path: string) => Promise<BundleIndex | undefined>,
): Promise<ReadonlyMap<SagaId, string>> {
  const found = new Map<SagaId, string>();
  for (const name of (await readdir(folder).catch(() => [])).filter(looksLikeBundle).sort()) {
    const path = join(folder, name);
    const index = await indexOf(path).catch(() => undefined); // FE2
    for (const { sagas } of index?.blocks ?? []) for (const saga of sagas) found.set(saga, path);
  }
  return found;
}

/** A saga as a file has it. Throws ARCHIVE_BROKEN. */
export const readSaga = async (archives: Archives, path: string, saga: SagaId): Promise<Archive> =>
  archiveOf(path, await archives.examine(path, saga));

/** A file's parts one after the other, in memory one at a time: a bundle's blocks, or the whole. Throws ARCHIVE_BROKEN. */
export async function* partsOf(path: string): AsyncGenerator<{ sagas?: readonly SagaId[]; part: Examined }> {
  const index = await readIndex(path);
  if (index === undefined) yield { part: await examineFile(path) };
  for (const block of index?.blocks ?? []) yield { sagas: block.sagas, part: await examineFile(path, block) };
}
