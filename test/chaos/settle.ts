/**
 * Settling: after the last blow everything must come to rest by itself, and what waits must hold nothing.
 */
import { setTimeout as delay } from "node:timers/promises";
import { limits } from "../../protocol/limits.ts";
import { streams } from "../../protocol/subjects.ts";
import type { Crew } from "./crew.ts";
import type { Driver } from "./driver.ts";
import type { Servers } from "./servers.ts";
import type { Witness } from "./witness.ts";
import type { WorldProcess } from "./world.ts";

export interface Settling {
  readonly servers: Servers;
  readonly crew: Crew;
  readonly driver: Driver;
  readonly witness: Witness;
  readonly world: WorldProcess;
  readonly tell: (line: string) => void;
}

/** What is still going on, in words; empty when all is at rest. */
export type Busy = readonly string[];

const lookMs = 500;
/** At rest is what was quiet for so long: a backoff of a tool's is shorter. */
const quietMs = 4_000;

/** Waits until nothing goes on any more but what `sleeps`, or the time is over. */
export async function settle(
  settling: Settling,
  sleeps: (saga: string) => boolean,
  withinMs: number,
): Promise<Busy> {
  const until = performance.now() + withinMs;
  let quietSince: number | undefined;
  let busy: Busy = ["not looked yet"];
  while (performance.now() < until) {
    busy = await lookAt(settling, sleeps).catch((error: unknown) => [String(error)]);
    quietSince = busy.length > 0 ? undefined : (quietSince ?? performance.now());
    if (quietSince !== undefined && performance.now() - quietSince >= quietMs) return [];
    settling.tell(busy.length === 0 ? "quiet" : `busy: ${busy.join(", ").slice(0, 200)}`);
    await delay(lookMs);
  }
  return busy.length > 0 ? busy : ["it was not quiet for long enough"];
}

async function lookAt(
  { servers, driver, witness, world }: Settling,
  sleeps: (saga: string) => boolean,
): Promise<string[]> {
  const running = [...new Set([...driver.sagas, ...witness.begun])].filter(
    (saga) => !witness.ended.has(saga) && !(sleeps(saga) && witness.begun.has(saga)),
  );
  return [
    ...(driver.isQuiet() ? [] : ["clients are speaking"]),
    ...((await world.isQuiet()) ? [] : ["somebody outside is busy"]),
    ...(await unacked(servers)),
    ...running,
  ];
}

/** Inputs and work that somebody holds, or that nobody has taken. */
async function unacked({ jsm }: Servers): Promise<string[]> {
  const found: string[] = [];
  for (const stream of [streams.inbox, streams.work])
    for await (const { name, num_pending: waiting, num_ack_pending: held } of jsm.consumers.list(stream))
      if (waiting + held > 0) found.push(`${name}: ${waiting} waiting, ${held} held`);
  return found;
}

/** A timer that could not be taken back wakes a saga that has ended, for as long as what is idle lingers. */
const looksMax = 3;

/** P5: hosts that still hold sagas although all of them wait or have ended, however often they are looked at. */
export async function findHoldings({ crew, servers }: Settling): Promise<Busy> {
  const hosts = crew.members.filter(({ role }) => role === "host");
  let holdings: Busy = [];
  for (let looks = 0; looks < looksMax; looks++) {
    await delay(limits.lingerMs * 2); // What has just fallen asleep lingers.
    const holding = await Promise.all(
      hosts.map(async ({ name, resident }) => ({ name, sagas: await resident() })),
    );
    holdings = [
      ...holding.flatMap(({ name, sagas }) => (sagas === 0 ? [] : [`${name} holds ${sagas} sagas`])),
      ...(await unacked(servers)),
    ];
    if (holdings.length === 0) return [];
  }
  return holdings;
}
