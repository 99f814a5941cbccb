/**
 * The ports on JetStream: the contract, and what only a real server can show.
 *
 * Method: one server for the file, and an account of its own, which is an empty JetStream, for each test.
 * Deleting streams between tests will not do: a stream made again under its name right after may come back
 * with its old messages while the server is still removing their files.
 */
import { jetstreamManager, type StreamConfig } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { StoredMessage } from "../../../services/wire/ports.ts";
import { connectNats } from "../../../services/nats/connection.ts";
import { openNatsPorts } from "../../../services/nats/open.ts";
import { createRequests } from "../../../services/nats/requests.ts";
import { serverLimitReached, writeErrorOf } from "../../../services/nats/storage.ts";
import { bytes, codeOf, sagaId } from "../../contract/mesh-under-test.ts";
import { portsContract } from "../../contract/ports.contract.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";

const leases = { inboxAckWaitMs: 1_000, workAckWaitMs: 1_000 };

const accountsMax = 200;
const accounts = Array.from(
  { length: accountsMax },
  (_, i) => `T${i}: { jetstream: enabled, users: [{ user: t${i}, password: secret }] }`,
);
/** May ask what JetStream is, and nothing else. */
const shy = `SHY: { jetstream: enabled, users: [{ user: shy, password: secret, permissions: { publish: ["$JS.API.INFO"] } }] }`;
let accountsUsed = 0;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    extraConfig: `no_auth_user: t0\naccounts {\n${[...accounts, shy].join("\n")}\n}`,
  });
}, 120_000);
afterAll(async () => {
  await server.stop();
});

const connectEmpty = async (): Promise<NatsConnection> => {
  const account = accountsUsed++;
  expect(account).toBeLessThan(accountsMax);
  return connectNats({ servers: server.url.replace("//", `//t${account}:secret@`), name: "test" });
};

portsContract("ports on JetStream", async () => {
  const nc = await connectEmpty();
  const ports = await openNatsPorts(nc, leases);
  const close = async () => {
    await ports.close();
    await nc.close();
  };
  return { ports, close, ...leases };
});

describe("openNatsPorts", () => {
  let nc: NatsConnection;
  beforeEach(async () => {
    nc = await connectEmpty();
  });
  afterEach(async () => {
    await nc.close();
  });
  const echoed = async (stream: string): Promise<StreamConfig> =>
    (await (await jetstreamManager(nc)).streams.info(stream)).config;

  test("a new mesh has eight partitions, and the stream says so", async () => {
    const ports = await openNatsPorts(nc);
    expect(ports.inbox.partitions).toBe(8);
    expect(await echoed("INBOX")).toMatchObject({
      retention: "workqueue",
      allow_msg_schedules: true,
      max_msgs: -1,
      max_bytes: -1,
      metadata: { "sagamesh.partitions": "8" },
      subject_transform: { src: "saga.*.>", dest: "inbox.{{partition(8,1)}}.{{wildcard(1)}}.>" },
    });
    expect(await echoed("LEDGER")).toMatchObject({ retention: "limits", discard: "new", deny_delete: true });
    await ports.close();
  });

  test("a host that joins takes the number of partitions that is there", async () => {
    await (await openNatsPorts(nc, { partitions: 3 })).close();
    const ports = await openNatsPorts(nc);
    expect(ports.inbox.partitions).toBe(3);
    await ports.close();
  });

  test("hosts that start at the same time on an empty server all get the same mesh", async () => {
    const all = await Promise.all([1, 2, 3, 4].map(() => openNatsPorts(nc)));
    expect(all.map((ports) => ports.inbox.partitions)).toEqual([8, 8, 8, 8]);
    for (const ports of all) await ports.close();
  });

  test.each([
    [
      "LEDGER",
      { subjects: ["saga.*.ledger"], deny_delete: true, allow_direct: true, discard: "old" },
      /LEDGER: discard: expected "new", got "old"/,
    ],
    ["WORK", { subjects: ["work.*.*"] }, /WORK: retention: expected "workqueue", got "limits"/],
    [
      "INBOX",
      { subjects: ["nothing"], metadata: { "sagamesh.partitions": "8" } },
      /INBOX: subjects: expected/,
    ],
    ["INBOX", { subjects: ["nothing"] }, /INBOX: metadata: expected sagamesh.partitions, got none/],
  ])("a foreign stream %s is refused, naming field, expected and got", async (name, config, message) => {
    const jsm = await jetstreamManager(nc);
    await jsm.streams.add({ name, ...config } as StreamConfig);
    await expect(openNatsPorts(nc)).rejects.toMatchObject({
      code: "SERVER_MISCONFIGURED",
      message: expect.stringMatching(message) as string,
      remedy: expect.any(String) as string,
    });
  });

  test("a stream that was changed by hand is refused, and stays as it is", async () => {
    await (await openNatsPorts(nc)).close();
    const jsm = await jetstreamManager(nc);
    await jsm.streams.update("LEDGER", { max_age: 60e9, duplicate_window: 1e9 });
    await expect(openNatsPorts(nc)).rejects.toMatchObject({
      message: expect.stringContaining("LEDGER: max_age: expected 0, got 60000000000") as string,
    });
    expect((await echoed("LEDGER")).max_age).toBe(60e9);
  });

  test("limits that only refuse, and descriptions, are the operator's to set", async () => {
    await (await openNatsPorts(nc)).close();
    const jsm = await jetstreamManager(nc);
    await jsm.streams.update("LEDGER", { max_bytes: 1e9, description: "ours" });
    await (await openNatsPorts(nc)).close();
    expect(await echoed("LEDGER")).toMatchObject({ max_bytes: 1e9, description: "ours" });
  });

  test("a consumer with another lease is refused", async () => {
    await (await openNatsPorts(nc)).close();
    await expect(openNatsPorts(nc, { inboxAckWaitMs: 1_000 })).rejects.toMatchObject({
      message: expect.stringMatching(
        /consumer inbox-\d of INBOX: ack_wait: expected 1000000000, got 3000000000/,
      ) as string,
    });
  });

  test("more replicas than there are servers is refused with a code", async () => {
    expect(await codeOf(openNatsPorts(nc, { replicas: 3 }))).toBe("SERVER_MISCONFIGURED");
  });
});

