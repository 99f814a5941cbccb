/**
 * Many: reading one saga after another, so that one that cannot be read hides none. Whatever reads many goes through here.
 *
 * MY1 What is wrong with one saga is told with its id, its code and the reason, whatever was thrown, and the others are read.
 * MY2 That the server does not answer, and that the caller has had enough, are no saga's fault and are thrown.
 */
import type { UnreadableSaga } from "../../protocol/documents/unreadable.ts";
import { describeError, isMeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { eachOf } from "../process/each-of.ts";

/** What was read of many sagas; beside it, those that could not be. It is no member of its own when the list is written out. */
export type Many<T> = T[] & { readonly unreadable: readonly UnreadableSaga[] };

export interface ManyOptions {
  /** Ledgers read at a time; each is in memory meanwhile. 8 unless given. */
  readonly atOnce?: number;
  /** Called off: throws what the signal says. */
  readonly signal?: AbortSignal | undefined;
}

const atOnceDefault = 8;

/** Reads each; what comes of one is left out where it is undefined. In the order of the sagas. Throws UNAVAILABLE (MY2). */
export async function readMany<T>(
  sagas: readonly SagaId[],
  read: (saga: SagaId) => Promise<T | undefined>,
  { atOnce = atOnceDefault, signal }: ManyOptions = {},
): Promise<Many<T>> {
  const unreadable: UnreadableSaga[] = [];
  const all = await eachOf(sagas, atOnce, async (saga) => {
    signal?.throwIfAborted();
    try {
      return await read(saga);
    } catch (error) {
      signal?.throwIfAborted();
      if (isMeshError(error, "UNAVAILABLE")) throw error; // MY2
      unreadable.push(unreadableOf(saga, error));
      return undefined;
    }
  });
  return manyOf(
    all.filter((one): one is Awaited<T> & {} => one !== undefined),
    unreadable,
  );
}

/** A list with those that could not be read beside it, by their ids. */
export function manyOf<T>(list: readonly T[], unreadable: readonly UnreadableSaga[]): Many<T> {
  const sorted = [...unreadable].sort((a, b) => (a.saga < b.saga ? -1 : 1));
  const told = Object.defineProperty([...list], "unreadable", { value: sorted, enumerable: false });
  return told as Many<T>; // Proof: defined just now.
}

/** MY1. */
export function unreadableOf(saga: SagaId, error: unknown): UnreadableSaga {
  const code = isMeshError(error) ? error.code : "INTERNAL";
  return { saga, code, reason: describeError(error).replace(/^\[\w+\] /, "") };
}
