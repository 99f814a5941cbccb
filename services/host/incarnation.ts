/**
 * Incarnation: one host as the mesh knows it, from joining to its end.
 *
 * Owns: its pulse, and ending: drained, or because it stood still. Does not own: what it consumes (partitions.ts), and
 * the sagas in its memory (residents.ts).
 *
 * IC1 A host that stood still for longer than a lease is dead to the mesh. Its pulse tells: what wakes up then
 *    appends nothing and begins nothing, and the incarnation ends with it.
 * IC2 Its process did not die: what it had bears no mark of it from then on, and what comes back to it is no suspect.
 */
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { createAudit } from "./audit.ts";
import { registeredMoves } from "../app/old-contracts.ts";
import { every } from "../process/every.ts";
import type { Quarantine } from "../suspects/quarantine.ts";
import type { Returns } from "../suspects/returns.ts";
import type { HostDeps } from "./host-deps.ts";
import { createPartitions } from "./partitions.ts";
import { createResidents, type Residents } from "./residents.ts";
import { servedBy } from "./register.ts";
import { joinRoster, type Roster } from "./roster.ts";
import { createKeeping } from "../listing/keep.ts";
import { createRows } from "../listing/rows.ts";
import { createRouting } from "./routing.ts";
import type { Weighing } from "./shedding.ts";
import type { Strain } from "./strain.ts";
import { keyOf, sagaOf } from "../suspects/saga-key.ts";
import { hostQuarantine } from "./suspects.ts";
import { outsideOf, type Tries } from "./tries.ts";
import type { Awaited, Waiting } from "./waiting.ts";
import { type Guests, receiveGuests } from "./guests.ts";

/** A host under one name. */
export interface Incarnation {
  /** Lets running sagas come to rest within the grace (milliseconds), gives back what is left, and leaves. */
  drain(graceMs: number): Promise<void>;
  /** Sagas in memory now. */
  resident(): number;
  /** Those of them that are not idle. */
  busy(): number;
  partitions(): readonly number[];
  /** The sagas that wait for a host of their definition, as far as their inputs come here. */
  waiting(): readonly Awaited[];
}

const drainLookMs = 20;
/** Beyond the grace, for what is given back and reported. What is not is told by its effect's class, as after a death. */
const givingBackMs = 2_000;

/** What all incarnations of a host's process share. */
export interface HostProcess {
  /** The name of the first. */
  readonly name: string;
  readonly returns: Returns;
  readonly tries: Tries;
  readonly waiting: Waiting;
  readonly strain: Strain;
  readonly weighing: Weighing;
}

