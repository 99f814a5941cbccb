/**
 * Refused: what became of a turn whose append the server refused, by what the ledger holds since the turn before it.
 *
 * JR1 A refusal that the ledger does not bear out is a deposed leader's, which has not seen the turn before this one:
 *    a doubtful answer like any other. To believe it would be safe, and would drop a saga for nothing.
 * JR2 It is one only for as long as such a leader answers. A ledger that lacks the turn before this one for longer has lost
 *    it, whatever was stored there since: nothing is appended to it from here.
 * JR3 A first turn that was refused because the saga has gone on long since is told by the first message and the last: a start
 *    that comes again costs no reading of the whole ledger.
 */
import { chainHash } from "../../protocol/digest.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Headers } from "../../protocol/subjects.ts";
import { limits } from "../../protocol/limits.ts";
import { beginsChain, chainOf, type ChainSource, type Claim, claimOf } from "../ledger/chain.ts";
import type { HostDeps } from "./host-deps.ts";
import type { Clock, LedgerPort } from "../wire/ports.ts";

/** A turn as it is sent. */
export interface TurnMessage {
  readonly data: Uint8Array;
  /** Of `data`, as the next turn will name it. */
  readonly hash: string;
  readonly headers: Headers;
  /** Of the turn before it; 0 for the first. */
  readonly expectedSeq: number;
}

/**
 * `fenced`: another host has appended since the turn was decided, or may. `behind`: the ledger has lost the turn before this
 * one (JR2).
 */
export type Appended =
  | { readonly type: "appended"; readonly seq: number }
  | { readonly type: "fenced" }
  | { readonly type: "behind" };

/** How far one append has looked. */
export interface Looked {
  /** What it compares with: the turn before it, or what is foreign after that. */
  seq: number;
  /** What is foreign. */
  readonly seen: Set<number>;
  /** When the turn before it was first not there, by the time elapsed (JR2). */
  missingSince?: number | undefined;
}

/** What appending needs. */
export interface AppendDeps {
  readonly ledger: LedgerPort;
  readonly clock: Clock;
  readonly onRetry?: (reason: string) => void;
  /** Whether this host stood still for longer than a lease (AD4 of append.ts). Never unless given. */
  readonly hasLapsed?: () => boolean;
  /** Is told of what is foreign, each time it is met. */
  readonly met?: ChainSource["met"];
}

/** What appending takes, of a host. */
export const appendDepsOf = ({ ports, clock, observe, hasLapsed }: HostDeps): AppendDeps => ({
  ...{ ledger: ports.ledger, met: ports.met, clock, hasLapsed },
  onRetry: (reason) => observe.append("retried", reason),
});

/**
 * What a refused append comes to. Undefined: it is to be sent again, after `since`, which is moved to where the ledger ends
 * (AD3 of append.ts); what was looked at is not read twice. Throws UNAVAILABLE where the refusal is not borne out (JR1).
 */
export async function lookSince(
  deps: AppendDeps,
  saga: SagaId,
  message: TurnMessage,
  since: Looked,
): Promise<Appended | undefined> {
  const found = await lookAt(deps, saga, message, since);
  if (found !== "missing") {
    since.missingSince = undefined;
    return found;
  }
  since.missingSince ??= deps.clock.elapsed();
  if (deps.clock.elapsed() - since.missingSince >= limits.deposedMsMax) return { type: "behind" }; // JR2
  throw new MeshError("UNAVAILABLE", `${saga}: refused, though nothing was appended since`);
}

/** `missing`: the turn before is not there, so far as is told. */
async function lookAt(
  { ledger, met }: AppendDeps,
  saga: SagaId,
  message: TurnMessage,
  since: Looked,
): Promise<Appended | "missing" | undefined> {
  const last = await ledger.last(saga);
  if (last === undefined && message.expectedSeq === 0 && since.seq === 0) return { type: "fenced" };
  const lastSeq = Math.max(last?.seq ?? 0, message.expectedSeq);
  if (lastSeq < since.seq) {
    since.seq = lastSeq; // What was foreign was removed.
    return undefined;
  }
  if (lastSeq === since.seq) return "missing";
  if (since.seq === 0 && (await hasGoneOn(ledger, saga, lastSeq))) return { type: "fenced" }; // JR3
  const newer = await ledger.read(saga, since.seq, lastSeq);
  if (newer.at(-1)?.seq !== lastSeq)
    throw new MeshError("UNAVAILABLE", `the ledger of ${saga} was not read up to ${lastSeq}`);
  const own = claimOf(message);
  if (own === undefined) throw new MeshError("INTERNAL", "a turn names its place");
  try {
    const before = { turn: own.turn - 1, seq: message.expectedSeq, hash: own.prev };
    const { links, foreign, tombstone } = chainOf(saga, before, newer, since.seen);
    if (foreign.length > 0) met?.(saga, foreign.length);
    const [next, ...others] = links;
    if (next?.head.hash === message.hash && others.length === 0 && tombstone === undefined)
      return { type: "appended", seq: next.head.seq }; // AD1 of append.ts
    if (next !== undefined || tombstone !== undefined) return { type: "fenced" };
  } catch (error) {
    if (isMeshError(error, "LEDGER_BROKEN")) return { type: "fenced" }; // Who loads the saga next is told.
    throw error;
  }
  if (!newer.some(({ data }) => chainHash(data) === own.prev) && !(await isThere(ledger, saga, message, own)))
    return "missing"; // What follows are no turns of this chain: they may be turns of another.
  for (const { seq } of newer) since.seen.add(seq);
  since.seq = lastSeq;
  return undefined;
}

/** Whether the first message is a turn or a tombstone, and something was stored since. */
async function hasGoneOn(ledger: LedgerPort, saga: SagaId, lastSeq: number): Promise<boolean> {
  const first = await ledger.first(saga);
  return first !== undefined && first.seq < lastSeq && beginsChain(saga, first);
}

/** Whether the turn before this one still stands where it was stored. */
async function isThere(
  ledger: LedgerPort,
  saga: SagaId,
  { expectedSeq }: TurnMessage,
  { prev }: Pick<Claim, "prev">,
): Promise<boolean> {
  if (expectedSeq === 0) return true;
  const [before] = await ledger.read(saga, expectedSeq - 1, expectedSeq);
  return before !== undefined && chainHash(before.data) === prev;
}
