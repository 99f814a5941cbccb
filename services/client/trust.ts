/**
 * Trust: what an operator says of whose signatures count.
 *
 * WW1 What makes messages that counted count no more (that turns must be signed, that a key is withdrawn) is done in two
 *     steps. Announced, it makes undecided what is stored from then on and would fall under it. It is settled, at the place
 *     where the ledger then ends, once every living host has heard of it, none signs with what would not count, and so
 *     much time has passed that a process which had not heard of it appends nothing more (services/ledger/trust.ts, QV2).
 * WW2 A process that dies between the steps leaves it announced; the same command again settles it, at a later place. All
 *     that stands before that place counts as it did.
 * WW3 That turns must be signed is never taken back, and a withdrawn key never comes back: a place from which unsigned turns
 *     counted again would be one that a forger waits for.
 */
import { encodeJson } from "../../protocol/codec.ts";
import type { TrustShown } from "../../protocol/documents/trust.ts";
import { MeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { type FromPlace, mayStillSign, placeIn, type TrustDocument, trustKey } from "../../protocol/trust.ts";
import { type LivingHost, livingHosts } from "../deployments/served.ts";
import { readTrust, type Trusting } from "../ledger/trust.ts";
import { isRivalry, patiently } from "../wire/patience.ts";
import type { ClientDeps } from "./send.ts";

/** What is to hold from a place on: that turns must be signed, or that this key signs no more. */
export type Change = { readonly type: "require" } | { readonly type: "withdraw"; readonly key: string };

/** How a change is made. */
export interface Changing {
  /** Without it nothing is changed. */
  readonly isMeant: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Told of each look that finds hosts which are not so far. */
  readonly report?: ((hosts: readonly string[]) => void) | undefined;
}

/** What is said, and how far the living hosts are. */
export async function showTrust({ ports }: Pick<ClientDeps, "ports">): Promise<TrustShown> {
  return shown(await readTrust(ports.registry), await livingHosts(ports.membership));
}

/** As it is told. */
export function shown({ revision, document, fault }: Trusting, hosts: readonly LivingHost[]): TrustShown {
  const { required, keys } = document;
  return {
    revision,
    ...(required === undefined ? {} : { required }),
    keys: Object.entries(keys).map(([key, one]) => ({ key, ...one })),
    hosts: hosts.map(({ host, trust }) => ({
      host,
      ...trust,
      ready: trust !== undefined && mayStillSign(document, trust.signs),
    })),
    ...(fault === undefined ? {} : { fault }),
  };
}

/** Trusts a public key. Throws USAGE for one that was withdrawn (WW3), TRUST_UNREADABLE, UNAVAILABLE. */
export async function trustKeyOf(
  deps: ClientDeps,
  key: string,
  name: string | undefined,
): Promise<TrustShown> {
  const said = { by: deps.from, at: deps.clock.now(), ...(name === undefined ? {} : { name }) };
  return finished(
    deps,
    await write(deps, (document) => {
      const present = document.keys[key];
      if (present?.withdrawn !== undefined)
        throw new MeshError("USAGE", `${key} was withdrawn, and does not come back`, {
          remedy: "Make another: `nk -gen user`, or `nsc generate nkey --user`.",
        });
      if (present !== undefined && (name === undefined || present.name === name)) return document;
      return { ...document, keys: { ...document.keys, [key]: { ...present, ...said } } };
    }),
  );
}

/**
 * Makes a change of what counts (WW1), or says what it would do. Waits for living hosts until the signal. Throws
 * SIGNERS_UNREADY and changes nothing where a living host signs with what would not count; TRUST_UNREADABLE, UNAVAILABLE.
 */
export async function changeTrust(
  deps: ClientDeps,
  change: Change,
  { isMeant, signal, report }: Changing,
): Promise<TrustShown> {
  const { ports, clock, from } = deps;
  const present = await patiently(clock, () => readTrust(ports.registry));
  if (isSettled(present.document, change)) return finished(deps, { trusting: present, did: "nothing" });
  const before = await livingHosts(ports.membership);
  assertReady(before, present, change);
  if (!isMeant) return { ...shown(present, before), did: "would" };
  const say = async () => {
    const [place = 0, ...others] = await patiently(clock, () => ports.ledger.end());
    return { place, others, by: from, at: clock.now() };
  };
  const announcing = await say();
  const announced = await write(deps, (document) => announce(document, change, announcing));
  if (isSettled(announced.trusting.document, change)) return finished(deps, announced);
  const until = clock.elapsed() + 2 * limits.hostTtlMs;
  const { trusting } = announced;
  await everywhere(deps, { signal, report }, (one) => isReady(one, trusting, change), until);
  const settling = await say();
  const settled = await write(deps, (document) => settle(document, change, settling));
  await everywhere(
    deps,
    { signal, report },
    (one) => (one.trust?.revision ?? 0) >= settled.trusting.revision,
  );
  return finished(deps, settled);
}

/** Waits until all living hosts are so far, and the time has come. */
async function everywhere(
  { ports, clock }: ClientDeps,
  { signal, report }: Omit<Changing, "isMeant">,
  isSoFar: (host: LivingHost) => boolean,
  until = 0,
): Promise<void> {
  for (;;) {
    const hosts = await patiently(clock, () => livingHosts(ports.membership));
    const behind = hosts.filter((one) => !isSoFar(one)).map(({ host }) => host);
    if (behind.length === 0 && clock.elapsed() >= until) return;
    if (behind.length > 0) report?.(behind);
    await clock.sleep(limits.hostBeatMs / 2, signal);
  }
}

interface Said {
  /** Where LEDGER ends, and the other shards in their order; none unless given. */
  readonly place: number;
  readonly others?: readonly number[];
  readonly by: string;
  readonly at: number;
}

/** The first step (WW1). What nothing was ever stored under, or where nothing need be signed, needs no second. */
export function announce(
  document: TrustDocument,
  change: Change,
  { place, others = [], by, at }: Said,
): TrustDocument {
  const shards = Object.fromEntries(others.map((announced, k) => [k + 1, { announced }]));
  const from: FromPlace = { announced: place, ...(others.length === 0 ? {} : { shards }), by, at };
  if (change.type === "require") return { ...document, required: document.required ?? from };
  const { key } = change;
  const { [key]: present, ...otherKeys } = document.keys;
  if (present?.withdrawn !== undefined) return document;
  // Nothing that a key signed counted before it was named: it never does.
  if (present === undefined)
    return {
      ...document,
      keys: { ...otherKeys, [key]: { by, at, withdrawn: { announced: 0, after: 0, by, at } } },
    };
  if (document.required === undefined) return { ...document, keys: otherKeys };
  return { ...document, keys: { ...otherKeys, [key]: { ...present, withdrawn: from } } };
}

/** The second step. */
export function settle(document: TrustDocument, change: Change, { place, others = [] }: Said): TrustDocument {
  const at = (from: FromPlace): FromPlace => {
    if (from.after !== undefined) return from;
    const shards = Object.fromEntries(
      others.map((end, k) => {
        const { announced } = placeIn(from, k + 1);
        return [k + 1, { announced, after: Math.max(end, announced) }];
      }),
    );
    const after = Math.max(place, from.announced);
    return { ...from, after, ...(others.length === 0 ? {} : { shards }) };
  };
  if (change.type === "require")
    return document.required === undefined ? document : { ...document, required: at(document.required) };
  const present = document.keys[change.key];
  if (present?.withdrawn === undefined) return document;
  const key = { ...present, withdrawn: at(present.withdrawn) };
  return { ...document, keys: { ...document.keys, [change.key]: key } };
}

function isSettled({ required, keys }: TrustDocument, change: Change): boolean {
  if (change.type === "require") return required?.after !== undefined;
  const present = keys[change.key];
  return present === undefined ? required === undefined : present.withdrawn?.after !== undefined;
}

/** Whether what a host signs counts once this holds, and it knows as much. */
function isReady({ trust }: LivingHost, { revision, document }: Trusting, change: Change): boolean {
  if (trust === undefined || trust.revision < revision) return false;
  return !signsInVain(trust.signs, document, change);
}

function signsInVain(signs: string | undefined, document: TrustDocument, change: Change): boolean {
  if (change.type === "require") return !mayStillSign(document, signs);
  return signs === change.key && document.required !== undefined;
}

/** Before anything is announced: what waits for a host that is not there yet would stop sagas meanwhile. */
function assertReady(hosts: readonly LivingHost[], { document, fault }: Trusting, change: Change): void {
  if (fault !== undefined) throw new MeshError("TRUST_UNREADABLE", fault);
  if (change.type === "require" && !Object.keys(document.keys).some((key) => mayStillSign(document, key)))
    throw new MeshError("USAGE", "no key is trusted: nothing could be signed", {
      remedy: "`sagamesh trust add KEY` for the key of each host first.",
    });
  const unready = hosts.filter(
    ({ trust }) => trust === undefined || signsInVain(trust.signs, document, change),
  );
  if (unready.length === 0) return;
  const named = unready.map(({ host, trust }) =>
    trust === undefined
      ? `${host} (of a former version)`
      : `${host} (signs with ${trust.signs ?? "nothing"})`,
  );
  throw new MeshError("SIGNERS_UNREADY", `${named.join(", ")}: what they sign would not count`);
}

interface Written {
  readonly trusting: Trusting;
  readonly did: "changed" | "nothing";
}

const rivalryMs = 20;

/** Writes another document, made of what is there. The same again writes nothing. */
async function write(
  { ports, clock }: ClientDeps,
  change: (document: TrustDocument) => TrustDocument,
): Promise<Written> {
  for (;;) {
    const present = await patiently(clock, () => readTrust(ports.registry));
    const { revision, document, fault } = present;
    if (fault !== undefined) throw new MeshError("TRUST_UNREADABLE", fault);
    const next = change(document);
    if (next === document) return { trusting: present, did: "nothing" };
    try {
      const written = await ports.registry.write(trustKey, encodeJson(next), revision);
      return { trusting: { revision: written, document: next }, did: "changed" };
    } catch (error) {
      if (!isRivalry(error)) throw error; // A write whose answer was lost is read next.
    }
    await clock.sleep(rivalryMs);
  }
}

/** This process goes by it, too. */
async function finished({ ports, clock }: ClientDeps, { trusting, did }: Written): Promise<TrustShown> {
  await patiently(clock, async () => ports.trust?.learn());
  return { ...shown(trusting, await livingHosts(ports.membership)), did };
}
