/**
 * Keeper: when a resident saga's snapshot is written, and what may leave memory once it is.
 *
 * KE1 All snapshots of a saga together cost a share of its ledger: one is due after so many turns, if these wrote
 *    so much that a snapshot of the last one's size is no waste. So waking folds a bounded number of turns, or a
 *    share of what its snapshot is long, and never the history.
 * KE2 Two are never under way. A lost one costs time only.
 * KE3 What an agent has said is laid by when it falls asleep, and not while it goes on: it has it in memory, and a conversation
 *     that never rests is stored once, in its ledger.
 */
import { layBy } from "../../actors/kernel/past.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { limits } from "../../protocol/limits.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import type { Head } from "../ledger/chain.ts";
import type { Log } from "../process/log.ts";
import type { Clock, Ports } from "../wire/ports.ts";
import { type Conversation, hasNext } from "./conversation.ts";
import { noSnapshot, type SnapshotAge, type Written, writeSnapshot } from "./snapshots.ts";

/** A saga as it stands after a turn. */
interface Kept {
  readonly definition: Definition;
  readonly state: SagaState;
  readonly head: Head;
  readonly conversation: Conversation;
}

/** Writes one saga's snapshots while it is in memory. */
export interface Keeper {
  /** The saga was loaded, or loaded anew. */
  found(age: SnapshotAge): void;
  /** A turn of so many bytes was acked: the state as memory keeps it. */
  grew(bytes: number, state: SagaState): SagaState;
  /** Writes a snapshot if one is due of a saga that goes on, of one that falls asleep, or of one that was dear to fold. */
  keep(loaded: Kept, saga: "running" | "asleep" | "dear"): Promise<void>;
  /** The newest snapshot, and the ledger since. */
  age(): SnapshotAge;
}

const due = {
  running: { turns: limits.snapshotTurns, bytesPerByte: limits.snapshotBytesPerLedgerByte },
  asleep: { turns: limits.snapshotAsleepTurns, bytesPerByte: limits.snapshotAsleepBytesPerLedgerByte },
  dear: { turns: 1, bytesPerByte: Number.MAX_SAFE_INTEGER },
} as const;

/** A keeper that knows of no snapshot: `found` tells it of the newest. */
export function createKeeper(deps: {
  readonly ports: Pick<Ports, "snapshots">;
  readonly clock: Clock;
  readonly log: Log;
}): Keeper {
  let { turn, bytes, grown, isWhole } = noSnapshot;
  let writing: Promise<void> | undefined;
  /** What the newest snapshot laid by and the state in memory still holds. */
  let laid: Written["laid"];

  async function write({ definition, state, head, conversation }: Kept, isAsleep: boolean): Promise<void> {
    try {
      const said = isAsleep ? conversation : undefined; // KE3
      const written = await writeSnapshot(deps, definition, state, head, said);
      ({ bytes, laid } = written);
    } catch (error) {
      deps.log.warn({ err: error, sagaId: state.saga }, "snapshot not written");
    } finally {
      writing = undefined;
    }
  }

  return {
    age: () => ({ turn, bytes, grown, isWhole }),
    found: (age) => {
      ({ turn, bytes, grown, isWhole } = age);
      laid = undefined;
    },
    grew: (more, state) => {
      grown += more;
      if (laid === undefined) return state;
      const { part, past } = laid;
      laid = undefined;
      return layBy(state, part, past) ?? state;
    },
    keep: async (loaded, saga) => {
      if (saga === "asleep" && loaded.state.phase.kind === "ended") return writing; // Nothing wakes it but chance.
      const { turns, bytesPerByte } = due[saga];
      const isDue = loaded.head.turn - turn >= turns && grown * bytesPerByte >= bytes;
      const isAsleep = saga === "asleep";
      const isOwed = isAsleep && !isWhole && hasNext(loaded.conversation); // KE3
      if ((isDue || isOwed) && writing === undefined) {
        ({ turn } = loaded.head); // Before it is written: one that fails is not tried again at once.
        grown = 0;
        isWhole = isAsleep;
        writing = write(loaded, isAsleep);
      }
      await writing;
    },
  };
}
