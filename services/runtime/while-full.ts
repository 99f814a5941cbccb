/**
 * While full: what serves waits for a server that stores nothing, also where that is so when it starts.
 */
import { describeError, isMeshError, type MeshError } from "../../protocol/errors.ts";
import { systemClock } from "./system.ts";

const lookEveryMs = 2_000;

/** Begins it, once that works. */
export type WhenStored = <T>(begin: () => Promise<T>) => Promise<T>;

/** Who hears of it, and what ends it. */
export interface WaitingForRoom {
  /** Takes a line for a person. */
  readonly report: (line: string) => void;
  /** Why it waits; undefined once it does not. */
  readonly waits?: (why: MeshError | undefined) => void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Begins it, and begins it again while it throws STORAGE_FULL: whatever is thrown has left nothing running. Throws what else is
 * thrown, and the signal's reason.
 */
export async function whileFull<T>(
  { report, waits, signal }: WaitingForRoom,
  begin: () => Promise<T>,
): Promise<T> {
  for (let isTold = false; ; isTold = true) {
    try {
      const begun = await begin();
      waits?.(undefined);
      return begun;
    } catch (error) {
      if (!isMeshError(error, "STORAGE_FULL")) throw error;
      waits?.(error);
      if (!isTold) report(`waits: ${describeError(error)} ${error.remedy}`);
      await systemClock.sleep(lookEveryMs, signal);
    }
  }
}
