/**
 * Incarnation: one host as the mesh knows it, from joining to its end.
 *
 * Owns: its pulse, and ending: drained, or because it stood still. Does not own: what it consumes (partitions.ts), and
 * the sagas in its memory (residents.ts).
 *
 * IC1 A host that stood still for longer than a lease is dead to the mesh. Its pulse tells: what wakes up then
 *    appends nothing and begins nothing, and the incarnation ends with it.
 */
import { limits } from "../../protocol/limits.ts";
import { every } from "../process/every.ts";
import type { HostDeps } from "./host-deps.ts";
import { createPartitions } from "./partitions.ts";
import { createResidents } from "./residents.ts";
import { joinRoster } from "./roster.ts";
import { hostQuarantine, sagaOf } from "./suspects.ts";

/** A host under one name. */
export interface Incarnation {
  /** Lets running sagas come to rest within the grace (milliseconds), gives back what is left, and leaves. */
  drain(graceMs: number): Promise<void>;
  /** Sagas in memory now. */
  resident(): number;
  partitions(): readonly number[];
}

const drainLookMs = 20;

/** Joins the mesh. `onLapse` is called once if it stood still for too long; it has ended then (IC1). */
export function serveAs(given: Omit<HostDeps, "hasLapsed">, onLapse: () => void): Incarnation {
  const { clock, log, incarnation } = given;
  const over = new AbortController();
  let pulseAt = clock.now();
  let lapsed = false;
  const deps: HostDeps = {
    ...given,
    hasLapsed: () => lapsed || clock.now() - pulseAt > limits.inboxAckWaitMs,
  };
  const residents = createResidents(deps);
  const quarantine = hostQuarantine(deps, given.isolate, async (saga) => residents.find(saga)?.release());
  const partitions = createPartitions(deps, { residents, quarantine, over: over.signal });

  /** IC1: everything goes back at once; what is running tells its end as an ordinary input. */
  const lapse = () => {
    lapsed = true;
    log.warn({ host: incarnation, stoodStillMs: clock.now() - pulseAt }, "host stood still for too long");
    over.abort();
    const ending = [partitions.stop(), residents.release(), quarantine.end(), roster.leave()];
    Promise.all(ending).catch((error: unknown) => log.warn({ err: error }, "not everything given back"));
    onLapse();
  };
  const pulse = () => {
    if (deps.hasLapsed()) return lapse();
    pulseAt = clock.now();
    residents.prolong();
    quarantine.beat();
    quarantine.tidy((key) => {
      const resident = residents.find(sagaOf(key));
      return resident !== undefined && resident.idleSince() === undefined;
    });
  };

  const roster = joinRoster(deps, { held: partitions.held, take: partitions.takeExactly });
  const whileServing = { clock, log, signal: over.signal };
  const loops = [
    every(whileServing, limits.inboxHeartbeatMs, "pulse", pulse),
    every(whileServing, limits.lingerMs / 4, "releasing idle sagas", () => residents.sweep()),
  ];

  return {
    resident: () => residents.size(),
    partitions: () => partitions.held(),
    drain: async (graceMs) => {
      const until = clock.now() + graceMs;
      await roster.drain();
      while (clock.now() < until && residents.size() + quarantine.size() > 0) await clock.sleep(drainLookMs);
      await quarantine.end();
      await residents.release();
      over.abort();
      await Promise.all(loops);
      await roster.leave();
    },
  };
}
