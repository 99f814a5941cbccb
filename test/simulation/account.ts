/** Account: what a run leaves behind, for the oracle to judge. */
import type { SagaId } from "../../protocol/ids.ts";
import type { Headers } from "../../protocol/subjects.ts";
import type { StoredTurn } from "../../services/ledger/reader.ts";
import type { StoredMessage, StoredRow } from "../../services/wire/ports.ts";
import type { Pool } from "./profile.ts";
import type { Act, Asked } from "./world.ts";

/** An input that the server stored, told apart from its repeats. */
export interface StoredInput {
  readonly subject: string;
  readonly seq: number;
  readonly headers: Headers;
  readonly msgId: string | undefined;
  readonly data: Uint8Array;
}

/** Everything that is known of a run when it is over. */
export interface Account {
  readonly seed: number;
  readonly sagas: readonly SagaId[];
  readonly ledgers: ReadonlyMap<SagaId, readonly StoredTurn[]>;
  /** Ledgers that could not be read as a chain. */
  readonly broken: ReadonlyMap<SagaId, string>;
  readonly inputs: readonly StoredInput[];
  readonly dead: readonly StoredMessage[];
  readonly acts: readonly Act[];
  readonly asked: readonly Asked[];
  /** Whether the run came to rest before its time was over. */
  readonly rested: boolean;
  /** Who held something then, or was down. */
  readonly busy: readonly string[];
  readonly open: { readonly inbox: number; readonly work: number };
  /** The rows of the listing, where it is judged. */
  readonly rows?: readonly StoredRow[];
  /** What each host serves, where they differ. */
  readonly pools: readonly Pool[] | undefined;
  /** How often each input was handed on from host to host, by its sequence. */
  readonly hops: ReadonlyMap<number, number>;
  /** Whether the process stood still around the time of the act. */
  readonly stoodStill: (act: Act) => boolean;
  /** What the product threw that is no error of the mesh's: mistakes in its code. */
  readonly mistakes: readonly string[];
}
