/** Archiving one saga of a test, and what its folder has of it. */
import type { ArchiveDocument } from "../../protocol/documents/archive.ts";
import { type ErrorCode, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { archiveAll } from "../../services/archive/all.ts";
import type { ArchiveDeps } from "../../services/archive/archive.ts";
import type { Archive } from "../../services/archive/file.ts";
import { openArchives, readSaga } from "../../services/archive/folder.ts";
import type { ArchiveOptions } from "../../services/archive/look.ts";
import type { ProcessGate } from "../../services/memory/gate.ts";
import type { MemoryMesh } from "../../services/memory/mesh.ts";

/** A run of one saga. Throws what failed, by its code. */
export async function archiveOne(
  deps: ArchiveDeps,
  saga: SagaId,
  options: ArchiveOptions,
): Promise<ArchiveDocument> {
  const told: ArchiveDocument[] = [];
  const { signal } = new AbortController();
  await archiveAll(deps, [saga], { ...options, signal }, (document) => told.push(document));
  const [document] = told;
  if (document === undefined || told.length > 1) throw new Error(`told of ${told.length} times`);
  const [, code, what = ""] = /^\[(\w+)\] (.*)$/s.exec(document.reason ?? "") ?? [];
  if (document.outcome === "failed") throw new MeshError(code as ErrorCode, what);
  return document;
}

/** The file that has a saga; `named` where several have. */
export async function fileOfSaga(folder: string, saga: SagaId, named?: string): Promise<string> {
  const path = await openArchives(folder).find(saga, named);
  if (path === undefined) throw new Error(`no file in ${folder} has ${saga}`);
  return path;
}

/** What the folder has of it. Throws ARCHIVE_BROKEN. */
export async function readArchived(folder: string, saga: SagaId): Promise<Archive> {
  const archives = openArchives(folder);
  return readSaga(archives, await fileOfSaga(folder, saga), saga);
}

/** Real time for files; virtual time for what the process asks of the server, and no more. */
export async function drive<T>(
  { clock }: Pick<MemoryMesh, "clock">,
  gate: Pick<ProcessGate, "openCalls">,
  work: Promise<T>,
): Promise<T> {
  const settled = new AbortController();
  const settle = () => settled.abort();
  work.then(settle, settle);
  while (!settled.signal.aborted)
    if (gate.openCalls() > 0) await clock.run({ idle: () => gate.openCalls() === 0 });
    else await new Promise((resolve) => setImmediate(resolve));
  return work;
}
