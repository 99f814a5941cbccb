/**
 * One delivery of a durable consumer, as the ports know it.
 *
 * DV1 An ack is sent, not confirmed. One that is lost (said while the connection is lost, say) costs a
 *     redelivery, which every receiver must bear in any case (pull.ts, PU5); a confirmed one costs a round trip each.
 * DV2 A delivery is settled once; a second ack or nak does nothing.
 * DV3 What another host took is settled here: that host says the words from then on, on the same subject.
 */
import type { Msg, NatsConnection } from "@nats-io/nats-core";
import type { Delivery } from "../wire/ports.ts";
import type { Headers } from "../../protocol/subjects.ts";
import { parseAckSubject } from "./ack-subject.ts";
import { unanswered } from "./errors.ts";
import { decodeHeaders } from "./headers.ts";

const words = { ack: "+ACK", nak: "-NAK", working: "+WPI" } as const;

export interface DeliveryWatch {
  settled(seq: number, word: "ack" | "nak" | "handed on"): void;
  prolonged(): void;
}

/** A message of a consumer as it came here, from the server or from another host. */
export interface Delivered {
  readonly subject: string;
  /** Where it is acked. */
  readonly reply: string;
  readonly headers: Headers;
  readonly data: Uint8Array;
  /** How many of its deliveries no receiver had. */
  readonly unread?: number;
}

/** What handing a delivery on needs of it. */
interface Handing {
  readonly reply: string;
  isSettled(): boolean;
  /** DV3. */
  settle(): void;
}

const handings = new WeakMap<Delivery, Handing>();

/** Undefined for what no consumer of this process delivered: a child's, say. */
export const handingOf = (delivery: Delivery): Handing | undefined => handings.get(delivery);

/** `InboxPort.recall`: a plain word on a message that was given back with a delay ends the delay. */
export function recall(nc: NatsConnection, delivery: Delivery): (() => void) | undefined {
  const reply = handingOf(delivery)?.reply;
  return reply === undefined ? undefined : recallAt(nc, reply);
}

/** Apart, so that it holds no more than this. */
const recallAt = (nc: NatsConnection, reply: string) => () => {
  if (!nc.isClosed()) nc.publish(reply, words.nak);
};

/** The message as it came from the server, to a process that gave it back unread so many times. */
export const deliveredBy = (message: Msg, returned: { times(seq: number): number }): Delivered => ({
  subject: message.subject,
  reply: message.reply!,
  headers: decodeHeaders(message).fields,
  data: message.data,
  unread: returned.times(parseAckSubject(message.reply!).seq),
});

/**
 * The delivery behind a message. `ack` and `nak` resolve when the word is handed to the connection, and throw
 * UNAVAILABLE once that is closed.
 */
export function createDelivery(nc: NatsConnection, message: Delivered, watch: DeliveryWatch): Delivery {
  const { reply } = message;
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
  const delivery: Delivery = {
    subject: message.subject,
    seq: place.seq,
    headers: message.headers,
    data: message.data,
    storedAt: place.storedAt,
    deliveries: Math.max(1, place.deliveries - (message.unread ?? 0)),
    ack: () => settle("ack", words.ack),
    nak: (delayMs = 0) =>
      settle("nak", delayMs > 0 ? `${words.nak} {"delay": ${Math.round(delayMs * 1e6)}}` : words.nak),
    working: () => {
      if (isSettled || nc.isClosed()) return;
      watch.prolonged();
      say(words.working);
    },
  };
  handings.set(delivery, {
    reply,
    isSettled: () => isSettled,
    settle: () => {
      isSettled = true;
      watch.settled(place.seq, "handed on");
    },
  });
  return delivery;
}

/** Returns a message that was handed to no receiver, so that another process may have it at once. */
export const giveBack = (nc: NatsConnection, message: Msg): void => {
  if (!nc.isClosed()) nc.publish(message.reply!, words.nak);
};
