/** Manager: the client's own calls for streams and consumers, for what is asked seldom. */
import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { translated } from "./errors.ts";

/** Asks nothing yet. `timeoutMs`: how long each call waits; 5 s, as the client's, unless given. Throws UNAVAILABLE for a closed connection. */
export const managerOf = (nc: NatsConnection, timeoutMs?: number): Promise<JetStreamManager> =>
  translated("JetStream", () =>
    jetstreamManager(nc, { checkAPI: false, ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }) }),
  );
