/**
 * Cancel: many sagas are to undo what they did, and end.
 */
import type { SagaId } from "../../protocol/ids.ts";
import type { ClientDeps } from "../client/send.ts";
import { signalSaga } from "../client/signal.ts";
import { type BulkAct, oneByOne } from "./act.ts";

interface Cancel {
  /** Recorded with the cancellation; who asks for it, unless given. */
  readonly reason?: string | undefined;
  /** What repeats are known by; each is another one unless given. */
  readonly id?: string | undefined;
  /** Also for a saga that was never started. */
  readonly early?: boolean;
}

/** Asks one. Throws SAGA_UNKNOWN, SAGA_ENDED, UNAVAILABLE. */
export const cancelSaga = (deps: ClientDeps, saga: SagaId, { reason, id, early = false }: Cancel) =>
  signalSaga(deps, saga, {
    name: "cancel",
    data: { reason: reason ?? `cancelled by ${deps.from}` },
    ...{ id, early },
  });

/** Asks each that goes on. */
export const cancelling = (deps: ClientDeps, how: Omit<Cancel, "early">): BulkAct => ({
  look: async (meant) =>
    meant.map(({ saga, name, status }) =>
      status === "running"
        ? { saga, what: name, is: "would" }
        : { saga, what: name, is: "kept", because: `it has ended: ${status}` },
    ),
  perform: oneByOne(async ({ saga }) => {
    await cancelSaga(deps, saga, how);
    return { what: "cancel is stored", is: "done" };
  }),
});
