/**
 * Streams that are taken away from under the processes that use them, on a real server.
 *
 * Goal: what comes after the loss is taken, nothing that belongs to the lost queue touches the new one, and nothing is made
 * where it would hide that LEDGER is gone.
 * Method: an account of its own for each test; streams and consumers are deleted as an operator deletes them.
 */
import { jetstreamManager, type JetStreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { connectNats } from "../../../services/nats/connection.ts";
import { openNatsPorts } from "../../../services/nats/open.ts";
import type { Consumption, Delivery, Ports } from "../../../services/wire/ports.ts";
import { bytes, codeOf, consumeInbox, sagaId, text } from "../../contract/mesh-under-test.ts";
import { type AccountServer, startAccountServer } from "../../support/real-mesh.ts";

let server: AccountServer;
beforeAll(async () => {
  server = await startAccountServer(24);
});
afterAll(() => server.stop());

let nc: NatsConnection;
let jsm: JetStreamManager;
let ports: Ports & { close(): Promise<void> };
let consumption: Consumption | undefined;
const said: string[] = [];
beforeEach(async () => {
  said.length = 0;
  nc = await connectNats({ servers: server.nextUrl(), name: "test" });
  jsm = await jetstreamManager(nc);
  ports = await openNatsPorts(nc, { partitions: 2, report: (line) => said.push(line) });
});
afterEach(async () => {
  await consumption?.stop();
  consumption = undefined;
  await ports.close();
  await nc.close();
});

const search = { name: "search", contract: "c1" };
const ask = (id: string) => ports.work.publish(search, { data: bytes(id), headers: {}, msgId: `s:${id}:1` });
const signal = (id: string) =>
  ports.inbox.publish({ subject: "saga.s1.signal.go", data: bytes(id), headers: {}, msgId: id });
/** Sends until it is answered, as every process does. */
const patient = async (send: () => Promise<unknown>) =>
  expect
    .poll(
      () =>
        send()
          .then(() => "stored")
          .catch(() => "no answer"),
      { timeout: 10_000 },
    )
    .toBe("stored");
const within = { timeout: 10_000 };

describe("a queue of a tool", () => {
  const got: string[] = [];
  const serve = async (whenGone = () => ports.work.open(search, {})) => {
    got.length = 0;
    await ports.work.open(search, {});
    consumption = await ports.work.consume(search, { inFlightMax: 5, whenGone }, (delivery) => {
      got.push(text(delivery.data));
      void delivery.ack();
    });
  };

  test("that is deleted is made again by the worker that takes from it, and no call is lost", async () => {
    await serve();
    await jsm.consumers.delete("WORK", "work-search-c1");
    await ask("1-0");
    await expect.poll(() => got, within).toEqual(["1-0"]);
    expect(said.join()).toMatch(/the queue of search was gone and is made again/);
  });

  test("whose stream is deleted is made again, and what is asked then is performed", async () => {
    await serve();
    await jsm.streams.delete("WORK");
    await patient(() => ask("1-0"));
    await expect.poll(() => got, within).toEqual(["1-0"]);
  });

  test("that was paused is not taken from after it was made again, until it is resumed", async () => {
    await serve(async () => {
      await ports.work.open(search, {});
      await ports.work.pause("search");
    });
    await jsm.consumers.delete("WORK", "work-search-c1");
    await ask("1-0");
    const isPaused = () =>
      jsm.consumers.info("WORK", "work-search-c1").then(
        ({ paused, num_pending }) => paused === true && num_pending === 1,
        () => false,
      );
    await expect.poll(isPaused, within).toBe(true);
    expect(got).toEqual([]);
    await ports.work.resume("search");
    await expect.poll(() => got, within).toEqual(["1-0"]);
  });

  test("is made again by a host that only asks, where no worker is there", async () => {
    await jsm.streams.delete("WORK");
    await patient(() => ask("1-0"));
    expect((await jsm.streams.info("WORK")).state.messages).toBe(1);
  });
});

describe("an inbox", () => {
  const got: Delivery[] = [];
  beforeEach(async () => {
    got.length = 0;
    consumption = await consumeInbox(ports, (delivery) => void got.push(delivery));
  });

  test("that is deleted comes back with its partitions, and its inputs are taken", async () => {
    await jsm.streams.delete("INBOX");
    await patient(() => signal("after"));
    await expect.poll(() => got.map(({ data }) => text(data)), within).toContain("after");
    expect((await jsm.streams.info("INBOX")).config.metadata).toMatchObject({ "sagamesh.partitions": "2" });
    expect((await ports.inbox.stock()).remadeAt).toBeGreaterThan(0); // By which hosts look for what was lost with it.
  });

  test("that lost a consumer gets it back, and delivers what it had", async () => {
    for (const partition of [0, 1]) await jsm.consumers.delete("INBOX", `inbox-${partition}`);
    await signal("kept");
    await expect.poll(() => got.map(({ data }) => text(data)), within).toEqual(["kept"]);
  });

  test("that came back loses no input to the late ack of one before, and gives no two signals one number (QM2)", async () => {
    await signal("before");
    await expect.poll(() => got.length, within).toBe(1);
    await jsm.streams.delete("INBOX");
    await patient(() => signal("after"));
    await expect.poll(() => got.length, within).toBeGreaterThan(1);
    const [before] = got;
    const after = got.at(-1);
    expect(after?.seq).toBeGreaterThan(before?.seq ?? Infinity);
    expect(Number.isSafeInteger(after?.seq)).toBe(true);
    await before?.ack();
    await nc.flush();
    expect((await jsm.streams.info("INBOX")).state.messages).toBe(1);
  });

  test("that is missing when a host starts on a mesh with ledgers is numbered on as well", async () => {
    await consumption?.stop();
    consumption = undefined;
    await jsm.streams.delete("INBOX");
    const again = await openNatsPorts(nc, { partitions: 2 });
    expect((await jsm.streams.info("INBOX")).config.first_seq).toBeGreaterThan(1e15);
    await again.close();
  });
});

describe("what is no queue", () => {
  /** A door of each, of those that write and of those that read. */
  const doors: readonly (readonly [stream: string, use: () => Promise<unknown>])[] = [
    ["KV_REGISTRY", () => ports.registry.list()],
    ["KV_REGISTRY", () => ports.registry.put("saga.a.1.h", bytes("{}"))],
    ["KV_THROTTLE", () => ports.throttles.read("tool.search")],
    ["KV_THROTTLE", () => ports.throttles.write("tool.search", bytes("{}"), 0)],
    ["KV_HOSTS", () => ports.membership.beat("h1", bytes("{}"), 5_000)],
    ["KV_LISTING", () => ports.listing!.put("running.rests.x.s1", bytes("{}"), "m1")],
    ["KV_SUSPECT", () => ports.suspects.put("s1", bytes("{}"), 5_000)],
    ["KV_SNAPSHOT", () => ports.snapshots.put(sagaId("s1"), bytes("{}"))],
    [
      "DEAD",
      () => ports.dead.publish({ subject: "dead.inbox.s1", data: bytes("x"), headers: {}, msgId: "m1" }),
    ],
    ["OBJ_BLOB", () => ports.blobs.put("d".repeat(64), bytes("x"))],
  ];

  test.each(doors)("%s comes back to who uses it, of the same mesh, by %s", async (stream, use) => {
    const { config } = await jsm.streams.info(stream);
    await jsm.streams.delete(stream);
    await patient(use);
    const again = await jsm.streams.info(stream);
    expect(again.config.metadata).toMatchObject({ "sagamesh.mesh": config.metadata?.["sagamesh.mesh"] });
    expect(again.config.subjects).toEqual(config.subjects);
    expect(said.join()).toContain(`${stream} was gone and is made again`);
  });

  test("counts on where a bucket came back: what was read of the one before is no revision of the new one (QM2)", async () => {
    const before = await ports.registry.write("trust", bytes("{}"), 0);
    await jsm.streams.delete("KV_REGISTRY");
    await patient(() => ports.registry.list());
    expect(await ports.registry.write("trust", bytes("{}"), 0)).toBeGreaterThan(before);
  });

  test("stays away beside a LEDGER that is gone, and where nothing but reading is done", async () => {
    const reader = await openNatsPorts(nc, { partitions: 2, reading: true });
    await jsm.streams.delete("KV_THROTTLE");
    for (let tries = 0; tries < 3; tries++)
      expect(await codeOf(reader.throttles.list())).toBe("SERVER_MISCONFIGURED");
    await reader.close();
    await jsm.streams.delete("LEDGER");
    for (let tries = 0; tries < 3; tries++)
      expect(await codeOf(ports.throttles.list())).toBe("SERVER_MISCONFIGURED");
    await expect(jsm.streams.info("KV_THROTTLE")).rejects.toThrow("stream not found");
  });
});
