/**
 * Roster: which hosts serve what, and which partitions are this one's to take. Says what this host has and serves, hears what
 * the others say, and has the host take up and lay down partitions by placement.ts.
 *
 * Owns: this host's entry in HOSTS and its view of the others'. Does not own: consuming, and the sagas (host.ts).
 *
 * RO1 What others say is acted on when it is heard; the list itself is read with each beat, because one may be
 *    missed, and a host that dies says nothing.
 * RO2 One thing at a time: what is laid down is no longer consumed when that is said, and only what is consumed, or
 *    about to be, is said to be had.
 * RO3 HOSTS is written with each beat and with each change of this host's own, and never because another wrote.
 * RO4 No partition is taken before it was read once what people declared. It is read again with each beat, apart from
 *    it: a registry that does not answer makes no host seem dead.
 * RO5 It is gone by for a host's time to live, and only by a host that is known to live: a process that declares something
 *    else need wait neither for a host whose entry ran out before, nor longer than that for one that vanishes. Nor by one
 *    that has lost its connection since: to the others it may be dead, and they took its entry away (bury.ts).
 */
import type { ServedDefinition } from "../../protocol/deployments.ts";
import { decodeHostEntry, encodeHostEntry, type HostEntry } from "../../protocol/host-entry.ts";
import { limits } from "../../protocol/limits.ts";
import type { StorageLeft } from "../../protocol/storage.ts";
import { type Declared, readDeclared } from "../deployments/declared.ts";
import type { LivingHost } from "../deployments/served.ts";
import type { Rows } from "../listing/rows.ts";
import { every } from "../process/every.ts";
import type { Log } from "../process/log.ts";
import type { Clock, Ports } from "../wire/ports.ts";
import type { Signer } from "../wire/signing.ts";
import { createBurials, type Processes } from "./bury.ts";
import { nextHoldings } from "./placement.ts";
import type { Weighing } from "./shedding.ts";

/** What a host needs to be known. */
export interface RosterOptions {
  readonly ports: Pick<Ports, "membership" | "inbox" | "registry" | "trust">;
  readonly clock: Clock;
  readonly log: Log;
  readonly incarnation: string;
  /** Which process this is, and which others have ended, where that can be told. */
  readonly processes?: Processes | undefined;
  /** Whether what is handed on to this host is heard. It is not, unless given. */
  readonly isHeard?: (() => boolean) | undefined;
  /** The rows of its sagas; it keeps none unless given. */
  readonly rows?: Pick<Rows, "isWhole" | "said"> | undefined;
  readonly serves: readonly ServedDefinition[];
  readonly signer?: Pick<Signer, "publicKey"> | undefined;
  readonly linesLost?: (() => number) | undefined;
  /** What can still be stored, as far as this process knows, told in HOSTS. */
  readonly storageLeft?: (() => StorageLeft | undefined) | undefined;
  /** How much it takes beside the others. */
  readonly weighing: Weighing;
  /** Whether it is dead to the mesh: then it says and takes nothing more. */
  readonly hasLapsed: () => boolean;
}

/** The partitions as the host has them. */
export interface Holdings {
  held(this: void): readonly number[];
  /** Consumes exactly these from now on. Whatever else it still holds of the others is being given back. */
  take(this: void, partitions: readonly number[]): Promise<void>;
}

/** This host among those that serve. */
export interface Roster {
  /** The living hosts as this one knows them now, itself too. */
  hosts(this: void): readonly LivingHost[];
  /** How often a host was heard that does not keep rows, or cannot be understood. */
  heardWithoutRows(this: void): number;
  /** What people declared, as this host goes by it; undefined while another may have declared something else (RO5). */
  declared(): Declared | undefined;
  /** Takes nothing more, and says so: the others take over at once. Goes on saying that it lives. */
  drain(): Promise<void>;
  /** Says nothing more, and that it is gone. */
  leave(): Promise<void>;
}

