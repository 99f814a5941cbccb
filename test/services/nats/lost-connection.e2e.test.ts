/**
 * Goal: whatever is asked of the server while the connection goes away, or once it stands still, is answered with an error of the mesh's own, so that
 * who asked can tell that it may be asked again. A host that was told otherwise never heard again what is handed on to it.
 * Method: a real server that stands still while every method of every port is called, and is then killed. The table of
 * methods is complete by its type: a new method without a row does not compile.
 */
import { readFileSync } from "node:fs";
import type { NatsConnection } from "@nats-io/nats-core";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sha256 } from "../../../protocol/digest.ts";
import { isMeshError } from "../../../protocol/errors.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import { readCapacities } from "../../../services/nats/capacity.ts";
import { connectNats } from "../../../services/nats/connection.ts";
import { examineMesh } from "../../../services/nats/examine.ts";
import { readHealth } from "../../../services/nats/health.ts";
import { withLedgers } from "../../../services/nats/ledgers.ts";
import { openNatsPorts } from "../../../services/nats/open.ts";
import type { Delivery, Ports } from "../../../services/wire/ports.ts";
import { bytes, consumeInbox, sagaId } from "../../contract/mesh-under-test.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";

type Methods<P> = { [K in keyof P]: P[K] extends (...given: never[]) => unknown ? K : never }[keyof P];
type Asked = (ports: Ports, held: Delivery) => Promise<unknown>;
type Table = {
  readonly [P in Exclude<keyof Ports, "loop" | "trust" | "restored" | "intake">]: Readonly<
    Record<Methods<Required<Ports>[P]>, Asked>
  >;
};

const saga = sagaId("s1");
const intent = "1-0" as IntentId; // Proof: of an id's form.
const tool = { name: "search", contract: "c1" };
const message = { data: bytes("x"), headers: {}, msgId: "m" };
const signal = "saga.s1.signal.go";
const over = AbortSignal.timeout(60_000);
const first = <T>(list: AsyncIterable<T>) => list[Symbol.asyncIterator]().next();

const table: Table = {
  ledger: {
    append: ({ ledger }) => ledger.append(saga, { ...message, expectedSeq: 0 }),
    last: ({ ledger }) => ledger.last(saga),
    first: ({ ledger }) => ledger.first(saga),
    read: ({ ledger }) => ledger.read(saga, 0, 1),
    follow: ({ ledger }) => first(ledger.follow({ saga, signal: over })),
    list: ({ ledger }) => ledger.list(),
    since: ({ ledger }) => first(ledger.since([0])),
    purgeBefore: ({ ledger }) => ledger.purgeBefore(saga, 1),
    end: ({ ledger }) => ledger.end(),
  },
  inbox: {
    publish: ({ inbox }) => inbox.publish({ ...message, subject: signal }),
    stock: ({ inbox }) => inbox.stock(),
    standingStart: ({ inbox }) => inbox.standingStart(saga),
    consume: ({ inbox }) => inbox.consume(0, { inFlightMax: 1, startsMax: () => 1 }, () => undefined),
    handOn: ({ inbox }, held) => inbox.handOn("nobody", held, "x"),
    receive: ({ inbox }) => inbox.receive("h1", () => false),
    recall: async ({ inbox }, held) => inbox.recall(held)?.(),
    outstanding: ({ inbox }) => inbox.outstanding([0]),
    schedule: ({ inbox }) => inbox.schedule({ saga, intent, dueAt: Date.now() + 60_000, headers: {} }),
    unschedule: ({ inbox }) => inbox.unschedule(saga),
  },
  work: {
    publish: ({ work }) => work.publish(tool, message),
    stock: ({ work }) => work.stock(),
    waiting: ({ work }) => work.waiting(0),
    open: ({ work }) => work.open(tool, {}),
    consume: ({ work }) => work.consume(tool, { inFlightMax: 1 }, () => undefined),
    pause: ({ work }) => work.pause("search"),
    resume: ({ work }) => work.resume("search"),
  },
  claims: {
    create: ({ claims }) => claims.create("s1.1-0", 1, "n"),
    list: ({ claims }) => claims.list(saga),
    sagas: ({ claims }) => claims.sagas(),
    drop: ({ claims }) => claims.drop(saga),
    now: ({ claims }) => claims.now(),
  },
  snapshots: {
    get: ({ snapshots }) => snapshots.get(saga),
    put: ({ snapshots }) => snapshots.put(saga, bytes("x")),
    sagas: ({ snapshots }) => snapshots.sagas(),
    drop: ({ snapshots }) => snapshots.drop(saga),
  },
  blobs: {
    put: ({ blobs }) => blobs.put(sha256("x"), bytes("x")),
    get: ({ blobs }) => blobs.get(sha256("y")),
  },
  dead: {
    publish: ({ dead }) => dead.publish({ ...message, subject: "dead.inbox.s1" }),
    list: ({ dead }) => dead.list(),
    get: ({ dead }) => dead.get(1),
    remove: ({ dead }) => dead.remove(1),
  },
  live: {
    publish: async ({ live }) => live.publish(saga, "lane", bytes("x")),
    follow: ({ live }) => first(live.follow(saga, over)),
  },
  listing: {
    put: async ({ listing }) => listing?.put("running.rests.x.s1", bytes("x"), "m1"),
    remove: async ({ listing }) => listing?.remove("running.rests.x.s1", "m2"),
    standing: async ({ listing }) => listing?.standing(["running.rests.x.s1"]),
    read: async ({ listing }) => listing && first(listing.read("*.*.*.*")),
    holder: async ({ listing }) => listing?.holder(),
    pin: async ({ listing }) => listing?.pin(0),
  },
  registry: {
    put: ({ registry }) => registry.put("k", bytes("x")),
    list: ({ registry }) => registry.list(),
    read: ({ registry }) => registry.read("k"),
    write: ({ registry }) => registry.write("k", bytes("x"), 0),
  },
  membership: {
    beat: ({ membership }) => membership.beat("h1", bytes("x"), 5_000),
    leave: ({ membership }) => membership.leave("h1"),
    remove: ({ membership }) => membership.remove("h1", 1),
    server: async ({ membership }) => membership.server(),
    connection: async ({ membership }) => membership.connection(),
    isUnheard: ({ membership }) => membership.isUnheard("h1"),
    hosts: ({ membership }) => membership.hosts(),
    follow: ({ membership }) => first(membership.follow(over)),
  },
  throttles: {
    read: ({ throttles }) => throttles.read("k"),
    write: ({ throttles }) => throttles.write("k", bytes("x"), 0),
    list: ({ throttles }) => throttles.list(),
  },
  suspects: {
    get: ({ suspects }) => suspects.get("k"),
    put: ({ suspects }) => suspects.put("k", bytes("x"), 5_000),
    remove: ({ suspects }) => suspects.remove("k", 1),
  },
};

