/**
 * Left: what an archived saga leaves on the server, and when that goes: its claims by themselves, its tombstone by an operator's
 * word. `test/model/claims.ts` breaks each of these rules.
 *
 * XJ1 Claims go once the tombstone stands and the saga's last turn is older than the horizon by the server's clock. Whoever wins one
 *     then, late, reads the ledger after it has won (services/perform/still-asked.ts).
 * XJ2 Nor do they go while WORK holds a call of the saga: workers of former versions read nothing. A later run asks again.
 * XJ3 They go before the turns that are purged: of an archiver that dies between, the turns that are left tell.
 * XJ4 A tombstone goes only where it is as old as was said, its saga's parent lives no more, and after the claims. From then
 *     on the saga's id is one that was never used: a start under it begins anew. The turns stay in their file.
 */
import type { ArchiveDocument } from "../../protocol/documents/archive.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import { lastTurnOf } from "../ledger/chain.ts";
import { isTombstone } from "../ledger/reader.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Ports } from "../wire/ports.ts";
import type { ArchiveOptions, Buried } from "./look.ts";

export interface LeftDeps {
  readonly ports: Pick<Ports, "ledger" | "claims" | "snapshots" | "work">;
  readonly clock: Clock;
  /** The server's time, milliseconds since the epoch. */
  readonly now: () => number;
}

/** What is beside ledgers on the server, as it is found out for one run. */
export interface Left {
  /** Takes a saga's claims away if they may go (XJ1, XJ2), and says whether none is left. */
  dropClaims(saga: SagaId, lastAt: number): Promise<boolean>;
  /** Takes its snapshots away. */
  dropSnapshots(saga: SagaId, lastAt: number): Promise<void>;
}

/** Up to so many sagas it costs less to drop what is not there than to ask who has any. */
const unaskedMax = 32;
/** A host writes a saga's snapshot within seconds of a turn, if it does: one of a younger turn may come after the question. */
const settledMs = limits.clockSkewMs;

/** For a run over so many sagas. What is asked is asked once, when it is first needed. */
export function createLeft({ ports, clock, now }: LeftDeps, sagas: number): Left {
  const isAsked = sagas > unaskedMax;
  const horizonAt = now() - limits.signalHorizonMs; // Of the whole run: what was asked once is of then.
  const claimed = once(() => patiently(clock, () => ports.claims.sagas()));
  const kept = once(() => patiently(clock, () => ports.snapshots.sagas()));
  // What a saga called was stored before its last turn.
  const waiting = once(() => patiently(clock, () => ports.work.waiting(horizonAt)));
  return {
    dropClaims: async (saga, lastAt) => {
      if (lastAt >= horizonAt) return false; // XJ1
      if (isAsked && !(await claimed()).has(saga)) return true;
      if ((await waiting()).has(saga)) return false; // XJ2
      await patiently(clock, () => ports.claims.drop(saga));
      return true;
    },
    dropSnapshots: async (saga, lastAt) => {
      if (isAsked && now() - lastAt > settledMs && !(await kept()).has(saga)) return;
      await patiently(clock, () => ports.snapshots.drop(saga));
    },
  };
}

/** Asks when it is first called; a failure is asked again. */
function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => {
    const answer = (asked ??= ask());
    answer.catch(() => (asked = undefined));
    return answer;
  };
}

/** What is left of a saga that was archived before, seen to. */
export async function seeToLeft(
  deps: LeftDeps,
  left: Left,
  { tombstone, seq, storedAt }: Buried,
  { forgetAfterMs, isDryRun }: Pick<ArchiveOptions, "forgetAfterMs" | "isDryRun">,
): Promise<ArchiveDocument> {
  const { saga, file, turns } = tombstone;
  const already = { saga, outcome: "already", file, turns } as const;
  const isFree = isDryRun || (await left.dropClaims(saga, storedAt));
  if (forgetAfterMs === undefined || deps.now() - storedAt < forgetAfterMs) return already;
  if (!isFree) return { ...already, reason: "a call of it waits for a worker" };
  if (await hasLivingParent(deps, tombstone)) return { ...already, reason: "its parent lives" };
  if (isDryRun) return { ...already, outcome: "due" };
  await patiently(deps.clock, () => deps.ports.ledger.purgeBefore(saga, seq + 1));
  return { ...already, outcome: "forgotten" };
}

/** XJ4: it may still be told to undo what it did. */
async function hasLivingParent({ ports, clock }: LeftDeps, { parent }: Tombstone): Promise<boolean> {
  if (parent === undefined) return false;
  const last = await patiently(clock, () => lastTurnOf(ports, parent.saga));
  return last !== undefined && !isTombstone(last);
}
