/** Part: what runs in a process that serves, and what it tells of itself to those who operate it. */

import type { StorageLeft } from "../../../protocol/storage.ts";

/** What has been begun and has not ended. */
export interface UnderWay {
  /** Sagas that a host decides about, or whose effects it awaits. A saga that waits is none. */
  readonly sagas: number;
  /** Model calls and tools. */
  readonly effects: number;
}

/** A host, a worker, or a gateway. */
export interface Part {
  stop(graceMs: number): Promise<void>;
  /** What a stop waits for, for as long as the grace. */
  readonly underWay?: () => UnderWay;
  /** Sagas in memory now. */
  readonly resident?: () => number;
  readonly partitions?: () => readonly number[];
  /** Sagas whose inputs it puts off, by the definition that no living host serves. */
  readonly waiting?: () => readonly { readonly definition: string; readonly sagas: readonly unknown[] }[];
  /** What is left to store in, as far as it knows. */
  readonly storage?: () => readonly StorageLeft[];
  /** Undefined: it can do its work now. */
  readonly whyNotReady?: () => Promise<string | undefined>;
}
