/**
 * Still asked: whether a call whose claim was won long after it was decided is one that its saga waits for.
 *
 * QJ1 The claims of an archived saga go (services/archive/left.ts). So a claim that is won for what was decided more than a day ago,
 *     or nobody says when, may have been another's, and the ledger is read then: after the win. A tombstone stands before the
 *     first claim goes, so who has won because they went finds it.
 * QJ2 A tombstone is not all that says no: a leader that was deposed may lack it. Turns a week old it never lacks, so where
 *     the last turn is nearly that old itself, the call is to be open by it.
 * QJ3 A saga that began after the call was decided is another one under an id that was forgotten.
 * QJ4 What cannot be judged is not performed. The claim is spent then, and the call in doubt, as if the claim had been there.
 */
import { isMeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { firstTurnOf } from "../ledger/begun.ts";
import { accountOf } from "../ledger/account-reader.ts";
import { emptyHead, lastTurnOf } from "../ledger/chain.ts";
import { isTombstone, readTurns } from "../ledger/reader.ts";
import { isTransient, patiently } from "../wire/patience.ts";
import type { Clock, Ports } from "../wire/ports.ts";
import type { Call, ClaimDeps } from "./claim.ts";

interface AskingDeps {
  readonly ports: Pick<Ports, "ledger" | "blobs" | "claims">;
  readonly clock: Clock;
}

/** For who performs what others have decided. Asks as long as the server is not there; rejects only once aborted meanwhile. */
export const stillAsked =
  ({ ports, clock }: AskingDeps): NonNullable<ClaimDeps["stillAsked"]> =>
  async (call, signal) => {
    if (call.decidedAt !== undefined && clock.now() - call.decidedAt < limits.lateCallMs) return true;
    try {
      return await patiently(clock, () => isOpen(ports, call), {
        patienceMs: Number.POSITIVE_INFINITY,
        signal,
      });
    } catch (error) {
      if (!isMeshError(error) || isTransient(error)) throw error;
      return false; // QJ4
    }
  };

async function isOpen(
  ports: AskingDeps["ports"],
  { saga, intent, attempt, key, decidedAt = Number.POSITIVE_INFINITY }: Call,
): Promise<boolean> {
  const last = await lastTurnOf(ports, saga);
  if (last === undefined || isTombstone(last)) return false;
  const first = await firstTurnOf(ports, saga, last);
  if (first.at > decidedAt + limits.clockSkewMs) return false; // QJ3
  const ageMs = (await ports.claims.now()) - last.storedAt;
  if (ageMs < limits.signalHorizonMs - limits.lateCallMs) return true; // None of its claims can have gone.
  const turns = await readTurns(ports, saga, emptyHead, last.seq);
  const told = accountOf(turns.map(({ turn }) => turn)).open.get(intent);
  return told?.attempt === attempt && told.intent.kind === "tool" && told.intent.key === key; // QJ2
}
