/**
 * Goal: over several shards, and for a process that has not heard that there are several, the ledger port does what it does over
 * one.
 * Method: the contract of the port; one server, and an account, which is an empty JetStream, for each test.
 */
import { jetstreamManager } from "@nats-io/jetstream";
import { afterAll, beforeAll } from "vitest";
import { connectNats } from "../../../services/nats/connection.ts";
import { growShards } from "../../../services/nats/grow.ts";
import { openNatsPorts } from "../../../services/nats/open.ts";
import { createRequests } from "../../../services/nats/requests.ts";
import { ledgerContract } from "../../contract/ledger.contract.ts";
import { portsContract } from "../../contract/ports.contract.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";

const accounts = Array.from(
  { length: 120 },
  (_, i) => `T${i}: { jetstream: enabled, users: [{ user: t${i}, password: secret }] }`,
);
let used = 0;
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ extraConfig: `no_auth_user: t0\naccounts {\n${accounts.join("\n")}\n}` });
}, 120_000);
afterAll(() => server.stop());

for (const [from, all, what] of [
  [4, 4, "ledgers over four shards"],
  [1, 4, "ledgers over one shard that grew to four, of a process that has not heard of it"],
  [3, 7, "ledgers over three shards that grew to seven, of a process that has not heard of it"],
] as const)
  portsContract(what, async () => {
    const nc = await connectNats({ servers: server.url.replace("//", `//t${used++}:secret@`), name: "test" });
    const ports = await openNatsPorts(nc, { shards: from });
    const requests = createRequests(nc);
    await growShards({ requests, jsm: await jetstreamManager(nc) }, all);
    requests.close();
    const close = async () => {
      await ports.close();
      await nc.close();
    };
    return { ports, close };
  }, [ledgerContract]);
