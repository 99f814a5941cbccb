/**
 * Saga source: where the commands that read one saga find it. A mesh; the file of an archive or a bundle; or, for a
 * saga that was archived, its file in the folder of archives, without a word from the person.
 */
import type { ArchiveManifest } from "../../../protocol/documents/archive.ts";
import { isMeshError, MeshError } from "../../../protocol/errors.ts";
import { parseSagaId, type SagaId } from "../../../protocol/ids.ts";
import type { Parked } from "../../../protocol/parked.ts";
import type { Tombstone } from "../../../protocol/tombstone.ts";
import type { App } from "../../app/app.ts";
import { readIndex } from "../../archive/bundle.ts";
import { type Archive, readArchive } from "../../archive/file.ts";
import { type Archives, openArchives, readSaga } from "../../archive/folder.ts";
import { readRegistry, type Registered, viewingBy } from "../../client/registry.ts";
import { type Waiting, waitingOf } from "../../client/unserved.ts";
import type { ViewOptions } from "../../views/view.ts";
import { findTombstone, type LedgerSource } from "../../ledger/reader.ts";
import { appOf } from "../../recordings/agent.ts";
import { type CommandContext, withMesh } from "./context.ts";

export interface SagaSource {
  readonly saga: SagaId;
  readonly source: LedgerSource;
  readonly registered: Registered;
  /** What is known of its definition. */
  readonly viewing: ViewOptions;
  /** The application that the file itself holds, of a recording that was imported. */
  readonly app?: App | undefined;
  /** Of a mesh: why the saga does not go on. */
  readonly waiting?: () => Promise<Waiting>;
  /** Another saga from there: of the same mesh, folder or file. Throws as `withSaga` does. */
  readonly find: (saga: SagaId) => Promise<SagaSource>;
}

/** For the commands whose saga may be an archive. */
export const sagaPositional = {
  help: "the saga's id, or the file of an archive or a bundle",
  paths: "files",
} as const;
export const archiveOption = {
  type: "string",
  hint: "DIR",
  paths: "files",
  help: "folder of archives, or a bundle: read the saga there, without a server",
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
  if (isFile(word)) return run(await onlySagaOf(word));
  const saga = parseSagaId(word);
  if (folder !== undefined) return run(await inArchive(saga, openArchives(folder)));
  return withMesh(context, async ({ ports, clock }) => {
    const find = async (of: SagaId): Promise<SagaSource> => {
      const tombstone = await findTombstone(ports, of);
      if (tombstone !== undefined) return archived(context, tombstone);
      const registered = await readRegistry(ports.registry);
      const waiting = () => waitingOf({ ports, clock }, of);
      return { saga: of, source: ports, registered, viewing: viewingBy(registered), waiting, find };
    };
    const found = await find(saga);
    return run(found).catch(async (error: unknown) => {
      const { parked } = isMeshError(error, "SAGA_NOT_BEGUN") ? await waitingOf({ ports, clock }, saga) : {};
      throw parked === undefined ? error : startParked(saga, parked, error);
    });
  });
}

/** Of a saga without a ledger there is nothing to show but why its start is not taken. */
const startParked = (saga: SagaId, { code, reason, remedy }: Parked, cause: unknown): MeshError =>
  new MeshError("SAGA_NOT_BEGUN", `the start of ${saga} is stored, and parked with ${code}: ${reason}`, {
    cause,
    remedy,
  });

/** No id is such a word, and a mistyped one seldom. */
export const isFile = (word: string): boolean => word.includes("/") || word.endsWith(".gz");

/** The file that has a saga. Throws ARCHIVE_BROKEN where none has. */
export async function fileIn(archives: Archives, saga: SagaId): Promise<string> {
  const path = await archives.find(saga);
  if (path !== undefined) return path;
  throw new MeshError("ARCHIVE_BROKEN", `no file in ${archives.place} holds ${saga}`);
}

/** Of an export or a former archive what it is of. A bundle of archived sagas is of none. */
async function onlySagaOf(path: string): Promise<SagaSource> {
  const sagas = (await readIndex(path))?.blocks.flatMap((block) => block.sagas);
  if (sagas === undefined) return ofFile(await readArchive(path), path);
  const [only] = sagas;
  if (only !== undefined && sagas.length === 1) return inArchive(only, openArchives(path));
  throw new MeshError("USAGE", `${path} holds ${sagas.length} sagas`, {
    remedy: `Name one of them, and the file with --archive: ${sagas.slice(0, 3).join(", ")}${sagas.length > 3 ? ", …" : ""}`,
  });
}

async function inArchive(saga: SagaId, archives: Archives): Promise<SagaSource> {
  const path = await fileIn(archives, saga);
  const archive = await readSaga(archives, path, saga);
  return { ...ofFile(archive, path, saga), find: (of) => inArchive(of, archives) };
}

/** A saga of a file, the one that it is of unless named. Throws ARCHIVE_BROKEN if it holds only others. */
function ofFile(archive: Archive, path: string, saga: SagaId = archive.manifest.saga): SagaSource {
  const manifest = archive.manifests.find((one) => one.saga === saga);
  if (manifest === undefined) throw new MeshError("ARCHIVE_BROKEN", `${path} holds ${archive.manifest.saga}`);
  const registered = { definitions: manifest.definitions ?? [], tools: manifest.tools };
  return {
    saga,
    source: archive.source,
    registered,
    viewing: viewingBy(registered),
    app: ownApp(manifest),
    find: async (of) => ofFile(archive, path, of),
  };
}

/** What a saga is folded with by its own file. */
export const ownApp = ({ agent }: ArchiveManifest): App | undefined =>
  agent === undefined ? undefined : appOf([agent]);

async function archived(
  { config, output }: CommandContext,
  { saga, turns, file, prev }: Tombstone,
): Promise<SagaSource> {
  const archives = openArchives(config.archiveDir);
  const path = await archives.find(saga, file);
  if (path === undefined)
    throw new MeshError(
      "SAGA_ARCHIVED",
      `the ${turns} turns of ${saga} were archived to ${file}, which is not in ${config.archiveDir}`,
    );
  const archive = await readSaga(archives, path, saga);
  const found = ofFile(archive, path, saga);
  if (archive.manifests.find((one) => one.saga === saga)?.head.hash !== prev)
    throw new MeshError("ARCHIVE_BROKEN", `${path} does not end with the turn that was archived of ${saga}`);
  output.note(`${saga} was archived; this is read from ${path}`);
  return found;
}
