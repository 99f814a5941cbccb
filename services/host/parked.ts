/**
 * Parked: what a host notes of a saga that it cannot take, so that a person who looks from elsewhere is told why it stands.
 *
 * QP1 A note is a help and decides nothing: that it cannot be written delays nothing.
 * QP2 It tells where the ledger ended, and is renewed while its inputs come back: after the next turn, or after some time
 *     without a renewal, it counts no more, and nobody need take it away.
 */
import { describeError, isMeshError } from "../../protocol/errors.ts";
import { encodeJson } from "../../protocol/codec.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { type Parked, parkedEntry, readParked } from "../../protocol/parked.ts";
import type { HostDeps } from "./host-deps.ts";

type Deps = Pick<HostDeps, "clock" | "rows"> & {
  readonly ports: Pick<HostDeps["ports"], "ledger" | "snapshots">;
};

/** Whether a saga stands for it, and not only for a moment. */
export const standsFor = (error: unknown): boolean =>
  !isMeshError(error) || !error.retriable || error.code === "SIGNER_UNKNOWN";

/** Notes why a saga cannot be taken, where a person may have to act. Never throws (QP1). */
export async function noteParked({ ports, clock, rows }: Deps, saga: SagaId, error: unknown): Promise<void> {
  if (!standsFor(error)) return;
  try {
    const seq = (await ports.ledger.last(saga))?.seq ?? 0;
    const known = readParked(await ports.snapshots.get(saga, parkedEntry));
    const note = noteOf(error, seq, clock.now());
    const isSame = known?.seq === seq && known.code === note.code && known.reason === note.reason;
    if (isSame && note.at - known.at < limits.parkedRenewMs) return; // QP2
    if (known?.seq !== seq) await rows.stands(saga); // Else it was seen to when it began to stand.
    await ports.snapshots.put(saga, encodeJson(note), parkedEntry);
  } catch {
    // QP1: the host's log has said why it is parked.
  }
}

const noteOf = (error: unknown, seq: number, at: number): Parked => ({
  code: isMeshError(error) ? error.code : "INTERNAL",
  reason: describeError(error)
    .replace(/^\[\w+\] /, "")
    .slice(0, limits.reasonLengthMax)
    .toWellFormed(),
  remedy: isMeshError(error) ? error.remedy : 'The host\'s log says more, under "saga not taken".',
  at,
  seq,
});
