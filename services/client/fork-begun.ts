/**
 * Fork begun: a person who forks is told whether a host has taken it, or why it was refused, while they wait for it.
 */
import type { SagaId } from "../../protocol/ids.ts";
import { headers } from "../../protocol/subjects.ts";
import { lastTurnOf } from "../ledger/chain.ts";
import { refusalOfStart } from "./refusal.ts";
import type { ClientDeps } from "./send.ts";

/** A host that is there copies a thousand turns in a second. */
const beginWithinMs = 10_000;
const lookMs = 100;

/**
 * Whether a host has copied a fork's turns and gone on, within ten seconds. `since` is the newest dead letter of before it was
 * stored. Throws why the fork was refused, if it was, and UNAVAILABLE.
 */
export async function forkBegun(
  { ports, clock }: Pick<ClientDeps, "ports" | "clock">,
  { id, turn, since }: { readonly id: SagaId; readonly turn: number; readonly since: number },
  signal?: AbortSignal,
): Promise<boolean> {
  for (const until = clock.elapsed() + beginWithinMs; ; await clock.sleep(lookMs, signal)) {
    const last = await lastTurnOf(ports, id);
    if (last !== undefined && Number(last.headers[headers.turn]) > turn) return true;
    const refused = await refusalOfStart(ports, id, since);
    if (refused !== undefined) throw refused;
    if (clock.elapsed() > until) return false;
  }
}
