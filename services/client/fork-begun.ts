/**
 * Fork begun: a person who forks is told whether a host has taken it, or why it was refused, while they wait for it.
 *
 * ZQ1 That no host lives is believed after a lease of none: the entry of one that gets too little of its machine runs out between two
 *     of its heartbeats, and what it would refuse is refused when it is back.
 */
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import { headers } from "../../protocol/subjects.ts";
import { takingHosts } from "../deployments/served.ts";
import { lastTurnOf } from "../ledger/chain.ts";
import { refusalOfStart } from "./refusal.ts";
import type { ClientDeps } from "./send.ts";

/** A host that is there copies a thousand turns in a second. */
const beginWithinMs = 10_000;
const lookMs = 100;

/** `waits`: hosts live, and none has taken it yet. `unserved`: none lives. */
export type ForkFate = "begun" | "waits" | "unserved";

/**
 * Whether a host has copied a fork's turns and gone on, within ten seconds. `since` is the newest dead letter of before it was
 * stored. Throws why the fork was refused, if it was, and UNAVAILABLE.
 */
export async function forkBegun(
  { ports, clock }: Pick<ClientDeps, "ports" | "clock">,
  { id, turn, since }: { readonly id: SagaId; readonly turn: number; readonly since: number },
  signal?: AbortSignal,
): Promise<ForkFate> {
  let servedAt = clock.elapsed();
  for (const until = servedAt + beginWithinMs; ; await clock.sleep(lookMs, signal)) {
    const last = await lastTurnOf(ports, id);
    if (last !== undefined && Number(last.headers[headers.turn]) > turn) return "begun";
    const refused = await refusalOfStart(ports, id, since);
    if (refused !== undefined) throw refused;
    const isServed = (await takingHosts(ports.membership)).length > 0;
    const now = clock.elapsed();
    if (isServed) servedAt = now;
    else if (now - servedAt > limits.inboxAckWaitMs) return "unserved"; // ZQ1
    if (now > until) return isServed ? "waits" : "unserved";
  }
}
