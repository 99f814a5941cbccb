/**
 * Begun: what a saga was begun with, by its first turn or its tombstone. Nothing between is read.
 */
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { begunWith, type StartIdentity } from "../../protocol/start.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { Ports, StoredMessage } from "../wire/ports.ts";
import { decodeTurn, isTombstone, type LedgerSource, readTombstone } from "./reader.ts";
import { beginsChain, emptyHead, lastTurnOf, readChain, walkFrom } from "./chain.ts";

/** A saga that has begun. */
export interface BegunSaga {
  /** The definition it was begun under. */
  readonly definition: DefinitionRef;
  /** Undefined for an archived fork: which order made it is not kept. */
  readonly as: StartIdentity | undefined;
  /** Where a fork left its origin. */
  readonly fork?: { readonly saga: SagaId };
}

/**
 * The message of a saga's last turn, or its tombstone. Throws SAGA_UNKNOWN for an id that was never started, and SAGA_NOT_BEGUN for one
 * whose start waits for a host; in an archive every saga that is not there is unknown.
 */
export async function lastMessageOf(source: LedgerSource, saga: SagaId): Promise<StoredMessage> {
  const last = await lastTurnOf(source, saga);
  if (last !== undefined) return last;
  const standing = await source.inbox?.standingStart(saga);
  if (standing !== undefined)
    throw new MeshError("SAGA_NOT_BEGUN", `the start of ${saga} is stored; no host has taken it yet`);
  // Between the two looks it may have been taken and acked.
  const begun = source.inbox === undefined ? undefined : await lastTurnOf(source, saga);
  if (begun === undefined) throw new MeshError("SAGA_UNKNOWN", `there is no saga ${saga}`);
  return begun;
}

/**
 * Whether what stands first is a turn or a tombstone, by one read: then the saga has begun. Undefined: nothing is stored; false, and
 * something foreign stands there, which tells nothing. Throws SIGNER_UNKNOWN, TRUST_UNSETTLED, UNAVAILABLE.
 */
export async function beginsWithTurn(
  source: Pick<Ports, "ledger">,
  saga: SagaId,
): Promise<boolean | undefined> {
  const first = await source.ledger.first(saga);
  return first && beginsChain(saga, first);
}

/** What a saga was begun with, or undefined if it has no ledger. Throws LEDGER_BROKEN, UNAVAILABLE. */
export async function readBegun(
  ports: Pick<Ports, "ledger" | "blobs">,
  saga: SagaId,
): Promise<BegunSaga | undefined> {
  const last = await lastTurnOf(ports, saga);
  if (last === undefined) return undefined;
  if (isTombstone(last)) {
    const { definition, inputDigest, parent, fork } = await readTombstone(ports.blobs, last);
    if (fork !== undefined) return { definition, as: undefined, fork };
    return { definition, as: { name: definition.name, inputDigest, parent } };
  }
  return begunIn(await firstTurnOf(ports, saga, last));
}

/**
 * Whether a saga began before a time, or descends of one that did. True for one that does not tell: it has no ledger, was
 * archived, or cannot be read. Throws UNAVAILABLE.
 */
export async function beganBefore(
  ports: Pick<Ports, "ledger" | "blobs">,
  saga: SagaId,
  time: number,
): Promise<boolean> {
  try {
    for (let one = saga; ;) {
      const last = await lastTurnOf(ports, one);
      if (last === undefined || isTombstone(last)) return true;
      const first = await firstTurnOf(ports, one, last);
      if (first.at < time) return true;
      const parent = begunIn(first).as?.parent;
      if (parent === undefined) return false;
      one = parent.saga;
    }
  } catch (error) {
    if (!isMeshError(error) || error.retriable) throw error;
    return true;
  }
}

/** Of a saga whose last turn is `last`. Where something foreign stands first, all before that is read. */
export async function firstTurnOf(
  ports: Pick<Ports, "ledger" | "blobs">,
  saga: SagaId,
  last: StoredMessage,
): Promise<Turn> {
  const first = await ports.ledger.first(saga);
  if (first !== undefined && walkFrom(saga, emptyHead).take(first) === "turn")
    return decodeTurn(ports.blobs, first);
  const { links } = await readChain(ports, saga, emptyHead, last.seq);
  const turn = links[0]?.message;
  if (turn !== undefined) return decodeTurn(ports.blobs, turn);
  throw new MeshError("UNAVAILABLE", `the first turn of ${saga} could not be read`);
}

/** What a first turn says. Throws LEDGER_BROKEN. */
export function begunIn(turn: Turn): BegunSaga {
  const event = turn.steps[0]?.event;
  if (event?.type !== "start")
    throw new MeshError("LEDGER_BROKEN", `the ledger of ${turn.saga} does not begin with a start`);
  const { definition, fork } = event;
  return { definition, as: begunWith(event), ...(fork === undefined ? {} : { fork }) };
}
