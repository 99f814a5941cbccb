/** Batch: what an activation takes together, on its way to become a turn. */
import type { Event } from "../../protocol/event.ts";
import type { Address } from "../../protocol/subjects.ts";
import type { Performed } from "../perform/perform.ts";
import type { Delivery } from "../wire/ports.ts";

export type Item =
  | { readonly from: "inbox"; readonly delivery: Delivery; readonly address: Address }
  | { readonly from: "host"; readonly event: Event; readonly performed?: Performed };

/** A batch on its way to become a turn. */
export interface Batch {
  readonly events: Event[];
  /** A repeat was among it (V3). */
  known: boolean;
}

/** Those of the inbox that could be read, with what they say. */
export const inputsOf = (
  items: readonly Item[],
  read: readonly (Event | undefined)[],
): { readonly delivery: Delivery; readonly event: Event }[] =>
  items.flatMap((item, index) => {
    const event = read[index];
    return item.from === "inbox" && event !== undefined ? [{ delivery: item.delivery, event }] : [];
  });
