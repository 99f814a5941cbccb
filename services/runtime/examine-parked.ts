/**
 * Examining sagas, for doctor: those whose hosts noted that they cannot take what comes for them.
 */
import type { DoctorDocument } from "../../protocol/documents/doctor.ts";
import { parkedEntry } from "../../protocol/parked.ts";
import { buckets } from "../../protocol/subjects.ts";
import { parkedOf } from "../client/parked.ts";
import { readMany } from "../ledger/many.ts";
import { type Examination, hasLedgers, isThere } from "../nats/examine.ts";
import { withLedgers } from "../nats/ledgers.ts";
import { createSnapshots, sagasNoted } from "../nats/snapshots.ts";
import { bucketStream } from "../nats/streams.ts";
import { namedMax } from "./examine-sagas.ts";
import { lookedAtMax } from "./examine-which.ts";

/** Which are parked, those found out last first; of very many notes so many are looked at. Throws UNAVAILABLE. */
export async function parkedAmong(
  nc: Parameters<typeof withLedgers>[0],
  examined: Examination,
): Promise<DoctorDocument["parked"]> {
  if (!hasLedgers(examined.health) || !isThere(examined.health, bucketStream(buckets.snapshot)))
    return undefined;
  return withLedgers(nc, async ({ ledger, context }) => {
    const noted = await sagasNoted(context, parkedEntry);
    const deps = {
      ports: { ledger, snapshots: createSnapshots(context) },
      clock: { now: () => examined.now },
    };
    const found = await readMany(noted.slice(0, lookedAtMax), async (saga) => {
      const parked = await parkedOf(deps, saga);
      return parked && { saga, ...parked };
    });
    const latest = found.sort((a, b) => b.at - a.at);
    return { sagas: latest.length, some: latest.slice(0, namedMax) };
  });
}
