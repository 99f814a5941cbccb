/**
 * Remembered: what an agent's working memory was when a host last kept its state beside the ledger. Whether that state is the ledger's
 * says who has read the ledger.
 */
import type { SagaId } from "../../protocol/ids.ts";
import type { Remembered } from "../console/memory.ts";
import { readSnapshot } from "../host/snapshots.ts";
import type { Clock, Ports } from "../wire/ports.ts";

/** Undefined where no host has kept its state. Throws UNAVAILABLE. */
export async function rememberedOf(
  deps: { readonly ports: Pick<Ports, "snapshots">; readonly clock: Clock },
  saga: SagaId,
): Promise<Remembered | undefined> {
  const found = await readSnapshot(deps, saga);
  if (found === undefined) return undefined;
  const { head, state } = found.snapshot;
  const memory = (state as { memory?: Remembered["memory"] } | null)?.memory; // A state as hosts write it, of this code's format.
  return { turn: head.turn, hash: head.hash, memory };
}
