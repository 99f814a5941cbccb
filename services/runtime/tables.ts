/**
 * Tables: where this user's tables of a mesh are, and what fills them there.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../../protocol/digest.ts";
import { isMeshError } from "../../protocol/errors.ts";
import { type Archives, openArchives, readSaga } from "../archive/folder.ts";
import { turnsInPages } from "../ledger/reader.ts";
import { emptyHead } from "../ledger/chain.ts";
import { makeFolder } from "../nats/server/user-folders.ts";
import type { KeepDeps } from "../tables/keep.ts";
import type { ReadArchived } from "../tables/saga-reading.ts";
import { schemaVersion } from "../tables/schema.ts";
import { openSqliteStore } from "../tables/sqlite.ts";
import type { Config } from "./config.ts";
import type { OpenMesh } from "./mesh.ts";
import { newIncarnation } from "./system.ts";

/** The file of a mesh's tables; one for each version of them, so that two versions of sagamesh do not fight for it. */
export const tablesFile = ({ indexDir }: Pick<Config, "indexDir">, meshId: string): string =>
  join(indexDir, `${/^[\w-]{1,64}$/.test(meshId) ? meshId : sha256(meshId)}.v${schemaVersion}.sqlite`);

/** How tables are filled besides. */
export type Filling = Pick<KeepDeps, "signal" | "report" | "note"> & {
  /** Folder of archives, in which the turns of archived sagas are looked for; `archiveDir` unless given. */
  readonly archive?: string | undefined;
};

/** What fills the tables of a mesh in their file. Throws INDEX_UNUSABLE. */
export async function fillingOf(
  config: Pick<Config, "indexDir" | "archiveDir">,
  { ports, clock, meshId }: Pick<OpenMesh, "ports" | "clock" | "meshId">,
  { archive = config.archiveDir, ...rest }: Filling,
): Promise<KeepDeps> {
  const file = tablesFile(config, meshId);
  await makeFolder(config.indexDir, { code: "INDEX_UNUSABLE", variable: "SAGAMESH_CACHE" });
  return {
    ...{ ports, clock, mesh: meshId, writer: newIncarnation("index") },
    readArchived: archivedIn(archive),
    open: async () => {
      await makeFolder(config.indexDir, { code: "INDEX_UNUSABLE", variable: "SAGAMESH_CACHE" }); // All of it may be deleted.
      return openSqliteStore(file);
    },
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
