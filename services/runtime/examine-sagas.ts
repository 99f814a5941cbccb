/**
 * Examining sagas, for doctor: those that live and have not moved for a while, and which of them stand for good.
 *
 * ZS1 Each is asked for once: a saga that has waited for long, or has lost what would move it, is so a second later as well.
 * ZS2 Of what stands the longest are looked at, up to a number; doctor is no audit, and says where it stopped.
 */
import type { DoctorDocument } from "../../protocol/documents/doctor.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { streams } from "../../protocol/subjects.ts";
import { type LivingOptions, type LivingSaga, livingSagas } from "../client/living.ts";
import { type Many, manyOf } from "../ledger/many.ts";
import { createOrphanSearch } from "../ledger/orphans.ts";
import { type Examination, hasLedgers, isThere } from "../nats/examine.ts";
import { withLedgers } from "../nats/ledgers.ts";
import { listedUnder, lookedAtMax, quietAmong, whichOf } from "./examine-which.ts";
import { systemClock } from "./system.ts";
import { trustedReader } from "./trusting.ts";

/** A call of a model or a tool that is on its way to its queue is there long before. */
export const orphanedAfterMs = 120_000;
/** Sagas that are named. */
export const namedMax = 20;
/** How often it is said how far it is. */
const saidEveryMs = 2_000;

type Connection = Parameters<typeof withLedgers>[0];

/** Living sagas that have not moved for a while. */
export interface Quiet {
  readonly living: Many<LivingSaga>;
  /** By their rows they go on, and there is no ledger of theirs. */
  readonly gone: readonly SagaId[];
  readonly looked: NonNullable<DoctorDocument["looked"]>;
}

/** What reads some of the living sagas; none where there is no ledger. Throws UNAVAILABLE. */
export interface Looking {
  /** `foreign` is filled as `LivingOptions` says. */
  quiet(some: { readonly quietSince: number; readonly foreign: Map<SagaId, number> }): Promise<Quiet>;
  /** Those that go on under one of these definitions; `more`: perhaps not all. */
  under(
    definitions: readonly Pick<DefinitionRef, "name">[],
    isOne: (ref: DefinitionRef) => boolean,
  ): Promise<{ readonly living: Many<LivingSaga>; readonly more: boolean }>;
}

/** How sagas are looked at. `isDeep`: all of them, whatever the listing says. */
export function lookingIn(
  nc: Connection,
  examined: Examination,
  { isDeep, report }: { readonly isDeep: boolean; readonly report: (line: string) => void },
): Looking {
  const none = { living: manyOf<LivingSaga>([], []), gone: [], more: false };
  return {
    quiet: async ({ quietSince, foreign }) => {
      if (!hasLedgers(examined.health)) return { ...none, looked: { by: "rows", sagas: 0, more: false } };
      return withLedgers(nc, async (given) => {
        const ledgers = await trustedReader(given);
        const { rows, why } = await whichOf(ledgers, examined, isDeep);
        const far = createProgress(report);
        const some: LivingOptions = { quietSince, foreign, told: far.told };
        if (rows === undefined) {
          const living = await livingSagas(ledgers, some);
          const looked = { by: "ledgers" as const, sagas: far.of(), more: false };
          return { ...none, living, looked: { ...looked, ...(why === undefined ? {} : { why }) } };
        }
        const { sagas, gone, more } = await quietAmong(rows, ledgers, quietSince);
        const living = await livingSagas(ledgers, { ...some, of: sagas });
        return { living, gone, looked: { by: "rows", sagas: sagas.length, more } };
      });
    },
    under: async (definitions, isOne) => {
      if (!hasLedgers(examined.health)) return none;
      return withLedgers(nc, async (given) => {
        const ledgers = await trustedReader(given);
        const { rows } = await whichOf(ledgers, examined, isDeep);
        if (rows === undefined) return { living: await livingSagas(ledgers, { under: isOne }), more: false };
        const { sagas, more } = await listedUnder(rows, new Set(definitions.map(({ name }) => name)));
        return { living: await livingSagas(ledgers, { of: sagas, under: isOne }), more };
      });
    },
  };
}

/** Says how far it is, where that takes long. */
function createProgress(report: (line: string) => void) {
  let saidAt = systemClock.elapsed();
  let all = 0;
  return {
    told: (looked: number, of: number) => {
      all = of;
      if (systemClock.elapsed() - saidAt < saidEveryMs) return;
      saidAt = systemClock.elapsed();
      report(`looked at ${looked} of ${of} sagas`);
    },
    of: () => all,
  };
}

/** Which of these stand although nothing will move them; undefined where a queue is not there that would tell. */
export async function orphanedAmong(
  nc: Connection,
  examined: Examination,
  { living, looked: { by } }: Quiet,
): Promise<DoctorDocument["orphaned"]> {
  const areThere = [streams.inbox, streams.work].every((stream) => isThere(examined.health, stream));
  if (!areThere || !hasLedgers(examined.health)) return undefined;
  const longest = [...living].sort((a, b) => a.updatedAt - b.updatedAt).slice(0, lookedAtMax);
  const turnsOf = new Map(longest.map(({ saga, turns }) => [saga, turns]));
  const quietSince = examined.now - orphanedAfterMs;
  const some = by === "rows" ? { among: turnsOf } : { of: (saga: SagaId) => turnsOf.has(saga) };
  const found =
    turnsOf.size === 0
      ? []
      : await withLedgers(nc, async (ledgers) =>
          createOrphanSearch(await trustedReader(ledgers)).look({ ...some, quietSince }),
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
