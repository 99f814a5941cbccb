/**
 * Store: the port to where the tables are kept. Whoever fills them may die at any moment: what one call of `write` is given is there
 * whole, or not at all.
 */
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Row } from "./rows.ts";

/** How far a saga's ledger is in the tables. */
export interface KnownHead {
  /** The one that its ledger is in. */
  readonly shard: number;
  readonly turn: number;
  readonly seq: number;
  readonly hash: string;
  /** Its turns were archived; nothing follows. */
  readonly archived: boolean;
}

/** How far one shard of the ledgers is in the tables. */
export interface Place {
  /** All that is stored up to here is in them. */
  readonly through: number;
  /** The last message that was read, by which it is known again; absent before the first. */
  readonly last?: { readonly seq: number; readonly saga: SagaId; readonly hash: string } | undefined;
}

/** What is new of one saga. */
export interface SagaWrite {
  readonly saga: SagaId;
  /** All that stood of it goes first: it was read from its first turn. */
  readonly anew: boolean;
  readonly head: KnownHead;
  /** The code of why its ledger cannot be read on. */
  readonly fault: string | undefined;
  /** Each takes the place of the one with its key. */
  readonly rows: readonly Row[];
  /** Effects that did not happen after all. */
  readonly gone: readonly IntentId[];
  /** The file that its turns were moved to. */
  readonly archived: string | undefined;
}

/** What is written at once. */
export interface Batch {
  /** Each saga once. */
  readonly sagas: readonly SagaWrite[];
  /** By shard: those that moved. */
  readonly places: ReadonlyMap<number, Place>;
}

/** What the tables say of themselves. */
export interface Standing {
  /** By shard. */
  readonly places: readonly Place[];
  /** All that was stored before this is in them, milliseconds since the epoch by the server's clock; 0: not yet. */
  readonly checkedAt: number;
  /** The process that fills them, and when it last said so by this machine's clock. */
  readonly writer: { readonly id: string; readonly at: number } | undefined;
}

/** Where the tables are. Every method throws INDEX_UNUSABLE, and INDEX_BROKEN where they are to be begun anew. */
export interface TableStore {
  /** False once what it writes to is no more what others find under its name. */
  isCurrent(): Promise<boolean>;
  /** The mesh that they are of, as it was then; undefined: of none yet. */
  mesh(): Promise<string | undefined>;
  /** Empties them, and says of which mesh they are from now on. False as `write`. */
  clear(mesh: string, writer: string): Promise<boolean>;
  /**
   * Takes the writer's part, or keeps it. False while another process has it, which is until that says it no more for
   * `writerTtlMs`.
   */
  claim(writer: string): Promise<boolean>;
  /** Gives it back. */
  release(writer: string): Promise<void>;
  standing(): Promise<Standing>;
  /** Of those of them that are in the tables. */
  heads(sagas: readonly SagaId[]): Promise<ReadonlyMap<SagaId, KnownHead>>;
  /** The sagas whose ledgers could not be read for one of these codes. */
  faulty(codes: readonly string[]): Promise<SagaId[]>;
  /** All of it or nothing. False, and nothing is written, where another process has the writer's part. */
  write(batch: Batch, writer: string): Promise<boolean>;
  /** Says up to when the tables are whole, and keeps the writer's part. False as `write`. */
  checked(at: number, writer: string): Promise<boolean>;
  close(): Promise<void>;
}

/** A writer that says nothing for so long is dead, or stands still and will find that it was replaced. */
export const writerTtlMs = 3_000;
/** How often a writer says that it lives where it writes nothing else. */
export const writerSaysMs = 1_000;
/** How often it says up to when the tables are whole: this much of how far they lag is nothing but that. */
export const checkedSaysMs = 200;