describe("errors of the server", () => {
  let nc: NatsConnection;
  beforeEach(async () => {
    nc = await connectEmpty();
  });
  afterEach(async () => {
    await nc.close();
  });
  const turn = { data: bytes("x".repeat(500)), headers: {}, expectedSeq: 0 };

  test("whether the server stores can be asked where there is no mesh, and the connection outlives it", async () => {
    const requests = createRequests(nc);
    expect(await serverLimitReached(nc)).toBeUndefined();
    expect(await writeErrorOf(requests, "LEDGER")).toBeUndefined();
    await nc.flush();
    expect(nc.stats().inMsgs).toBeGreaterThan(0);
    const ports = await openNatsPorts(nc);
    const before = await (await jetstreamManager(nc)).streams.info("KV_REGISTRY");
    expect(await serverLimitReached(nc)).toBeUndefined();
    expect(await writeErrorOf(requests, "KV_REGISTRY")).toBeUndefined();
    const after = await (await jetstreamManager(nc)).streams.info("KV_REGISTRY");
    expect(after.state).toEqual(before.state); // Asking changes nothing.
    requests.close();
    await ports.close();
  });

  test("a full ledger is STORAGE_FULL", async () => {
    const ports = await openNatsPorts(nc);
    await (await jetstreamManager(nc)).streams.update("LEDGER", { max_bytes: 900 });
    expect(await codeOf(ports.ledger.append(sagaId("a"), turn))).toBe("none");
    expect(await codeOf(ports.ledger.append(sagaId("b"), turn))).toBe("STORAGE_FULL");
    await ports.close();
  });

  test("a stream that is gone is UNAVAILABLE: nobody answers, as in an election", async () => {
    const ports = await openNatsPorts(nc);
    await (await jetstreamManager(nc)).streams.delete("LEDGER");
    expect(await codeOf(ports.ledger.append(sagaId("a"), turn))).toBe("UNAVAILABLE");
    await ports.close();
  });

  test("a closed connection is UNAVAILABLE, and closing the ports fails what is open", async () => {
    const ports = await openNatsPorts(nc);
    await (await jetstreamManager(nc)).streams.delete("WORK");
    nc.subscribe("work.>", { callback: () => {} }); // Somebody who never answers.
    const open = codeOf(
      ports.work.publish({ name: "search", contract: "c1" }, { ...turn, msgId: "a:1-0:1" }),
    );
    await ports.close();
    expect(await open).toBe("UNAVAILABLE");
    await nc.close();
    expect(await codeOf(ports.ledger.append(sagaId("a"), turn))).toBe("UNAVAILABLE");
    expect(await codeOf(ports.ledger.last(sagaId("a")))).toBe("UNAVAILABLE");
  });

  test("a publish that a foreign stream catches is refused", async () => {
    const ports = await openNatsPorts(nc);
    const jsm = await jetstreamManager(nc);
    await jsm.streams.delete("WORK");
    await jsm.streams.add({ name: "FOREIGN", subjects: ["work.>"] });
    expect(
      await codeOf(ports.work.publish({ name: "search", contract: "c1" }, { ...turn, msgId: "a:1-0:1" })),
    ).toBe("SERVER_MISCONFIGURED");
    await ports.close();
  });

  test("a follower and a reader leave nothing behind on the server and in the client", async () => {
    const ports = await openNatsPorts(nc);
    const jsm = await jetstreamManager(nc);
    const { seq } = await ports.ledger.append(sagaId("a"), turn);
    const subscriptions = () =>
      (nc as unknown as { protocol: { subscriptions: { size(): number } } }).protocol.subscriptions.size();
    await ports.ledger.last(sagaId("a"));
    const before = subscriptions();
    for (let i = 0; i < 20; i++) await ports.ledger.read(sagaId("a"), 0, seq);
    for (let i = 0; i < 5; i++) {
      const controller = new AbortController();
      const seen: StoredMessage[] = [];
      for await (const message of ports.ledger.follow({ signal: controller.signal })) {
        seen.push(message);
        controller.abort();
      }
      expect(seen).toHaveLength(1);
    }
    await expect.poll(async () => (await jsm.streams.info("LEDGER")).state.consumer_count).toBe(0);
    expect(subscriptions()).toBe(before);
    await ports.close();
  });

  test("an ack that is lost on its way is said again when the input comes back, and nobody is bothered", async () => {
    const ports = await openNatsPorts(nc, { ...leases, partitions: 1 });
    const taken: number[] = [];
    const publish = nc.publish.bind(nc);
    let lost = 0;
    // A server that dies takes the acks along that it was sent.
    nc.publish = (subject, payload, options) => {
      if (payload === "+ACK" && lost++ === 0) return;
      publish(subject, payload, options);
    };
    const consumption = await ports.inbox.consume(0, { inFlightMax: 10, startsMax: () => 10 }, (delivery) => {
      taken.push(delivery.seq);
      void delivery.ack();
    });
    await ports.inbox.publish({ subject: "saga.s1.signal.go", data: bytes("null"), headers: {} });
    const jsm = await jetstreamManager(nc);
    await expect
      .poll(async () => (await jsm.streams.info("INBOX")).state.messages, { timeout: 15_000 })
      .toBe(0);
    expect(lost).toBe(2);
    expect(taken).toHaveLength(1);
    await consumption.stop();
    await ports.close();
  });

  test("a follower whose consumer is lost goes on after the last turn it saw", async () => {
    const ports = await openNatsPorts(nc);
    const jsm = await jetstreamManager(nc);
    const controller = new AbortController();
    const seen: number[] = [];
    const ended = (async () => {
      for await (const { seq } of ports.ledger.follow({ signal: controller.signal })) seen.push(seq);
    })();
    const first = await ports.ledger.append(sagaId("a"), turn);
    await expect.poll(() => seen).toEqual([first.seq]);
    for await (const { name } of jsm.consumers.list("LEDGER")) await jsm.consumers.delete("LEDGER", name);
    const second = await ports.ledger.append(sagaId("b"), turn);
    await expect.poll(() => seen, { timeout: 8_000 }).toEqual([first.seq, second.seq]);
    controller.abort();
    await ended;
    await ports.close();
  }, 15_000);
});

