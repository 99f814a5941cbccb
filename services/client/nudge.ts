/**
 * Nudge: has the owners of sagas hand on at once what is open and in no queue. What the hosts' audit does in its rounds,
 * for an operator who knows that a queue was lost.
 */
import type { NudgeDocument } from "../../protocol/documents/nudge.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { type Many, manyOf } from "../ledger/many.ts";
import { createOrphanSearch, lostCalls } from "../ledger/orphans.ts";
import { publishNudge } from "../wire/nudge.ts";
import { patiently } from "../wire/patience.ts";
import type { ClientDeps } from "./send.ts";

/** Which sagas, and how. */
export interface NudgeOptions {
  /** Only these; all unless given. */
  readonly of?: ReadonlySet<SagaId> | undefined;
  /** Only says what it would do. */
  readonly isDryRun: boolean;
  readonly told: (read: number, of: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Nudges each saga of which something is lost. May be done again, and beside running hosts: what is in a queue, or in a
 * host's hands, is left there. Broken off, the sagas so far are nudged. Throws UNAVAILABLE.
 */
export async function nudgeSagas(
  { ports, clock }: ClientDeps,
  { of, isDryRun, told, signal }: NudgeOptions,
): Promise<Many<NudgeDocument>> {
  const quietSince = await patiently(clock, () => ports.claims.now());
  const isMeant = of === undefined ? undefined : (saga: SagaId) => of.has(saga);
  const found = await createOrphanSearch(ports).look({ of: isMeant, quietSince, told, signal });
  const documents: NudgeDocument[] = [];
  for (const { saga, since, orphans } of found) {
    signal.throwIfAborted();
    if (!isDryRun) await patiently(clock, () => publishNudge(ports, saga, lostCalls(orphans)), { signal });
    documents.push({ saga, since, orphans: [...orphans], nudged: !isDryRun });
  }
  return manyOf(documents, found.unreadable);
}
