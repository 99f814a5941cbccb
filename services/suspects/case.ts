/**
 * Case: one suspect that is looked into, and its deliveries that this process holds un-acked.
 *
 * CJ1 What it is suspected of only becomes less: what was in the child, un-acked, at each of its deaths.
 */
import { ackDelivery, nakDelivery } from "../wire/delivery.ts";
import type { Delivery } from "../wire/ports.ts";
import type { FromChild, Handed } from "./child.ts";
import type { Ward } from "./ward.ts";

/** A delivery of a suspect. */
export interface Held {
  delivery: Delivery;
  /** Takes it in this process. */
  readonly onward: () => void;
  /** The child that has the suspect now was given it. */
  isHanded: boolean;
}

/** A suspect, from its first delivery here until none is held. */
export interface Case {
  readonly key: string;
  readonly group: number;
  /** By sequence. */
  readonly held: Map<number, Held>;
  /** The child that has it; undefined while none has. */
  child: CaseChild | undefined;
  /** Sequences (CJ1); undefined while no child has died of it. */
  suspected: ReadonlySet<number> | undefined;
  readonly closed: PromiseWithResolvers<void>;
}

/** A child, as the suspect in it has it. */
export interface CaseChild {
  readonly ward: Ward;
  /** Hands on what has come since. */
  feed(): void;
}

/** A case with nothing held. */
export const openCase = (key: string, group: number): Case => ({
  key,
  group,
  held: new Map(),
  child: undefined,
  suspected: undefined,
  closed: Promise.withResolvers(),
});

/** Holds a delivery. Of one message the latest delivery counts: the leases of the others are over. */
export function hold({ held }: Case, delivery: Delivery, onward: () => void): void {
  const same = held.get(delivery.seq);
  if (same === undefined) held.set(delivery.seq, { delivery, onward, isHanded: false });
  else same.delivery = delivery;
}

/** What is held, in the order of the stream. */
export const inOrder = ({ held }: Case): Held[] =>
  [...held.values()].sort((a, b) => a.delivery.seq - b.delivery.seq);

/** Settles a delivery as the child says. One that is not held any more is left as it is. */
export function settle({ held }: Case, message: Extract<FromChild, { type: "ack" | "nak" }>): void {
  const delivery = held.get(message.seq)?.delivery;
  if (delivery === undefined) return;
  held.delete(message.seq);
  void (message.type === "ack" ? ackDelivery(delivery) : nakDelivery(delivery, message.delayMs));
}

/** Gives back all that is held. */
export function giveBackAll({ held }: Case, delayMs?: number): void {
  for (const { delivery } of held.values()) void nakDelivery(delivery, delayMs);
  held.clear();
}

/** Gives back what no child has. What the child has stays there until what it began has ended. */
export async function giveBackWaiting({ held }: Case): Promise<void> {
  for (const [seq, { delivery, isHanded }] of held) {
    if (isHanded) continue;
    held.delete(seq);
    await nakDelivery(delivery);
  }
}

/** After a death of its child (CJ1). If nothing was in it at every death, what was in it at the last one counts. */
export function narrow(one: Case): void {
  const now = [...one.held.values()].filter(({ isHanded }) => isHanded).map(({ delivery }) => delivery.seq);
  const both = now.filter((seq) => one.suspected?.has(seq) ?? true);
  one.suspected = new Set(both.length > 0 ? both : now);
}

/** What it died of, for all that is known, in the order of the stream. */
export const blamed = (one: Case): Delivery[] =>
  inOrder(one)
    .map(({ delivery }) => delivery)
    .filter(({ seq }) => one.suspected?.has(seq) ?? true);

/** What of a delivery can be told to another process. */
export const handedOf = ({ subject, seq, headers, data, storedAt, deliveries }: Delivery): Handed => ({
  subject,
  seq,
  headers,
  data,
  storedAt,
  deliveries,
});
