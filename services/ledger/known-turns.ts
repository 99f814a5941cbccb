/**
 * Known turns: which definition a saga goes on under, by all of its turns, of sagas that are not folded here.
 *
 * QW1 The last message alone could be one of two that somebody published, the second standing on the first. Here all are told
 *     apart; from then on what is remembered of the saga is gone on from, so each message is read once.
 * QW2 Of a ledger that a turn is gone from, the last turn tells: whoever serves the saga finds what is wrong.
 */
import { isMeshError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { definitionTold } from "../wire/turn-headers.ts";
import { type ChainSource, emptyHead, type Head, lastTurnOf, readChain } from "./chain.ts";

/** Sagas remembered; of another all is read again. */
const rememberedMax = 10_000;

interface Known {
  readonly head: Head;
  readonly definition: DefinitionRef | undefined;
}

/** The definition by the saga's last turn, or its tombstone; undefined where it has none. */
export interface KnownTurns {
  /** Throws UNAVAILABLE, and SIGNER_UNKNOWN or TRUST_UNSETTLED for a turn that cannot be judged. */
  definitionOf(saga: SagaId): Promise<DefinitionRef | undefined>;
}

/** QW2. */
function asBroken(error: unknown): undefined {
  if (!isMeshError(error, "LEDGER_BROKEN")) throw error;
}

/** Nothing is known at first. */
export function createKnownTurns(source: ChainSource): KnownTurns {
  const known = new Map<SagaId, Known>();
  const remember = (saga: SagaId, one: Known): DefinitionRef | undefined => {
    known.delete(saga);
    const [oldest] = known.keys();
    if (known.size >= rememberedMax && oldest !== undefined) known.delete(oldest);
    known.set(saga, one);
    return one.definition;
  };
  return {
    definitionOf: async (saga) => {
      const last = await source.ledger.last(saga);
      if (last === undefined) return undefined;
      const before = known.get(saga) ?? { head: emptyHead, definition: undefined };
      if (last.seq <= before.head.seq) return before.definition;
      const chain = await readChain(source, saga, before.head, last.seq).catch(asBroken);
      if (chain === undefined) {
        const told = await lastTurnOf(source, saga);
        return told && definitionTold(told);
      }
      const { links, tombstone } = chain;
      if (tombstone !== undefined) return definitionTold(tombstone);
      const newest = links.at(-1);
      if (newest === undefined) return before.definition;
      return remember(saga, { head: newest.head, definition: definitionTold(newest.message) });
    },
  };
}
