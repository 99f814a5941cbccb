/**
 * Verifying: the sagas that `verify` looks at, wherever they are, a few at a time.
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { VerifyDocument } from "../../../protocol/documents/verify.ts";
import { describeError, isMeshError, MeshError } from "../../../protocol/errors.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { archiveSuffix } from "../../archive/file.ts";
import type { Archives } from "../../archive/folder.ts";
import { type BundleOptions, sagaNamed, verifySaga } from "../../archive/verify.ts";
import { verifyLedger, type VerifyOptions } from "../../views/verify.ts";
import { createMentions, type Evidence, heldAgainst, type Stand } from "../../views/verify-evidence.ts";
import { unreadableOf } from "../../ledger/many.ts";
import { findTombstone, type LedgerSource } from "../../ledger/reader.ts";
import { eachOf } from "../../process/each-of.ts";
import type { Ports } from "../../wire/ports.ts";

/** Ledgers held in memory at a time. */
const concurrencyMax = 4;

/** Every file of a folder, or the one named. Throws ARCHIVE_BROKEN where there is none. */
export async function archivesIn(path: string): Promise<string[]> {
  const found = await stat(path).catch((error: unknown) => {
    throw new MeshError("ARCHIVE_BROKEN", `${path}: ${describeError(error)}`, { cause: error });
  });
  if (!found.isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => name.endsWith(archiveSuffix) && !name.startsWith("."));
  return names.sort().map((name) => join(path, name));
}

/**
 * Checks each of the places and tells of each saga in it as soon as it is known, until the signal. What cannot be read is a
 * finding of turn 0, and the others are checked; so is what was not answered, after another try at the end. Throws
 * UNAVAILABLE where so many in a row were not answered that the server is away.
 */
export async function verifyEach<Place extends string>(
  places: readonly Place[],
  verify: (place: Place) => Promise<readonly VerifyDocument[]>,
  tell: (document: VerifyDocument) => void,
  signal: AbortSignal,
): Promise<void> {
  const again: Place[] = [];
  let unansweredInARow = 0;
  const look = async (place: Place, isLastTry: boolean) => {
    signal.throwIfAborted();
    try {
      for (const document of await verify(place)) tell(document);
      unansweredInARow = 0;
    } catch (error) {
      signal.throwIfAborted();
      const isUnanswered = isMeshError(error, "UNAVAILABLE");
      if (isUnanswered && ++unansweredInARow > concurrencyMax) throw error;
      if (isUnanswered && !isLastTry) again.push(place);
      else tell(documentOfUnreadable(sagaNamed(place), error));
    }
  };
  await eachOf(places, concurrencyMax, (place) => look(place, false));
  await eachOf(again, concurrencyMax, (place) => look(place, true));
}

function documentOfUnreadable(saga: SagaId, error: unknown): VerifyDocument {
  const { code, reason } = unreadableOf(saga, error);
  return { saga, ok: false, turns: 0, folded: false, findings: [{ turn: 0, code, what: reason }] };
}

/**
 * A saga of a mesh; of one that was archived what the folder of archives has of it. Where it has nothing, nothing is
 * known to be wrong: `unread` is told.
 */
export async function verifyInMesh(
  ports: LedgerSource & Pick<Ports, "ledger">,
  saga: SagaId,
  options: BundleOptions & { readonly archives: Archives; readonly unread: (why: string) => void },
): Promise<VerifyDocument[]> {
  try {
    return [await verifyLedger(ports, saga, options.app, options)];
  } catch (error) {
    if (!isMeshError(error, "SAGA_ARCHIVED")) throw error;
  }
  const { archives } = options;
  const tombstone = await findTombstone(ports, saga);
  const path = await archives.find(saga, tombstone?.file);
  if (path !== undefined)
    return [await verifySaga(archives, path, saga, { ...options, buried: tombstone?.prev })];
  options.unread(`${saga} was archived to ${tombstone?.file ?? "a file"}, which is not in ${archives.place}`);
  return [];
}

/** A saga of which something was kept, and nothing is there. */
export const documentOfMissing = (saga: SagaId): VerifyDocument => ({
  ...{ saga, ok: false, turns: 0, folded: false },
  findings: [
    { turn: 1, code: "LEDGER_SHORT", what: "it is missing: --expect names the saga, and it has no ledger" },
  ],
});

/**
 * Of ledgers that are all read: what each says of the others, held against those once all were read. Holds a little for each
 * saga.
 */
export function crossChecking(evidence: (stand: Stand) => Promise<Evidence>): {
  readonly options: Pick<VerifyOptions, "evidence" | "mentions">;
  /** One more document for each saga that the others know more of than its own ledger. */
  found(): VerifyDocument[];
} {
  const mentions = createMentions();
  const stands = new Map<SagaId, Stand>();
  return {
    options: {
      mentions,
      evidence: (stand) => {
        stands.set(stand.saga, { ...stand, hashes: [], keys: new Set(), children: new Set() }); // A mention in another ledger has no hash.
        return evidence(stand);
      },
    },
    found: () =>
      [...stands.values()].flatMap((stand): VerifyDocument[] => {
        const { saga, turns, standing } = stand;
        const findings = heldAgainst(stand, { mentions: mentions.of(saga) });
        if (findings.length === 0) return [];
        return [{ saga, ok: false, turns, folded: false, ...(standing && { standing }), findings }];
      }),
  };
}
