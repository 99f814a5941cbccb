/** LivePort on core NATS: sent to the processes that listen now, and never stored. */
import type { NatsConnection } from "@nats-io/nats-core";
import { subjects } from "../../protocol/subjects.ts";
import type { LivePort } from "../wire/ports.ts";
import { listen } from "./listen.ts";

export const createLive = (nc: NatsConnection): LivePort => ({
  publish: (saga, lane, data) => {
    // Best effort: a closed connection loses tokens and nothing else.
    if (!nc.isClosed() && !nc.isDraining()) nc.publish(subjects.live(saga, lane), data);
  },
  follow: (saga, signal, lane = "*") => {
    const { length } = subjects.live(saga, "");
    return listen(nc, subjects.live(saga, lane), signal, (message) => ({
      lane: message.subject.slice(length),
      data: message.data,
    }));
  },
});
