/**
 * Archive: sagas that have ended are moved from the server to files.
 */
import type { ArchiveDocument } from "../../protocol/documents/archive.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { archiveAll } from "../archive/all.ts";
import { openFolder } from "../archive/archive.ts";
import { readRegistry } from "../client/registry.ts";
import type { ClientDeps } from "../client/send.ts";
import { forgetRows } from "../listing/find.ts";
import type { Signer } from "../wire/signing.ts";
import type { BulkAct, BulkRow } from "./act.ts";

/** Where the files are to be, and what is due. */
export interface Archiving {
  readonly folder: string;
  /** Signs the tombstones; without it none is signed. */
  readonly signer: Signer | undefined;
  /** How long ago the last turn must be, milliseconds by the server's clock. */
  readonly afterMs: number;
}

/** Those of which an effect is in doubt stay: a person is still to say what became of it. */
export function archiving(deps: ClientDeps, { folder, signer, afterMs }: Archiving): BulkAct {
  const { ports, clock, chance, from } = deps;
  const archive = async (
    sagas: readonly SagaId[],
    isDryRun: boolean,
    tell: (document: ArchiveDocument) => void,
    signal: AbortSignal,
  ): Promise<void> => {
    const registered = await readRegistry(ports.registry);
    const own = { ports, clock, chance, by: from, folder, registered, ...(isDryRun ? {} : { signer }) };
    await archiveAll(own, sagas, { afterMs, isForced: false, isDryRun, signal }, tell);
  };
  return {
    look: async (meant) => {
      const rows = new Map<SagaId, BulkRow>();
      const ended = meant.filter(({ status }) => status !== "running").map(({ saga }) => saga);
      const never = new AbortController().signal;
      await archive(ended, true, (document) => rows.set(document.saga, rowOf(document)), never);
      return meant.map(
        ({ saga, name }) => rows.get(saga) ?? { saga, what: name, is: "kept", because: "it has not ended" },
      );
    },
    perform: async (items, tell, signal = new AbortController().signal) => {
      await openFolder(folder, clock.now());
      const gone = new Set<SagaId>();
      const told = (document: ArchiveDocument) => {
        if (["archived", "already"].includes(document.outcome)) gone.add(document.saga);
        tell(rowOf(document));
      };
      const sagas = [...new Set(items.map(({ saga }) => saga))];
      await archive(sagas, false, told, signal);
      // A row that outlives its saga is told as archived by who reads it, so a death here costs a look.
      if (ports.listing !== undefined) await forgetRows(ports.listing, gone, () => chance.nonce());
    },
  };
}

function rowOf({ saga, outcome, turns, file, reason = "" }: ArchiveDocument): BulkRow {
  switch (outcome) {
    case "due":
      return { saga, what: `${turns ?? 0} turns`, is: "would" };
    case "archived":
      return { saga, what: `in ${file ?? "a file"}`, is: "done" };
    case "already":
    case "forgotten":
      return { saga, what: "archived", is: "kept", because: "it was archived before" };
    case "kept":
      return { saga, what: "ended", is: "kept", because: reason };
    case "failed":
      return { saga, what: "ended", is: "refused", because: reason };
  }
}
