/**
 * Nudge: has the owners of sagas hand on at once what is open and in no queue, and tells again what sagas told one another in the
 * last week and was lost. What the hosts' audit does in its rounds, for an operator who knows that a queue was lost.
 */
import type { NudgeDocument } from "../../protocol/documents/nudge.ts";
import type { UnreadableSaga } from "../../protocol/documents/unreadable.ts";
import { minOf } from "../../protocol/extremes.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { findLostSignals } from "../ledger/lost-signals.ts";
import { type Many, manyOf } from "../ledger/many.ts";
import { createOrphanSearch, lostCalls } from "../ledger/orphans.ts";
import { publishNudge } from "../wire/nudge.ts";
import { patiently } from "../wire/patience.ts";
import { publishSagaSignal } from "../wire/saga-signal.ts";
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
  const again = await tellAgain({ ports, clock }, { of: isMeant, isDryRun, quietSince, signal });
  return manyOf([...documents, ...again], [...found.unreadable, ...again.unreadable.filter(isNews(found))]);
}

/** One that could not be read is named once. */
const isNews =
  ({ unreadable }: Many<unknown>) =>
  ({ saga }: UnreadableSaga): boolean =>
    unreadable.every((one) => one.saga !== saga);

/** Signals between sagas that their receivers lack, by sender (services/ledger/lost-signals.ts). */
async function tellAgain(
  deps: Pick<ClientDeps, "ports" | "clock">,
  {
    of,
    isDryRun,
    quietSince,
    signal,
  }: Pick<NudgeOptions, "isDryRun" | "signal"> & {
    readonly of: ((saga: SagaId) => boolean) | undefined;
    readonly quietSince: number;
  },
): Promise<Many<NudgeDocument>> {
  const since = quietSince - limits.signalHorizonMs;
  const lost = await findLostSignals(deps.ports, { of, since, until: quietSince, signal });
  for (const { from, intent, body } of isDryRun ? [] : lost)
    await publishSagaSignal({ ...deps, signal }, from, intent, body, [`again-${quietSince}`]);
  const senders = Map.groupBy(lost, ({ from }) => from);
  const documents = [...senders].map(([saga, all]): NudgeDocument => ({
    saga,
    since: minOf(all.map(({ at }) => at)),
    orphans: all.map(({ intent: { id, name } }) => ({ intent: id, kind: "signal", name })),
    nudged: !isDryRun,
  }));
  return manyOf(documents, lost.unreadable);
}
