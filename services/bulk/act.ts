/**
 * Act: one thing that is done to many sagas, first only looked at.
 *
 * EB1 Looking changes nothing, and tells of every saga that was meant: what would be done to it, or why nothing would.
 * EB2 What is done is done to what was looked at, by name, and to nothing that came to be meant since.
 * EB3 One thing that cannot be done is told with its reason, and hinders no other.
 */
import { describeError, isMeshError } from "../../protocol/errors.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";

/** A saga that somebody means, as the tables have it. */
export interface Meant {
  readonly saga: SagaId;
  /** Of its definition. */
  readonly name: string;
  readonly status: string;
  /** How much of it is open or in doubt. */
  readonly unsettled: number;
}

/** What is done is done to this: a saga, a call of it, or a dead letter to it. */
export interface BulkItem {
  readonly saga: SagaId;
  readonly intent?: IntentId;
  readonly letter?: number;
}

/** What would become of it, or has. */
export interface BulkRow extends BulkItem {
  /** What it is, in a word or two. */
  readonly what: string;
  /** `would`: it would be done. `done`: it is stored. `kept`: nothing is to be done. `refused`: it could not be. */
  readonly is: "would" | "done" | "kept" | "refused";
  /** Why it is kept or refused. */
  readonly because?: string;
}

/** Something to do to many. */
export interface BulkAct {
  /** Tells what would be done, and changes nothing. Throws UNAVAILABLE. */
  look(meant: readonly Meant[]): Promise<BulkRow[]>;
  /**
   * Does it and tells of each as it is done, none twice. At the signal it ends early: what was told is done. Done again it changes
   * nothing. Throws UNAVAILABLE: what was not told may be done or not.
   */
  perform(items: readonly BulkItem[], tell: (row: BulkRow) => void, signal?: AbortSignal): Promise<void>;
}

/** One after the other (EB3). `act` says what came of it. */
export const oneByOne =
  (act: (item: BulkItem) => Promise<Pick<BulkRow, "what" | "is" | "because">>): BulkAct["perform"] =>
  async (items, tell, signal) => {
    for (const item of items) {
      signal?.throwIfAborted();
      const { saga, intent, letter } = item;
      const of: BulkItem = {
        saga,
        ...(intent === undefined ? {} : { intent }),
        ...(letter === undefined ? {} : { letter }),
      };
      tell({ ...of, ...(await act(item).catch(refusedBy)) });
    }
  };

function refusedBy(error: unknown): Pick<BulkRow, "what" | "is" | "because"> {
  if (isMeshError(error, "UNAVAILABLE")) throw error;
  return { what: "", is: "refused", because: describeError(error) };
}