let server: TestServer;
let nc: NatsConnection;
let ports: Awaited<ReturnType<typeof openNatsPorts>>;
beforeEach(async () => {
  server = await startTestServer();
  nc = await connectNats({ servers: server.url.split(","), name: "test" });
  ports = await openNatsPorts(nc, { partitions: 1 });
  await ports.work.open(tool, {});
});
afterEach(async () => {
  await ports.close();
  await nc.close();
  await server.stop();
});

async function oneDelivery(): Promise<Delivery> {
  const delivered = new Promise<Delivery>((resolve) => void consumeInbox(ports, resolve));
  await ports.inbox.publish({ ...message, subject: signal });
  return delivered;
}

/** What is asked of a connection beside the ports. */
const besides: Readonly<Record<string, () => Promise<unknown>>> = {
  readCapacities: () => readCapacities(nc),
  readHealth: () => readHealth(nc),
  examineMesh: () => examineMesh(nc),
  withLedgers: () => withLedgers(nc, ({ ledger }) => ledger.list()),
  withStocks: () => withLedgers(nc, ({ inbox, work }) => Promise.all([inbox.stock(), work.stock()])),
};

const rowsOf = (): { readonly name: string; readonly ask: Asked }[] => [
  ...Object.entries(besides).map(([name, ask]) => ({ name, ask })),
  ...portRows(),
];

const portRows = () =>
  Object.entries(table).flatMap(([port, methods]) =>
    Object.entries(methods as Record<string, Asked>).map(([name, ask]) => ({ name: `${port}.${name}`, ask })),
  );

test("what is asked once the connection is closed fails with an error of the mesh's own, whatever it is", async () => {
  const held = await oneDelivery();
  await nc.close();
  const said = await Promise.all(
    rowsOf().map(({ name, ask }) =>
      Promise.race([
        Promise.resolve()
          .then(() => ask(ports, held))
          .then(
            () => `${name}: resolved`,
            (error: unknown) => `${name}: ${isMeshError(error) ? error.code : `OUTSIDE ${String(error)}`}`,
          ),
        delay(5_000, `${name}: open`),
      ]),
    ),
  );
  expect(said.filter((one) => one.includes("OUTSIDE"))).toEqual([]);
  expect(said).toContain("ledger.follow: UNAVAILABLE");
}, 30_000);

/** A signal is heard a moment after it was sent; until then a server still answers. */
async function standStill(pid: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  const isStopped = () => / \(.*\) T /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  while (process.platform === "linux" && !isStopped()) await delay(5);
}

test("what is asked of a server that stands still fails with an error of the mesh's own, whatever it is", async () => {
  const held = await oneDelivery();
  await standStill(server.pid);
  const said = await Promise.all(
    rowsOf().map(({ name, ask }) =>
      Promise.race([
        ask(ports, held).then(
          () => `${name}: resolved`,
          (error: unknown) => `${name}: ${isMeshError(error) ? error.code : `OUTSIDE ${String(error)}`}`,
        ),
        delay(8_000, `${name}: open`), // Longer than the client's own calls wait.
      ]),
    ),
  );
  process.kill(server.pid, "SIGCONT");
  expect(said.filter((one) => one.includes("OUTSIDE"))).toEqual([]);
  expect(said).toContain("readCapacities: UNAVAILABLE");
  expect(said).toContain("ledger.list: UNAVAILABLE");
}, 30_000);

test("what is asked while the connection goes away fails with an error of the mesh's own, whatever it is", async () => {
  const held = await oneDelivery();
  const rows = rowsOf();
  await standStill(server.pid);
  const asked = rows.map(({ name, ask }) =>
    ask(ports, held).then(
      () => `${name}: resolved`,
      (error: unknown) =>
        isMeshError(error) ? `${name}: ${error.code}` : `${name}: OUTSIDE ${String(error)}`,
    ),
  );
  await delay(100);
  await server.stop();
  await delay(3_000); // Longer than a request waits for its answer.
  await ports.close();
  await nc.close();
  const said = await Promise.all(asked.map((one) => Promise.race([one, delay(2_000, "open")])));
  expect(said.filter((one) => one.includes("OUTSIDE"))).toEqual([]);
  expect(said).toContain("inbox.receive: UNAVAILABLE");
  expect(said).toContain("ledger.append: UNAVAILABLE");
}, 30_000);
