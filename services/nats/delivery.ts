/**
 * One delivery of a durable consumer, as the ports know it.
 *
 * DV1 An ack is sent, not confirmed. One that is lost (said while the connection is lost, say) costs a
 *     redelivery, which every receiver must bear in any case (pull.ts, PU5); a confirmed one costs a round trip each.
 * DV2 A delivery is settled once; a second ack or nak does nothing.
 */
import type { Msg, NatsConnection } from "@nats-io/nats-core";
import type { Delivery } from "../wire/ports.ts";
import { parseAckSubject } from "./ack-subject.ts";
import { unanswered } from "./errors.ts";
import { decodeHeaders } from "./headers.ts";

const words = { ack: "+ACK", nak: "-NAK", working: "+WPI" } as const;

export interface DeliveryWatch {
  settled(seq: number, word: "ack" | "nak"): void;
  prolonged(): void;
}

/**
 * The delivery behind a message. `ack` and `nak` resolve when the word is handed to the connection, and throw
 * UNAVAILABLE once that is closed.
 */
export function createDelivery(nc: NatsConnection, message: Msg, watch: DeliveryWatch): Delivery {
  const reply = message.reply!;
  const place = parseAckSubject(reply);
  let isSettled = false;
  const say = (word: string) => {
    try {
      nc.publish(reply, word);
    } catch (error) {
      throw unanswered(`${message.subject} ${place.seq}`, "the connection is closed", error);
    }
  };
  const settle = async (word: "ack" | "nak", said: string) => {
    if (isSettled) return; // DV2
    isSettled = true;
    watch.settled(place.seq, word);
    say(said); // DV1
  };
  return {
    subject: message.subject,
    seq: place.seq,
    headers: decodeHeaders(message).fields,
    data: message.data,
    storedAt: place.storedAt,
    deliveries: place.deliveries,
    ack: () => settle("ack", words.ack),
    nak: (delayMs = 0) =>
      settle("nak", delayMs > 0 ? `${words.nak} {"delay": ${Math.round(delayMs * 1e6)}}` : words.nak),
    working: () => {
      if (isSettled || nc.isClosed()) return;
      watch.prolonged();
      say(words.working);
    },
  };
}

/** Returns a message that was handed to no receiver, so that another process may have it at once. */
export const giveBack = (nc: NatsConnection, message: Msg): void => {
  if (!nc.isClosed()) nc.publish(message.reply!, words.nak);
};
