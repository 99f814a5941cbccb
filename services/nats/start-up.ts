/**
 * Patience with a server that is starting.
 *
 * The servers of a new cluster answer no JetStream request until they have elected a leader, which takes some
 * seconds, and are slow to make streams right after. Only calls that may be sent twice may wait here.
 */
import { limits } from "../../protocol/limits.ts";
import { isWithoutPeers, toMeshError } from "./errors.ts";
import type { Report } from "./progress.ts";
import { sleep } from "./sleep.ts";

const retryDelayMs = 500;

/**
 * Calls until it is answered, saying what it waits for; gives up after `serverPatienceMs` with the last error. That a
 * cluster has no place for a copy is an answer only by then: its servers may be joining still.
 */
export async function whileStarting<T>(
  what: string,
  call: () => Promise<T>,
  { report, signal }: { report: Report; signal?: AbortSignal | undefined },
): Promise<T> {
  const giveUpAt = performance.now() + limits.serverPatienceMs;
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await call();
    } catch (error) {
      const failure = toMeshError(error, what);
      const mayPass = failure.code === "UNAVAILABLE" || isWithoutPeers(failure);
      if (!mayPass || performance.now() > giveUpAt) throw failure;
      report(`waiting for ${what}: a cluster elects its leaders first`);
      await sleep(retryDelayMs, signal);
    }
  }
}
