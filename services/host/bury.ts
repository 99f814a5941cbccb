/**
 * Bury: a host that died is found by evidence, long before its silence tells, and what it had goes back at once.
 *
 * Owns: what counts as evidence, who looks at whom, and what is done for a host that died. For speed only: one that is found
 * dead and lives is one more of two that believe they own a saga, of which the ledger's compare-and-set refuses one.
 * Rejected: shorter leases and beats (a starved host would lose what it has, and each beat costs all hosts a message); a reset
 * of the consumers (it counts deliveries from one again, by which suspects are known, and takes from living hosts what is theirs);
 * and an entry that outlasts its host, for a start that takes longer than that: the leases end within a second then.
 *
 * BY1 Silence is no evidence: a host that gets nothing of its machine lives. That its process is no more is evidence, on
 *     one machine; and that the server at which it listens, asked by a host at that very server, says twice that it does
 *     not: who lost only the connection is back by then. A server that was started anew knows of nobody, and says nothing.
 * BY2 What is asked is asked after its entry was read, and that entry is taken away by compare: a host that has beaten since lives,
 *     and of several hosts that find one dead one buries it.
 * BY3 Given back is what was out before its entry was taken away. Whoever dies between the two leaves that to the leases.
 * BY4 Each host watches the next one by name that it can tell of, in a circle, and looks at the processes of all with each beat.
 */
import { decodeHostEntry, type HostEntry, type ProcessMark } from "../../protocol/host-entry.ts";
import { limits } from "../../protocol/limits.ts";
import type { Log } from "../process/log.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Ports } from "../wire/ports.ts";

/** Processes, as far as this one can tell of them. */
export interface Processes {
  readonly own: ProcessMark;
  /** Whether it is known to have ended; false where that cannot be told. Never throws. */
  hasEnded(this: void, mark: ProcessMark): boolean;
}

/** What finding the dead takes. */
export interface BurialsOptions {
  readonly ports: Pick<Ports, "membership" | "inbox">;
  readonly clock: Clock;
  readonly log: Log;
  readonly incarnation: string;
  /** Without it only the server's word counts. */
  readonly processes?: Processes | undefined;
}

/** The other hosts by name, as they are known; undefined: one that left, or cannot be understood. */
export type Others = ReadonlyMap<string, HostEntry | undefined>;

type Listed = Awaited<ReturnType<Ports["membership"]["hosts"]>>[number];

/** Finds the dead among the other hosts, and buries them. */
export interface Burials {
  /** Buries those whose process has ended, and returns their names. Throws UNAVAILABLE. */
  ended(list: readonly Listed[]): Promise<string[]>;
  /** Looks at the one that this host watches; its name if it was dead and is buried now. Throws UNAVAILABLE. */
  watch(others: Others): Promise<string | undefined>;
}

/** Nobody is watched before the first call. */
export function createBurials({ ports, clock, log, incarnation, processes }: BurialsOptions): Burials {
  const { membership, inbox } = ports;

  const hasEnded = ({ process }: HostEntry): boolean =>
    process !== undefined && processes?.hasEnded(process) === true;
  const isHeardHere = ({ heardAt }: HostEntry): boolean =>
    heardAt !== undefined && heardAt === membership.server();
  const isUnheard = async (host: string, entry: HostEntry): Promise<boolean> =>
    isHeardHere(entry) && (await membership.isUnheard(host)) && isHeardHere(entry);
  const isDead = async (host: string, entry: HostEntry): Promise<boolean> =>
    hasEnded(entry) || (await isUnheard(host, entry));

  /** Those that are being buried here: what two found at once is done once. */
  const underWay = new Set<string>();
  async function bury(listed: Listed): Promise<boolean> {
    const { host } = listed;
    if (underWay.has(host)) return false;
    underWay.add(host);
    try {
      return await buryOnce(listed);
    } finally {
      underWay.delete(host);
    }
  }

  /** BY2, BY3. False if it lives, or another buries it. */
  async function buryOnce({ host, data, revision }: Listed): Promise<boolean> {
    const entry = decodeHostEntry(data);
    if (entry === undefined || !(await isDead(host, entry))) return false;
    const outstanding = await inbox.outstanding(entry.partitions);
    if (!(await patiently(clock, () => membership.remove(host, revision)))) return false;
    log.warn({ host, partitions: entry.partitions }, "another host has died");
    patiently(clock, () => outstanding.giveBack()).catch((error: unknown) =>
      log.debug({ err: error, host }, "inputs left to their leases"),
    );
    return true;
  }

  /** BY4. */
  function watched(others: Others): [string, HostEntry] | undefined {
    const told = [...others].flatMap(([host, entry]): [string, HostEntry][] =>
      entry !== undefined && (isHeardHere(entry) || isOfThisMachine(entry)) ? [[host, entry]] : [],
    );
    told.sort(([a], [b]) => (a < b ? -1 : 1));
    return told.find(([host]) => host > incarnation) ?? told[0];
  }
  const isOfThisMachine = ({ process }: HostEntry): boolean =>
    process !== undefined && process.machine === processes?.own.machine;

  return {
    ended: async (list) => {
      const dead = list.filter(({ data }) => {
        const entry = decodeHostEntry(data);
        return entry !== undefined && hasEnded(entry);
      });
      const buried = await Promise.all(dead.map(bury));
      return dead.flatMap(({ host }, k) => (buried[k] === true ? [host] : []));
    },
    watch: async (others) => {
      const [host, entry] = watched(others) ?? [];
      if (host === undefined || entry === undefined || !(await isDead(host, entry))) return undefined;
      if (!hasEnded(entry)) await clock.sleep(limits.unheardMs); // BY1
      const listed = (await membership.hosts()).find((one) => one.host === host);
      return listed !== undefined && (await bury(listed)) ? host : undefined;
    },
  };
}
