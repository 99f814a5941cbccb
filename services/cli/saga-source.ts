/**
 * Saga source: where the commands that read one saga find it. A mesh; the file of an archive; or, for a saga that was
 * archived, its file in the folder of archives, without a word from the person.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { MeshError } from "../../protocol/errors.ts";
import { parseSagaId, type SagaId } from "../../protocol/ids.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import { type Archive, archiveName, readArchive } from "../archive/file.ts";
import { readRegistry, viewingBy } from "../client/registry.ts";
import type { ViewOptions } from "../client/view.ts";
import { findTombstone, type LedgerSource } from "../ledger-reader.ts";
import { type CommandContext, withMesh } from "./context.ts";

export interface SagaSource {
  readonly saga: SagaId;
  readonly source: LedgerSource;
  /** What is known of the tools. */
  readonly viewing: Pick<ViewOptions, "isRead" | "contractOf">;
}

/** For the commands whose saga may be an archive. */
export const sagaPositional = { help: "the saga's id, or the file of an archive" } as const;
export const archiveOption = {
  type: "string",
  hint: "DIR",
  help: "folder of archives: read the saga there, without a server",
} as const;

/**
 * Runs a command that reads one saga, wherever it is. Throws BAD_ID, ARCHIVE_BROKEN, SAGA_ARCHIVED if its archive is not
 * in the usual folder, and what opening a mesh throws.
 */
export async function withSaga<T>(
  context: CommandContext,
  { saga: word, archive: folder }: { saga: string; archive: string | undefined },
  run: (source: SagaSource) => Promise<T>,
): Promise<T> {
  if (isFile(word)) return run(sourceOf(await readArchive(word)));
  const saga = parseSagaId(word);
  if (folder !== undefined) return run(sourceOf(await archiveOf(saga, join(folder, archiveName(saga)))));
  return withMesh(context, async ({ ports }) => {
    const tombstone = await findTombstone(ports, saga);
    if (tombstone !== undefined) return run(await archived(context, tombstone));
    return run({ saga, source: ports, viewing: viewingBy(await readRegistry(ports.registry)) });
  });
}

/** No id is such a word, and a mistyped one seldom. */
export const isFile = (word: string): boolean => word.includes("/") || word.endsWith(".gz");

const sourceOf = ({ manifest, source }: Archive): SagaSource => ({
  saga: manifest.saga,
  source,
  viewing: viewingBy({ definitions: [], tools: manifest.tools }),
});

async function archiveOf(saga: SagaId, path: string): Promise<Archive> {
  const archive = await readArchive(path);
  if (archive.manifest.saga === saga) return archive;
  throw new MeshError("ARCHIVE_BROKEN", `${path} holds ${archive.manifest.saga}`);
}

async function archived(
  { config, output }: CommandContext,
  { saga, turns, file, prev }: Tombstone,
): Promise<SagaSource> {
  const path = join(config.archiveDir, archiveName(saga));
  if (!existsSync(path))
    throw new MeshError(
      "SAGA_ARCHIVED",
      `the ${turns} turns of ${saga} were archived to ${file}, which is not in ${config.archiveDir}`,
    );
  const archive = await archiveOf(saga, path);
  if (archive.manifest.head.hash !== prev)
    throw new MeshError("ARCHIVE_BROKEN", `${path} does not end with the turn that was archived of ${saga}`);
  output.note(`${saga} was archived; this is read from ${path}`);
  return sourceOf(archive);
}
