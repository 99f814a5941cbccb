/**
 * Goal: whatever is deleted while doctor reads, what it tells is one picture: a stream that is gone is gone, and no part that
 * missed it is taken for a server that is set up wrongly.
 * Method: a real server. For each stream, it is deleted before the first request of an examination, before the second, and so
 * on, until an examination ends before its turn comes.
 */
import { type JetStreamManager, jetstream, jetstreamManager, type StreamConfig } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { consumers, streams, subjects } from "../../../protocol/subjects.ts";
import { connectNats } from "../../../services/nats/connection.ts";
import { examineMesh } from "../../../services/nats/examine.ts";
import { openNatsPorts } from "../../../services/nats/open.ts";
import { oneShard } from "../../../protocol/shards.ts";
import { streamNames } from "../../../services/nats/streams.ts";
import { bytes, sagaId } from "../../contract/mesh-under-test.ts";
import { type AccountServer, startAccountServer } from "../../support/real-mesh.ts";

let server: AccountServer;
let nc: NatsConnection;
let other: NatsConnection;
let jsm: JetStreamManager;
beforeAll(async () => {
  server = await startAccountServer(5);
}, 120_000);
afterAll(() => server.stop());
beforeEach(async () => {
  const servers = server.nextUrl();
  nc = await connectNats({ servers, name: "doctor" });
  other = await connectNats({ servers, name: "operator" });
  jsm = await jetstreamManager(other);
  return async () => {
    await nc.close();
    await other.close();
  };
});

/** A mesh with an input that was delivered and given back: of such a one doctor asks whether its saga has a ledger. */
async function withInputThatCameBack(): Promise<StreamConfig[]> {
  const ports = await openNatsPorts(other, { partitions: 1 });
  const saga = sagaId("a");
  await ports.ledger.append(saga, { data: bytes("turn"), headers: {}, expectedSeq: 0 });
  await ports.inbox.publish({ subject: subjects.signal(saga, "go"), data: bytes("{}"), headers: {} });
  await ports.close();
  const consumer = await jetstream(other).consumers.get(streams.inbox, consumers.inbox(0));
  const first = await consumer.next();
  first?.nak();
  expect((await consumer.next())?.redelivered).toBe(true);
  return Promise.all(streamNames(oneShard).map(async (name) => (await jsm.streams.info(name)).config));
}

/** What is sent on the connection is held back before the n-th, from one on, until `act` is done. */
function before(n: number, act: () => Promise<unknown>): { readonly sent: () => number; undo(): void } {
  let sent = 0;
  let acting: Promise<unknown> | undefined;
  const publish = nc.publish.bind(nc);
  const request = nc.request.bind(nc);
  const turn = () => (++sent === n ? (acting = act()) : acting);
  nc.publish = (...args) => {
    const held = turn();
    if (held === undefined) publish(...args);
    else void held.then(() => publish(...args));
  };
  nc.request = async (...args) => {
    await turn();
    return request(...args);
  };
  return { sent: () => sent, undo: () => Object.assign(nc, { publish, request }) };
}

test.each([streams.ledger, streams.inbox, streams.work, streams.dead, "KV_HOSTS"])(
  "XM2 %s, deleted before any of the requests of an examination, is gone in all of its parts, and nothing else is wrong",
  async (name) => {
    const configs = await withInputThatCameBack();
    const config = configs.find((one) => one.name === name)!;
    for (let n = 1; ; n++) {
      const blow = before(n, () => jsm.streams.delete(name));
      const examined = await examineMesh(nc);
      blow.undo();
      if (blow.sent() < n) return expect(n).toBeGreaterThan(20); // All were tried.
      expect(examined.failures, `before request ${n}`).toEqual([]);
      await jsm.streams.add(config);
    }
  },
  60_000,
);
