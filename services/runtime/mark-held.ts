/**
 * Mark held: the mark on a saga that holds its host's loop, put by the thread that sees it. Loaded once there is one: it takes
 * a connection of its own, because that of the process stands with its loop.
 *
 * XC1 It says no more than a host's own mark does: it counts once the host is gone to the mesh, and not if another suspicion
 *     stands already. A host that comes back has died of nothing: its mark goes.
 */
import { dial } from "../nats/connection.ts";
import { openSuspects } from "../nats/suspects.ts";
import { readMark, writeMark } from "../suspects/mark.ts";
import { ownMark } from "../suspects/verdict.ts";

/** Who marks, and where. */
export interface Marking {
  /** The host's process, by the name of its first incarnation. */
  readonly by: string;
  readonly servers: string;
}

/**
 * Marks the key. Resolves with what takes the mark away again, and ends the connection (XC1). Throws UNAVAILABLE,
 * SERVER_REFUSED.
 */
export async function markHeld({ by, servers }: Marking, key: string): Promise<() => Promise<void>> {
  const nc = await dial({ servers: servers.split(","), name: `sagamesh watch ${process.pid}` });
  const suspects = await openSuspects(nc).catch(async (error: unknown) => {
    await nc.close();
    throw error;
  });
  try {
    const found = await readMark(suspects, key);
    if (found?.mark.isSuspect === true || found?.mark.by === by) return () => suspects.close();
    const revision = await writeMark(suspects, key, ownMark(by, Date.now()));
    return () => suspects.remove(key, revision).finally(() => suspects.close());
  } catch (error) {
    await suspects.close();
    throw error;
  }
}
