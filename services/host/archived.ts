/**
 * Archived: what a host does with inputs for a saga of which only the tombstone is left. Nothing is folded or
 * appended, so each is answered by itself and no turn comes of it.
 */
import { acceptArchived } from "../../actors/kernel/accept-archived.ts";
import { orderOf } from "../../actors/kernel/undo-child.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { ParentRef } from "../../protocol/event.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import type { InboxItem, Inputs } from "./inputs.ts";

/** How an input is answered that is not simply known. */
export interface Answers {
  readonly inputs: Pick<Inputs, "answer">;
  /** The parent wants undone what the saga did; its ledger is gone. */
  readonly notUndone: (parent: ParentRef, error: MeshError) => Promise<void>;
}

/** Answers each input by the tombstone; what is known is left to be acked. `now` is in milliseconds since the epoch. */
export async function answerArchived(
  tombstone: Tombstone,
  items: readonly InboxItem[],
  now: number,
  { inputs, notUndone }: Answers,
): Promise<void> {
  for (const item of items) {
    const { event } = item;
    const order =
      event.type === "signal" && event.name === "cancel" ? orderOf(tombstone, event.data) : undefined;
    if (order !== undefined) {
      const why = `${tombstone.saga} was archived to ${tombstone.file} and cannot undo what it did by itself`;
      await notUndone(order.tell, new MeshError("SAGA_ARCHIVED", why));
      continue;
    }
    const judged = acceptArchived(tombstone, event, now);
    if (judged.type === "refused" || judged.type === "taken") await inputs.answer(item, judged);
  }
}
