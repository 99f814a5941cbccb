/**
 * Replay sources: the sagas that a run over many chooses from: those of a mesh, or of files, without a server.
 */
import { MeshError } from "../../../protocol/errors.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import type { SagaRow } from "../../../protocol/documents/saga.ts";
import type { UnreadableSaga } from "../../../protocol/documents/unreadable.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { App } from "../../app/app.ts";
import { archiveOf } from "../../archive/file.ts";
import type { Examined } from "../../archive/lines.ts";
import { openArchives, partsOf, readSaga } from "../../archive/folder.ts";
import { sagaNamed } from "../../archive/verify.ts";
import { listSagas } from "../../client/list.ts";
import { viewingBy } from "../../client/registry.ts";
import { type Many, manyOf, unreadableOf } from "../../ledger/many.ts";
import { parseQuery } from "../../views/query.ts";
import { rowOfLedger } from "../../views/saga-row.ts";
import { storedPages, type TurnPages } from "../../views/turn-pages.ts";
import { readLedger } from "../../views/view.ts";
import { type CommandContext, withMesh } from "../frame/context.ts";
import { ownApp } from "../frame/saga-source.ts";
import { archivesIn } from "./verifying.ts";

/** A ledger to be replayed, and the application that its own file holds, of a recording that was imported. */
export interface Replayable {
  readonly ledger: TurnPages;
  readonly own?: App | undefined;
}

export interface ReplaySource {
  /** How many there are. */
  count(): Promise<number>;
  /** Those that are meant and have a ledger; beside them, those that cannot be read. */
  meant(query: string): Promise<Many<SagaRow>>;
  /** Throws what is wrong with this one. */
  read(saga: SagaId): Promise<Replayable>;
}

/** Runs with the sagas of a mesh, or of a folder of archives and bundles, or of one bundle. */
export async function withReplaySource<T>(
  context: CommandContext,
  archive: string | undefined,
  run: (source: ReplaySource) => Promise<T>,
): Promise<T> {
  if (archive !== undefined) return run(await ofFiles(archive));
  return withMesh(context, ({ ports, clock }) =>
    run({
      count: async () => (await ports.ledger.list()).length,
      meant: async (query) => {
        const rows = await listSagas(ports, { query }, clock.now());
        return manyOf(
          rows.filter((row) => row.archived === undefined),
          rows.unreadable,
        );
      },
      read: (saga) => Promise.resolve({ ledger: storedPages(ports, saga) }),
    }),
  );
}

const turnsOf = (stored: Awaited<ReturnType<typeof readLedger>>): Turn[] => stored.map(({ turn }) => turn);

async function rowOf(path: string, part: Examined): Promise<SagaRow> {
  const { manifest, source } = archiveOf(path, part);
  const { saga, definitions = [], tools } = manifest;
  return rowOfLedger(turnsOf(await readLedger(source, saga)), viewingBy({ definitions, tools }));
}

/**
 * One file, or a part of a bundle, is in memory at a time. A saga that several files hold is taken from the one that every reader
 * finds (FE1 of services/archive/folder.ts), and where that names none, for it is a child in others' exports, from the first.
 */
async function ofFiles(folder: string): Promise<ReplaySource> {
  const paths = new Map<SagaId, string>();
  const rows: SagaRow[] = [];
  const unreadable: UnreadableSaga[] = [];
  const archives = openArchives(folder);
  for (const path of await archivesIn(folder)) {
    const unreadableAt = (at: SagaId, error: unknown) => unreadable.push(unreadableOf(at, error));
    try {
      for await (const { part } of partsOf(path))
        for (const section of part.sections) {
          const at = section.manifest?.saga ?? sagaNamed(path);
          const chosen = await archives.find(at);
          if (paths.has(at) || (chosen !== undefined && chosen !== path)) continue;
          await rowOf(path, { sections: [section], blobs: part.blobs }).then(
            (row) => {
              paths.set(at, path);
              rows.push(row);
            },
            (error: unknown) => unreadableAt(at, error),
          );
        }
    } catch (error) {
      unreadableAt(sagaNamed(path), error);
    }
  }
  return {
    count: async () => paths.size + unreadable.length,
    meant: async (query) => manyOf(rows.filter(parseQuery(query, Date.now())), unreadable),
    read: async (saga) => {
      const path = paths.get(saga);
      if (path === undefined) throw new MeshError("SAGA_UNKNOWN", `${folder} holds no ${saga}`);
      const { manifests, source } = await readSaga(archives, path, saga);
      const manifest = manifests.find((one) => one.saga === saga);
      return { ledger: storedPages(source, saga), own: manifest && ownApp(manifest) };
    },
  };
}
