/**
 * Hop: an input goes from the host that it was delivered to on to another, by a core request that says where it is
 * acked. The stream knows nothing of it: the message stays there until one of them acks it, or its lease ends.
 *
 * HN1 Only an answer settles it here. Without one the other host may have it, so it is neither given back nor prolonged:
 *     the lease tells.
 * HN2 Where no process listens, the server says so at once.
 */
import { errors, type Msg, type MsgHdrs, type NatsConnection, RequestError } from "@nats-io/nats-core";
import { subjects } from "../../protocol/subjects.ts";
import type { HandedOn, InboxPort } from "../wire/ports.ts";
import { createDelivery, type DeliveryWatch, handingOf } from "./delivery.ts";
import { subscribed, toMeshError, translated } from "./errors.ts";
import { decodeHeaders, encodeHeaders } from "./headers.ts";
import { requestTimeoutMs } from "./requests.ts";

/** Fields beside those of the message itself. */
const hop = { subject: "Hop-Subject", ack: "Hop-Ack", meant: "Hop-Meant" } as const;

const answers = { taken: "+TAKEN", not: "-NOT" } as const;

/** Its lease is counted where it was delivered first. */
const unwatched: DeliveryWatch = { settled: () => undefined, prolonged: () => undefined };

export const createHop = (nc: NatsConnection): Pick<InboxPort, "handOn" | "receive"> => ({
  handOn: async (host, delivery, meant) => {
    const handing = handingOf(delivery);
    if (handing === undefined || handing.isSettled()) return false;
    const { subject, headers, data } = delivery;
    const beside = { [hop.subject]: subject, [hop.ack]: handing.reply, [hop.meant]: meant };
    const isTaken = await ask(nc, subjects.hop(host), data, encodeHeaders(headers, beside));
    if (isTaken) handing.settle();
    return isTaken;
  },
  receive: async (host, take) => {
    const sub = subscribed(nc, subjects.hop(host), (error, message) => {
      if (error !== null) return;
      const handed = readHanded(nc, message);
      message.respond(handed !== undefined && take(handed) ? answers.taken : answers.not);
    });
    try {
      // So that the first host that hears of this one finds it listening.
      await translated(subjects.hop(host), () => nc.flush());
    } catch (error) {
      sub.unsubscribe(); // A second try has one of its own.
      throw error;
    }
    return { stop: async () => sub.unsubscribe() };
  },
});

/** Undefined for what no host sent. */
function readHanded(nc: NatsConnection, message: Msg): HandedOn | undefined {
  const {
    [hop.subject]: subject,
    [hop.ack]: reply,
    [hop.meant]: meant,
    ...headers
  } = decodeHeaders(message).fields;
  if (subject === undefined || reply === undefined || meant === undefined) return undefined;
  return { delivery: createDelivery(nc, { subject, reply, headers, data: message.data }, unwatched), meant };
}

/** Words for nobody's input: whoever listens says that it takes nothing. */
const nothing = new Uint8Array();
const unheardMs = 1_000;

/** Whether the server says that no process listens for what is handed on to this host (HN2). Silence says nothing. */
export async function isUnheard(nc: NatsConnection, host: string): Promise<boolean> {
  try {
    await nc.request(subjects.hop(host), nothing, { timeout: unheardMs });
    return false;
  } catch (error) {
    return isNoResponders(error);
  }
}

const isNoResponders = (error: unknown): boolean =>
  error instanceof errors.NoRespondersError || (error instanceof RequestError && error.isNoResponders());

/** True once it is taken. Throws UNAVAILABLE (HN1), and TOO_LARGE for what was not even sent. */
async function ask(
  nc: NatsConnection,
  subject: string,
  data: Uint8Array,
  headers: MsgHdrs,
): Promise<boolean> {
  try {
    const answer = await nc.request(subject, data, { timeout: requestTimeoutMs, headers });
    return answer.string() === answers.taken;
  } catch (error) {
    if (isNoResponders(error)) return false; // HN2
    throw toMeshError(error, subject);
  }
}
