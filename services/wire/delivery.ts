/**
 * Settling a delivery: an ack or a nak that the server may not hear.
 *
 * WI1 An ack or nak that is lost costs another delivery once the lease ends, which every receiver must bear in any
 *     case. So it is not sent again, and its failure never stops the caller.
 */
import { limits } from "../../protocol/limits.ts";
import { isTransient } from "./patience.ts";
import type { Delivery } from "./ports.ts";

/** Acks, as well as it can be done now. */
export const ackDelivery = (delivery: Delivery): Promise<void> => delivery.ack().catch(letLeaseEnd);

/** Gives back, as well as it can be done now; a nak that is lost costs the rest of the lease. */
export const nakDelivery = (delivery: Delivery, delayMs?: number): Promise<void> =>
  delivery.nak(delayMs).catch(letLeaseEnd);

/** When to offer an input of a saga that has not started yet again: its start is mostly but a moment behind. */
export const earlyDelayMs = ({ deliveries }: Delivery): number =>
  Math.min(limits.earlyInputDelayMs, 25 * 2 ** Math.min(deliveries, 10));

/** WI1. */
function letLeaseEnd(error: unknown): void {
  if (!isTransient(error)) throw error;
}
