/**
 * Patience: sending the same request again while the server does not answer.
 *
 * WT1 Only what may be repeated identically goes through here: a publish with its Msg-Id, a read, a claim
 *     with its nonce.
 */
import { isMeshError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { Clock } from "./ports.ts";

const firstDelayMs = 25;
/** While it may be an election, after which each saga should go on at once; then it is an outage. */
const electionMs = 15_000;
/** That a person has to do something is told within 10 s: a publish without an answer takes 2.5 s, and there are two. */
const fullMs = 5_000;
const delayMaxMs = (waitedMs: number): number => (waitedMs < electionMs ? 250 : 1_000);

/** Whether sending the identical request again can help. */
export const isTransient = (error: unknown): boolean =>
  isMeshError(error, "UNAVAILABLE") ||
  isMeshError(error, "STORAGE_FULL") ||
  isMeshError(error, "MESH_INCOMPLETE") ||
  isMeshError(error, "SIGNER_REFUSED") ||
  isMeshError(error, "TRUST_UNSETTLED") ||
  isMeshError(error, "TRUST_UNREADABLE") ||
  isMeshError(error, "WRITE_IN_FLIGHT") ||
  isMeshError(error, "DUPLICATE_IN_FLIGHT");

/** Whether another process was first, or is just writing the same entry: it is to be read anew. */
export const isRivalry = (error: unknown): boolean =>
  isMeshError(error, "WRONG_SEQUENCE") || isMeshError(error, "WRITE_IN_FLIGHT");

/**
 * Repeats `request` while its failure is transient, with growing pauses, for `patienceMs` (30 s; Infinity for
 * what must not be given up while the process lives); what is full for at most 5 s of them: no election ends it. Then, or when
 * aborted, the last failure is thrown.
 */
export async function patiently<T>(
  clock: Clock,
  request: () => Promise<T>,
  {
    patienceMs = limits.serverPatienceMs,
    signal,
  }: { patienceMs?: number; signal?: AbortSignal | undefined } = {},
): Promise<T> {
  const begun = clock.elapsed();
  const untilOf = (error: unknown) =>
    begun +
    (isMeshError(error, "STORAGE_FULL") && Number.isFinite(patienceMs)
      ? Math.min(patienceMs, fullMs)
      : patienceMs);
  for (let delayMs = firstDelayMs; ; delayMs = Math.min(delayMs * 2, delayMaxMs(clock.elapsed() - begun))) {
    try {
      return await request();
    } catch (error) {
      if (!isTransient(error) || clock.elapsed() + delayMs > untilOf(error) || signal?.aborted === true)
        throw error;
      await clock.sleep(delayMs, signal);
    }
  }
}
