/**
 * Examining sagas, for doctor: those that live and have not moved for a while, and which of them stand for good.
 *
 * ZS1 Each is asked for once: a saga that has waited for long, or has lost what would move it, is so a second later as well.
 * ZS2 Of what stands the longest are looked at, up to a number; doctor is no audit, and says where it stopped.
 */
import type { DoctorDocument } from "../../protocol/documents/doctor.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { streams } from "../../protocol/subjects.ts";
import { type LivingOptions, type LivingSaga, livingSagas } from "../client/living.ts";
import { type Many, manyOf } from "../ledger/many.ts";
import { createOrphanSearch } from "../ledger/orphans.ts";
import { type Examination, hasLedgers, isThere } from "../nats/examine.ts";
import { withLedgers } from "../nats/ledgers.ts";
import { trustedReader } from "./trusting.ts";

/** A call of a model or a tool that is on its way to its queue is there long before. */
export const orphanedAfterMs = 120_000;
/** ZS2: each is read whole. */
export const lookedAtMax = 1_000;
/** Sagas that are named. */
export const namedMax = 20;

type Connection = Parameters<typeof withLedgers>[0];

/** Whether a stream is there. */
/** What reads some of the living sagas; none where there is no ledger. */
export const livingIn =
  (nc: Connection, examined: Examination) =>
  (some: LivingOptions): Promise<Many<LivingSaga>> =>
    hasLedgers(examined.health)
      ? withLedgers(nc, async (ledgers) => livingSagas(await trustedReader(ledgers), some))
      : Promise.resolve(manyOf([], []));

/** Which of these stand although nothing will move them; undefined where a queue is not there that would tell. */
export async function orphanedAmong(
  nc: Connection,
  examined: Examination,
  living: readonly LivingSaga[],
): Promise<DoctorDocument["orphaned"]> {
  const areThere = [streams.inbox, streams.work].every((stream) => isThere(examined.health, stream));
  if (!areThere || !hasLedgers(examined.health)) return undefined;
  const longest = [...living].sort((a, b) => a.updatedAt - b.updatedAt).slice(0, lookedAtMax);
  const looked = new Set<SagaId>(longest.map(({ saga }) => saga));
  const quietSince = examined.now - orphanedAfterMs;
  const found =
    looked.size === 0
      ? []
      : await withLedgers(nc, async (ledgers) =>
          createOrphanSearch(await trustedReader(ledgers)).look({
            of: (saga) => looked.has(saga),
            quietSince,
          }),
        );
  const longestFirst = [...found].sort((a, b) => a.since - b.since);
  return {
    sagas: found.length,
    notLookedAt: living.length - longest.length,
    some: longestFirst.slice(0, namedMax).map(({ saga, since, orphans }) => ({
      saga,
      standsMs: Math.max(0, Math.round(examined.now - since)),
      open: orphans.map(({ intent, kind, name }) => [intent, kind, name].join(" ").trim()).slice(0, namedMax),
    })),
  };
}
