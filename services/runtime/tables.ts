/**
 * Tables: where this user's tables of a mesh are, and what fills them there.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { sha256 } from "../../protocol/digest.ts";
import { isMeshError } from "../../protocol/errors.ts";
import { type Archives, openArchives, readSaga } from "../archive/folder.ts";
import { turnsInPages } from "../ledger/reader.ts";
import { emptyHead } from "../ledger/chain.ts";
import { makeFolder } from "../nats/server/user-folders.ts";
import type { KeepDeps } from "../tables/keep.ts";
import { openPostgresStore } from "../tables/postgres.ts";
import type { TablesAt } from "../tables/question.ts";
import type { ReadArchived } from "../tables/saga-reading.ts";
import { schemaVersion } from "../tables/schema.ts";
import { schemaOf } from "../tables/schema-postgres.ts";
import { openSqliteStore } from "../tables/sqlite.ts";
import type { TableStore } from "../tables/store.ts";
import type { Config } from "./config.ts";
import type { OpenMesh } from "./mesh.ts";
import { newIncarnation } from "./system.ts";

/** Where a mesh's tables are: one place for each version of them, so that two versions of sagamesh do not fight for it. */
export const tablesAt = (
  { indexDir, indexUrl }: Pick<Config, "indexDir" | "indexUrl">,
  meshId: string,
): TablesAt =>
  indexUrl === undefined
    ? {
        file: join(
          indexDir,
          `${/^[\w-]{1,64}$/.test(meshId) ? meshId : sha256(meshId)}.v${schemaVersion}.sqlite`,
        ),
      }
    : { url: indexUrl, schema: schemaOf(meshId) };

/** Opens them, making them where they are not there. Throws INDEX_UNUSABLE, INDEX_BROKEN, UNAVAILABLE. */
export async function openTables(at: TablesAt): Promise<TableStore> {
  if (!("file" in at)) return openPostgresStore(at);
  await makeFolder(dirname(at.file), { code: "INDEX_UNUSABLE", variable: "SAGAMESH_CACHE" }); // All of it may be deleted.
  return openSqliteStore(at.file);
}

/** How tables are filled besides. */
export type Filling = Pick<KeepDeps, "signal" | "report" | "note"> & {
  /** Folder of archives, in which the turns of archived sagas are looked for; `archiveDir` unless given. */
  readonly archive?: string | undefined;
};

/** What fills the tables of a mesh where they are. */
export function fillingOf(
  config: Pick<Config, "indexDir" | "indexUrl" | "archiveDir">,
  { ports, clock, meshId }: Pick<OpenMesh, "ports" | "clock" | "meshId">,
  { archive = config.archiveDir, ...rest }: Filling,
): KeepDeps {
  const at = tablesAt(config, meshId);
  return {
    ...{ ports, clock, mesh: meshId, writer: newIncarnation("index") },
    readArchived: archivedIn(archive),
    open: () => openTables(at),
    ...rest,
  };
}

/** The turns of a saga in a folder of archives, where it has those that the tombstone names. */
const archivedIn = (folder: string): ReadArchived => {
  let archives: Archives | undefined;
  return async ({ saga, file, prev }) => {
    if (existsSync(folder)) archives ??= openArchives(folder);
    const path = await archives?.find(saga, file);
    if (archives === undefined || path === undefined) return undefined;
    try {
      const { source, messages } = await readSaga(archives, path, saga);
      const turns = [];
      let hash = "";
      for await (const page of turnsInPages(source, saga, emptyHead, messages.at(-1)?.seq ?? 0))
        for (const { turn, head } of page) {
          turns.push(turn);
          ({ hash } = head);
        }
      return hash === prev ? turns : undefined;
    } catch (error) {
      if (isMeshError(error)) return undefined; // The file is broken: the tombstone says what is known.
      throw error;
    }
  };
};