describe("connectNats", () => {
  test("a server that is not there is said so within seconds, with a remedy", async () => {
    const startedAt = performance.now();
    await expect(
      connectNats({ servers: "nats://user:secret@127.0.0.1:1", name: "test" }),
    ).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.not.stringContaining("secret") as string,
      remedy: expect.stringContaining("NATS_URL") as string,
    });
    expect(performance.now() - startedAt).toBeLessThan(30_000);
  });

  test("a server that refuses a user is said to refuse that user, with what to set", async () => {
    const refused = connectNats({ servers: server.url.replace("//", "//t1:wrong@"), name: "test" });
    await expect(refused).rejects.toMatchObject({
      code: "SERVER_REFUSED",
      message: expect.stringMatching(/for user "t1"$/) as string,
      remedy: expect.stringMatching(/password of "t1" in NATS_URL/) as string,
    });
  });

  test("a request that a user may not send is refused in the user's name, with the permission it lacks", async () => {
    const nc = await connectNats({ servers: server.url.replace("//", "//shy:secret@"), name: "test" });
    const requests = createRequests(nc);
    try {
      await expect(requests.one("saga.x.start", "")).rejects.toMatchObject({
        code: "SERVER_REFUSED",
        message: expect.stringContaining('for user "shy"') as string,
        remedy: expect.stringMatching(/^Allow user "shy" to publish to "saga\.x\.start" /) as string,
      });
    } finally {
      requests.close();
      await nc.close();
    }
  });

  test("an aborted signal ends connecting with its reason", async () => {
    const reason = new Error("enough");
    await expect(
      connectNats({ servers: server.url, name: "test", signal: AbortSignal.abort(reason) }),
    ).rejects.toBe(reason);
  });
});
