/**
 * Examining schedules, for doctor: those that should have begun a run and did not, and those whose runs no host serves.
 */
import type { DoctorDocument } from "../../protocol/documents/doctor.ts";
import { readScheduleSagaId, scheduleDefinition } from "../../protocol/schedule.ts";
import { dueNext, knownBy } from "../client/schedule-shown.ts";
import { livingAmong } from "../deployments/served.ts";
import { readMany } from "../ledger/many.ts";
import { type Examination, hasLedgers } from "../nats/examine.ts";
import { withLedgers } from "../nats/ledgers.ts";
import { type Looking, namedMax } from "./examine-sagas.ts";
import { lookedAtMax } from "./examine-which.ts";
import { trustedReader } from "./trusting.ts";

interface Found {
  readonly name: string;
  readonly lateMs?: number;
  readonly of?: string;
}

/** Of very many so many are looked at; one that cannot be read is named elsewhere. Throws UNAVAILABLE. */
export async function schedulesAmong(
  nc: Parameters<typeof withLedgers>[0],
  examined: Examination,
  looking: Looking,
): Promise<DoctorDocument["schedules"]> {
  if (!hasLedgers(examined.health)) return undefined;
  const { living: all } = await looking.under(
    [{ name: scheduleDefinition }],
    ({ name }) => name === scheduleDefinition,
  );
  if (all.length === 0) return undefined;
  const hosts = livingAmong((examined.hosts ?? []).map(({ key, data }) => ({ host: key, data })));
  const served = new Set(hosts.flatMap(({ serves }) => serves.map(({ name }) => name)));
  return withLedgers(nc, async (given) => {
    const { ledger, blobs } = await trustedReader(given);
    const sagas = all.slice(0, lookedAtMax).map(({ saga }) => saga);
    const found = await readMany(sagas, async (saga): Promise<Found> => {
      const known = await knownBy({ ledger, blobs }, saga);
      const name = readScheduleSagaId(saga)?.name ?? saga;
      if (known === "unknown") return { name };
      const { lateMs } = dueNext(known, examined.now);
      return { name, ...(lateMs === undefined ? {} : { lateMs: Math.round(lateMs) }), of: known.plan.saga };
    });
    const late = found.flatMap(({ name, lateMs }) => (lateMs === undefined ? [] : [{ name, lateMs }]));
    const unserved = found.flatMap(({ name, of }) =>
      of === undefined || served.has(of) ? [] : [{ name, of }],
    );
    return {
      schedules: all.length,
      late: late.sort((a, b) => b.lateMs - a.lateMs).slice(0, namedMax),
      unserved: unserved.slice(0, namedMax),
    };
  });
}
