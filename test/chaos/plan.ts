/**
 * Plan: what is done to whom and when, decided by the seed. Pure. Real time makes runs of one seed differ: who does
 * what at that moment is not in it.
 *
 * N1 One server at a time, and the next only after a while: of three, one may be lost. Whether the other two have
 *    caught up is looked at before the blow (disturber.ts).
 * N2 Whoever speaks from outside loses connections as everybody does, and is never killed: their account is what
 *    the rest is held against.
 */
import { type SeededChance, seededChance } from "../../services/memory/faults.ts";
import type { Direction } from "./proxy.ts";

export type Victim =
  | { readonly kind: "host" | "worker"; readonly index: number }
  | { readonly kind: "client" | "outside" }
  /** Which one: a number, or whoever leads this stream then. */
  | { readonly kind: "server"; readonly which: number | "LEDGER" | "INBOX" | "WORK" };

export type Deed =
  | { readonly do: "kill"; readonly downMs: number }
  | { readonly do: "freeze"; readonly forMs: number }
  | { readonly do: "drop" }
  | { readonly do: "cut"; readonly direction: Direction; readonly forMs: number }
  | { readonly do: "slow"; readonly byMs: number; readonly forMs: number };

export interface Blow {
  /** Since the beginning. */
  readonly atMs: number;
  readonly victim: Victim;
  readonly deed: Deed;
}

export interface PlanOptions {
  readonly seed: number;
  readonly durationMs: number;
  readonly hosts: number;
  readonly workers: number;
  /** A process is hit about this often, milliseconds. */
  readonly everyMs: number;
  /** And a server. */
  readonly serverEveryMs: number;
}

/** A server that was gone has to catch up before another may go. */
const serverRestMs = 8_000;
/** Nothing is hit before all have begun. */
const calmFirstMs = 2_000;

/** All blows in order of time. */
export function planBlows(options: PlanOptions): Blow[] {
  return [...blowsOnProcesses(options), ...blowsOnServers(options)].sort((a, b) => a.atMs - b.atMs);
}

function blowsOnProcesses({ seed, durationMs, hosts, workers, everyMs }: PlanOptions): Blow[] {
  const chance = seededChance(seed, "blows");
  const blows: Blow[] = [];
  for (let atMs = calmFirstMs; atMs < durationMs; atMs += around(chance, everyMs))
    blows.push({ atMs, ...blowOnProcess(chance, hosts, workers) });
  return blows;
}

function blowOnProcess(chance: SeededChance, hosts: number, workers: number): Omit<Blow, "atMs"> {
  const drawn = chance.random();
  if (drawn < 0.12)
    return { victim: { kind: chance.pick(["client", "outside"] as const) }, deed: lineDeed(chance) };
  const kind = drawn < 0.65 ? "host" : "worker";
  const victim = { kind, index: chance.between(0, (kind === "host" ? hosts : workers) - 1) } as const;
  const how = chance.random();
  if (how < 0.5) return { victim, deed: { do: "kill", downMs: chance.between(100, 4_000) } };
  if (how < 0.7) return { victim, deed: { do: "freeze", forMs: chance.between(500, 15_000) } };
  return { victim, deed: lineDeed(chance) };
}

function lineDeed(chance: SeededChance): Deed {
  const how = chance.random();
  if (how < 0.35) return { do: "drop" };
  if (how < 0.8) {
    const direction = chance.pick(["to the server", "from the server", "both"] as const);
    return { do: "cut", direction, forMs: chance.between(300, 12_000) };
  }
  return { do: "slow", byMs: chance.between(20, 400), forMs: chance.between(1_000, 8_000) };
}

/** N1. */
function blowsOnServers({ seed, durationMs, serverEveryMs }: PlanOptions): Blow[] {
  const chance = seededChance(seed, "servers");
  const blows: Blow[] = [];
  let atMs = calmFirstMs + around(chance, serverEveryMs / 2);
  while (atMs < durationMs) {
    const which = chance.pick([0, 1, 2, "LEDGER", "INBOX", "WORK"] as const);
    const deed: Deed = chance.happens(0.6)
      ? { do: "kill", downMs: chance.between(300, 6_000) }
      : { do: "freeze", forMs: chance.between(500, 10_000) };
    blows.push({ atMs, victim: { kind: "server", which }, deed });
    atMs += lengthOf(deed) + Math.max(serverRestMs, around(chance, serverEveryMs));
  }
  return blows;
}

/** How long a deed lasts. */
export const lengthOf = (deed: Deed): number =>
  deed.do === "kill" ? deed.downMs : deed.do === "drop" ? 0 : deed.forMs;

const around = (chance: SeededChance, ms: number): number => chance.between(ms * 0.4, ms * 1.6);

/** A blow in words. */
export function describeBlow({ victim, deed }: Pick<Blow, "victim" | "deed">): string {
  const whom =
    victim.kind === "server"
      ? typeof victim.which === "number"
        ? `server ${victim.which + 1}`
        : `the leader of ${victim.which}`
      : "index" in victim
        ? `${victim.kind} ${victim.index + 1}`
        : victim.kind;
  switch (deed.do) {
    case "kill":
      return `SIGKILL ${whom}, again after ${deed.downMs} ms`;
    case "freeze":
      return `SIGSTOP ${whom} for ${deed.forMs} ms`;
    case "drop":
      return `connections of ${whom} dropped`;
    case "cut":
      return `line of ${whom} cut for ${deed.forMs} ms (${deed.direction})`;
    case "slow":
      return `line of ${whom} ${deed.byMs} ms slower for ${deed.forMs} ms`;
  }
}