/** Joins: says that this host serves, and begins to take its share. */
export function joinRoster(options: RosterOptions, holdings: Holdings): Roster {
  const { ports, clock, log, incarnation, serves, signer, linesLost, storageLeft, weighing, hasLapsed } =
    options;
  const { membership, inbox, registry } = ports;
  const burials = createBurials(options);
  const left = new AbortController();
  const since = clock.now();
  /** Undefined: it left, or cannot be understood. */
  let others = new Map<string, HostEntry | undefined>();
  /** Since the list was last asked for. */
  let heard = new Map<string, HostEntry | undefined>();
  let withoutRows = 0;
  /** Until the list was read once, it is not known which host has what. */
  let hasLooked = false;
  /** Until it was read once, it is not known what people declared (RO4). */
  let declared: Declared | undefined;
  /** When it was last asked for, and when this host last said that it lives, of what was answered (RO5). */
  let learnedAt = Number.NEGATIVE_INFINITY;
  let learnedOver: string | undefined;
  let saidAt = Number.NEGATIVE_INFINITY;
  let draining = false;
  let isSettlingDue = false;
  let last: Promise<unknown> = Promise.resolve();

  /** RO2. What fails is tried again with the next beat. */
  const serially = (work: () => Promise<void>): Promise<void> => {
    const next = last
      .then(() => (hasLapsed() ? undefined : work()))
      .catch((error: unknown) => log.debug({ err: error }, "placement failed"));
    last = next;
    return next;
  };

  const signs = signer === undefined ? {} : { signs: signer.publicKey };
  const entry = (): HostEntry => ({
    partitions: [...holdings.held()],
    draining,
    since,
    serves: [...serves],
    deployments: declared?.revision ?? 0,
    keys: "decided",
    told: "decided",
    follows: "xstate",
    causes: true,
    errorNames: true,
    shards: true,
    weight: weighing.now(),
    ...(ports.trust === undefined ? {} : { trust: { revision: ports.trust.revision(), ...signs } }),
    ...(options.rows?.isWhole() === true ? { lists: true } : {}),
    ...lostNow(),
    ...storageNow(),
    ...heardNow(),
    ...(options.processes === undefined ? {} : { process: options.processes.own }),
  });
  const heardNow = () => {
    const heardAt = options.isHeard?.() === true ? membership.server() : undefined;
    return heardAt === undefined ? {} : { heardAt };
  };
  const storageNow = () => {
    const storage = storageLeft?.();
    return storage === undefined ? {} : { storage };
  };
  const lostNow = () => {
    const lost = linesLost?.() ?? 0;
    return lost === 0 ? {} : { linesLost: lost };
  };
  const hosts = (): LivingHost[] => [{ host: incarnation, ...entry() }, ...[...others].flatMap(toHost)];
  async function beat(): Promise<void> {
    const at = clock.elapsed();
    const said = entry();
    await membership.beat(incarnation, encodeHostEntry(said), limits.hostTtlMs);
    options.rows?.said(said.lists === true);
    saidAt = Math.max(saidAt, at);
  }

  /** What was heard while the list was read may be newer than the list, and counts. */
  async function look(): Promise<void> {
    heard = new Map();
    const list = (await membership.hosts()).filter(({ host }) => host !== incarnation);
    const buried = await burials.ended(list);
    const next = new Map(list.map(({ host, data }) => [host, decodeHostEntry(data)]));
    for (const said of next.values()) if (said?.lists !== true) withoutRows += 1;
    for (const [host, said] of heard) next.set(host, said);
    for (const host of [...buried, incarnation]) next.delete(host);
    others = next;
    hasLooked = true;
  }

  /** Does what placement says, and says what was done. */
  async function settle(): Promise<void> {
    isSettlingDue = false;
    if (!hasLooked || declared === undefined) return;
    const held = new Set(holdings.held());
    const next = draining ? [] : nextHoldings(inbox.partitions, incarnation, hosts());
    if (left.signal.aborted || (next.length === held.size && next.every((one) => held.has(one)))) return;
    await holdings.take(next);
    log.debug({ host: incarnation, partitions: next }, "partitions taken");
    await beat(); // RO3
  }

  function hear(host: string, data: Uint8Array | undefined): void {
    if (host === incarnation) return;
    const said = data === undefined ? undefined : decodeHostEntry(data);
    heard.set(host, said);
    if (data !== undefined && said?.lists !== true) withoutRows += 1;
    const isNews = !isSame(others.get(host), said);
    others.set(host, said);
    if (!isNews || isSettlingDue) return;
    isSettlingDue = true;
    void serially(settle);
  }

  async function listen(): Promise<void> {
    for await (const { host, data } of membership.follow(left.signal)) hear(host, data);
  }

  /** RO4. */
  async function learn(): Promise<void> {
    const at = clock.elapsed();
    const over = membership.connection();
    const next = await readDeclared(registry);
    learnedAt = at;
    learnedOver = over;
    if (next.revision === declared?.revision) return;
    for (const fault of next.faults) log.warn({ fault }, "declared deployments not understood");
    const isFirst = declared === undefined;
    declared = next;
    if (next.revision > 0) await serially(beat);
    if (isFirst) await serially(settle);
  }

  async function watch(): Promise<void> {
    const buried = hasLapsed() ? undefined : await burials.watch(others);
    if (buried !== undefined) hear(buried, undefined);
  }

  async function stayKnown(): Promise<void> {
    const serving = [...others].flatMap(toHost).filter((other) => !other.draining);
    weighing.weigh(serving.map(({ weight }) => weight)); // Said with the beat before it is acted on.
    await serially(beat);
    await serially(look);
    await serially(settle);
  }

  listen().catch((error: unknown) => log.warn({ err: error }, "other hosts are not heard, only looked up"));
  const whileHere = { clock, log, signal: left.signal };
  void every(whileHere, limits.hostBeatMs, "staying known to other hosts", stayKnown);
  void every(whileHere, limits.hostBeatMs, "learning what is declared", learn);
  void every(whileHere, limits.hostWatchMs, "watching another host", () =>
    watch().catch((error: unknown) => log.debug({ err: error }, "watched host not looked at")),
  );

  return {
    hosts,
    heardWithoutRows: () => withoutRows,
    declared: () =>
      clock.elapsed() - Math.min(learnedAt, saidAt) < limits.hostTtlMs &&
      learnedOver === membership.connection()
        ? declared
        : undefined,
    drain: async () => {
      draining = true;
      // Said at once, and not after what is under way: from now on the others need not wait for this host.
      await Promise.all([beat().catch(() => undefined), serially(() => holdings.take([]))]);
    },
    leave: async () => {
      left.abort();
      await last;
      await membership.leave(incarnation).catch(() => undefined); // It would vanish by itself.
    },
  };
}

const toHost = ([host, entry]: readonly [string, HostEntry | undefined]): LivingHost[] =>
  entry === undefined ? [] : [{ host, ...entry }];

/** To placement: what a host serves, or how much of it is in use, moves no partition. */
const isSame = (a: HostEntry | undefined, b: HostEntry | undefined): boolean =>
  JSON.stringify(placedBy(a)) === JSON.stringify(placedBy(b));

const placedBy = (entry: HostEntry | undefined) =>
  entry && [entry.partitions, entry.draining, entry.since, entry.weight?.now];
