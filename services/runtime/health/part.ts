/** Part: what runs in a process that serves, and what it tells of itself to those who operate it. */

/** A host, a worker, or a gateway. */
export interface Part {
  stop(graceMs: number): Promise<void>;
  /** Sagas in memory now. */
  readonly resident?: () => number;
  readonly partitions?: () => readonly number[];
  /** Undefined: it can do its work now. */
  readonly whyNotReady?: () => Promise<string | undefined>;
}
