/** What each test of a file has for itself: an account of a server, which is an empty JetStream, and connections to it. */
import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { connectNats } from "../../services/nats/connection.ts";
import { type NatsPorts, openNatsPorts } from "../../services/nats/open.ts";
import { createRequests, type Requests } from "../../services/nats/requests.ts";
import { type AccountServer, startAccountServer } from "./real-mesh.ts";

/** What is there from the beginning of each test on; of another test it is another's. */
export interface OwnAccount {
  readonly nc: NatsConnection;
  readonly jsm: JetStreamManager;
  readonly requests: Requests;
  /** Ports of a process that joins, closed after the test. Throws as `openNatsPorts`. */
  opened(options?: Parameters<typeof openNatsPorts>[1]): Promise<NatsPorts>;
}

/** For the file that calls this at its top. */
export function accountOfTest(): OwnAccount {
  let server: AccountServer;
  let nc: NatsConnection;
  let jsm: JetStreamManager;
  let requests: Requests;
  const open: NatsPorts[] = [];
  beforeAll(async () => {
    server = await startAccountServer();
  }, 120_000);
  afterAll(() => server.stop());
  beforeEach(async () => {
    nc = await connectNats({ servers: server.nextUrl(), name: "test" });
    jsm = await jetstreamManager(nc);
    requests = createRequests(nc);
  });
  afterEach(async () => {
    for (const ports of open.splice(0)) await ports.close();
    requests.close();
    await nc.close();
  });
  return {
    get nc() {
      return nc;
    },
    get jsm() {
      return jsm;
    },
    get requests() {
      return requests;
    },
    opened: async (options = {}) => {
      const ports = await openNatsPorts(nc, options);
      open.push(ports);
      return ports;
    },
  };
}