/** Joins the mesh. `onLapse` is called once if it stood still for too long; it has ended then (IC1). */
export function serveAs(
  given: Omit<HostDeps, "hasLapsed" | "routing" | "movesOf" | "rows">,
  { name, returns, tries, waiting, strain, weighing }: HostProcess,
  onLapse: () => void,
): Incarnation {
  const { clock, log, incarnation } = given;
  const over = new AbortController();
  let pulseAt = clock.elapsed();
  let lapsed = false;
  const known = { hosts: () => roster.hosts(), declared: () => roster.declared() };
  const unmark = (saga: SagaId) => quarantine.unmark(keyOf(saga));
  const routing = createRouting({ ...given, ...{ waiting, tries, roster: known, unmark } });
  const hasLapsed = () => lapsed || clock.elapsed() - pulseAt > limits.inboxAckWaitMs;
  const rows = createRows({ ...given, hasLapsed, saysWhatItOwes: true });
  const movesOf = registeredMoves({ registry: given.ports.registry, clock });
  const deps: HostDeps = { ...given, movesOf, routing, tries, hasLapsed, rows };
  const residents = createResidents(deps);
  const quarantine = hostQuarantine(deps, {
    ...{ process: name, returns, isolate: given.isolate },
    living: () => roster.hosts().map(({ host }) => host),
    evict: async (saga) => residents.find(saga)?.release(),
  });
  const partitions = createPartitions(deps, { residents, quarantine, tries, strain, over: over.signal });

  /** IC1, IC2: everything goes back at once; what is running tells its end as an ordinary input. */
  const lapse = () => {
    lapsed = true;
    const stoodStillMs = clock.elapsed() - pulseAt;
    log.warn({ host: incarnation, stoodStillMs }, "host stood still for too long");
    strain.lapsed(stoodStillMs);
    over.abort();
    const ending = [quarantine.forget(), partitions.stop(), residents.release()];
    ending.push(quarantine.end(), roster.leave());
    Promise.all(ending).catch((error: unknown) => log.warn({ err: error }, "not everything given back"));
    onLapse();
  };
  const pulse = () => {
    if (deps.hasLapsed()) return lapse();
    strain.pulse(clock.elapsed() - pulseAt - limits.inboxHeartbeatMs);
    pulseAt = clock.elapsed();
    residents.prolong();
    quarantine.beat();
    quarantine.tidy((key) => residents.isBusy(sagaOf(key)));
    tries.hear(outsideOf(roster, given.ports.trust));
  };

  const roster = joinRoster(
    { ...deps, serves: servedBy(deps.app), weighing, isHeard: () => guests.isHeard() },
    { held: partitions.held, take: partitions.takeExactly },
  );
  const guests = receiveGuests(deps, {
    ...{ residents, quarantine, tries, held: partitions.held, hosts: roster.hosts, over: over.signal },
  });
  const whileServing = { clock, log, signal: over.signal };
  const loops = [
    every(whileServing, limits.inboxHeartbeatMs, "pulse", pulse),
    every(whileServing, limits.hostBeatMs, "letting guests go", async () => guests.sweep()),
    every(whileServing, limits.lingerMs / 4, "releasing idle sagas", () => residents.sweep()),
    auditing(deps, roster, over.signal),
    listingKept(deps, roster, over.signal),
  ];

  return {
    resident: () => residents.size(),
    busy: () => residents.busy() + quarantine.size(),
    partitions: () => partitions.held(),
    waiting: waiting.list,
    drain: (graceMs) => drain(deps, { residents, quarantine, roster, guests, loops, over }, graceMs),
  };
}

/** The first round comes after a pause as well: a mesh that starts has enough to do. */
async function auditing(deps: HostDeps, { hosts }: Roster, signal: AbortSignal): Promise<void> {
  const { clock, log, auditEveryMs: everyMs } = deps;
  const audit = createAudit({ ...deps, everyMs, hosts, signal });
  await clock.sleep(everyMs, signal).catch(() => undefined); // Aborted: nothing follows.
  await every({ clock, log, signal }, everyMs, "looking for what is in no queue", audit);
}

/** Each host looks with its beat whether it is the one that keeps the listing. */
function listingKept(deps: HostDeps, roster: Roster, signal: AbortSignal): Promise<void> {
  const keep = createKeeping({ ...deps, ...roster, signal });
  return every({ ...deps, signal }, limits.hostBeatMs, "keeping the listing", keep);
}

/** What a host has to come to rest. */
interface Drained {
  readonly residents: Residents;
  readonly quarantine: Quarantine;
  readonly roster: Roster;
  readonly guests: Guests;
  readonly loops: readonly Promise<void>[];
  readonly over: AbortController;
}

async function drain(
  { clock, log }: HostDeps,
  { residents, quarantine, roster, guests, loops, over }: Drained,
  graceMs: number,
): Promise<void> {
  const until = clock.elapsed() + graceMs;
  guests.drain();
  await roster.drain();
  while (clock.elapsed() < until && residents.size() + quarantine.size() > 0) await clock.sleep(drainLookMs);
  await quarantine.end();
  // Reports of what was observed wait for the server; one that stays silent is not waited for.
  const released = residents
    .release()
    .catch((error: unknown) => log.warn({ err: error }, "not everything given back"));
  const enough = new AbortController();
  await Promise.race([released, clock.sleep(givingBackMs, enough.signal).catch(() => undefined)]);
  enough.abort();
  over.abort();
  await Promise.all(loops);
  await roster.leave();
}
