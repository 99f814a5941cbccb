/**
 * Removable: whether the messages on a ledger's subject that are no turns may be removed, for good.
 *
 * QF1 What chains is never removable, nor is the tombstone, nor anything of a ledger that a turn is gone from: what would
 *     look foreign there may be its turns. What was foreign once stays so, whatever is appended: only what stands before
 *     a message says what it is.
 * QF2 A message that says it is a turn of this saga, and that the server compared before it stored it, may be what a host
 *     wrote, with a turn before it changed since. It is kept unless it is named, or says byte for byte what a turn says.
 */
import type { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { StoredMessage } from "../wire/ports.ts";
import { chainOrGap, type Foreign, ownMessages, storedAfter } from "./chain.ts";

/** What is to become of a message that is no turn. */
export interface Judged {
  readonly foreign: Foreign;
  /** Why it is kept; undefined where it may be removed. */
  readonly kept?: string;
}

/** A whole ledger for an operator who removes what does not belong there. */
export interface Sorted {
  /** Its turns, and the tombstone if there is one, in the order of the stream. */
  readonly own: readonly StoredMessage[];
  readonly isArchived: boolean;
  /** In the order of the stream. */
  readonly judged: readonly Judged[];
  /** A turn is gone: nothing may be removed (QF1). */
  readonly gap?: MeshError;
}

/** Judges all messages of a ledger, which must be whole and in order. `named`: sequences named one by one (QF2). */
export function removableOf(
  saga: SagaId,
  messages: readonly StoredMessage[],
  named: ReadonlySet<number> = new Set(),
): Sorted {
  const chain = chainOrGap(saga, messages);
  const { foreign, tombstone, gap } = chain;
  const own = ownMessages(chain);
  const said = new Set(own.map(textOf));
  const whyKept = ({ message, claim }: Foreign): string | undefined => {
    if (gap !== undefined) return "a turn is gone, and it may be what followed it"; // QF1
    const isForged = message.standing?.().kind === "foreign"; // No host that the mesh trusted wrote it.
    const mayBeOurs = claim?.saga === saga && storedAfter(message) !== undefined && !isForged; // QF2
    return mayBeOurs && !named.has(message.seq) && !said.has(textOf(message))
      ? "it was stored as hosts store turns: a turn before it may have been changed"
      : undefined;
  };
  return {
    own,
    isArchived: tombstone !== undefined,
    judged: foreign.map((one) => {
      const kept = whyKept(one);
      return { foreign: one, ...(kept === undefined ? {} : { kept }) };
    }),
    ...(gap === undefined ? {} : { gap }),
  };
}

const textOf = ({ data }: StoredMessage): string =>
  Buffer.from(data.buffer, data.byteOffset, data.length).toString("latin1");
