/**
 * Returns: what this process took last of what was delivered. Of a delivery that comes back here nothing died: the process
 * stood still for longer than a lease, or gave it back.
 *
 * JE1 What another process had in between is no return: it may have died of it.
 */
import { limits } from "../../protocol/limits.ts";
import type { Delivery } from "../wire/ports.ts";

/** A delivery, as it is remembered: its message, and the how manieth it was. */
type Delivered = Pick<Delivery, "seq" | "deliveries">;

/** What one process took of one stream, whatever its incarnation. */
export interface Returns {
  /** Whether this process, which lives, was the last to have the message. */
  isReturn(delivery: Delivered): boolean;
  /** It is taken in this process. */
  took(delivery: Delivered): void;
}

/** Nothing was taken. In two generations: a number in a map costs less than a time for each. */
export function createReturns(): Returns {
  let young = new Map<number, number>();
  let old = new Map<number, number>();
  return {
    isReturn: ({ seq, deliveries }) => deliveries <= (young.get(seq) ?? old.get(seq) ?? 0) + 1, // JE1
    took: ({ seq, deliveries }) => {
      young.set(seq, deliveries);
      if (young.size < limits.returnsKnownMax) return;
      old = young;
      young = new Map();
    },
  };
}
