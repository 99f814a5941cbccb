/**
 * Hop: deliveries of a memory mesh, and how one goes from process to process.
 *
 * HV1 What is handed on passes both gates on its way, and so does the answer; the queue knows nothing of it but that its
 *     first receiver has room again. Whichever of them settles it, the queue hears it.
 * HV2 An ack or nak is a call that may fail, and may then be said again. After the first one it is not handed on.
 */
import { MeshError } from "../../protocol/errors.ts";
import type { Delivery, InboxPort, StoredMessage } from "../wire/ports.ts";
import type { ProcessGate } from "./gate.ts";
import type { MemoryQueue } from "./queue.ts";
import { atOnce } from "./reply.ts";
import type { HandedOver, Hear, MemoryServer } from "./server.ts";

/** A queue, as one process has it. */
export interface Queued {
  readonly gate: ProcessGate;
  readonly port: string;
  readonly queue: MemoryQueue;
}

/** What a delivery is of, until it is settled; nothing else can be handed on. */
const origins = new WeakMap<Delivery, Pick<HandedOver, "message" | "deliveries" | "queue">>();

/** A message that this process was handed, settled through its gate. */
export function toDelivery(
  { gate, port, queue }: Queued,
  message: StoredMessage,
  deliveries: number,
): Delivery {
  const { seq } = message;
  const settle = (word: "ack" | "nak", act: () => void) => {
    origins.delete(delivery);
    return gate.request(port, word, atOnce(act));
  };
  const delivery: Delivery = {
    ...message,
    deliveries,
    ack: () => settle("ack", () => queue.ack(seq)), // HV2
    nak: (delayMs = 0) => settle("nak", () => queue.nak(seq, delayMs)),
    working: () => gate.post(() => queue.working(seq)),
  };
  origins.set(delivery, { message, deliveries, queue });
  recalls.set(delivery, () => gate.post(() => queue.nak(seq, 0)));
  return delivery;
}

const recalls = new WeakMap<Delivery, () => void>();

/** `InboxPort.recall`. */
export const recall = (delivery: Delivery): (() => void) | undefined => recalls.get(delivery);

/** After so long without an answer it is not known whether it was taken, as on a real server. */
const hopTimeoutMs = 2_500;

/** Handing on and hearing, as one process does it. */
export const createHop = (
  { hops }: Pick<MemoryServer["inbox"], "hops">,
  gate: ProcessGate,
): Pick<InboxPort, "handOn" | "receive"> => ({
  handOn: async (host, delivery, meant) => {
    const origin = origins.get(delivery);
    if (origin === undefined) return false;
    const handed = { ...origin, meant };
    return gate.request<boolean>("inbox", "handOn", (reply) => {
      const hear = hops.get(host);
      if (hear === undefined) return reply({ value: false });
      const silence = new MeshError("UNAVAILABLE", `${host} did not say whether it took an input`);
      const forget = gate.clock.after(hopTimeoutMs, () => reply({ error: silence }));
      hear(handed, (isTaken) => {
        forget();
        if (isTaken) origin.queue.letGo(delivery.seq);
        reply({ value: isTaken });
      });
    });
  },
  receive: async (host, take) => {
    const hear: Hear = ({ message, deliveries, queue, meant }, answer) =>
      gate.reach(() => {
        const delivery = toDelivery({ gate, port: "inbox", queue }, message, deliveries);
        const isTaken = hops.get(host) === hear && take({ delivery, meant });
        gate.post(() => answer(isTaken));
      });
    hear.isReachable = gate.isReachable;
    await gate.request(
      "inbox",
      "receive",
      atOnce(() => hops.set(host, hear)),
    );
    const end = () => {
      if (hops.get(host) === hear) hops.delete(host);
    };
    const detach = gate.attach({ wake: () => undefined, end });
    return {
      stop: async () => {
        end();
        detach();
      },
    };
  },
});
