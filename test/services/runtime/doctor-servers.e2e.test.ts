/**
 * Doctor: every finding, brought about for real on a real server.
 *
 * Method: each test has an account of its own, which is an empty JetStream, or a server of its own where the server
 * itself must be wrong; doctor.e2e.test.ts has a cluster. What takes time to be wrong is looked at as if that time had
 * passed: what waits is as old as the time of the look says. Hosts that hang, and those of other versions, are entries in
 * HOSTS as they would write them.
 */
import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { type ChildProcess, spawn } from "node:child_process";
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Delivery } from "../../../services/wire/ports.ts";
import type { DoctorDocument } from "../../../protocol/documents/doctor.ts";
import { decodeHostEntry, encodeHostEntry, type HostEntry } from "../../../protocol/host-entry.ts";
import type { WeightNow } from "../../../protocol/host-weight.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { headers } from "../../../protocol/subjects.ts";
import type * as examining from "../../../services/nats/examine.ts";
import { ensureServerBinary } from "../../../services/nats/server/binary.ts";
import { systemChance, systemClock } from "../../../services/runtime/system.ts";
import { pause } from "../../../services/throttle/pause.ts";
import { defineApp } from "../../../services/app/app.ts";
import { startSaga } from "../../../services/client/start.ts";
import desk from "../../apps/desk.ts";
import { desk as deskAgent } from "../../apps/desk-contract.ts";
import { codes, doctor, lookUntil, saying } from "../../support/doctor.ts";
import { freePort } from "../../support/free-port.ts";
import { startTestServer } from "../../support/nats-server.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
  until,
} from "../../support/real-mesh.ts";

/** The time after which a queue's head counts as late, with some to spare. */
const lateMs = 10_500;

/** How much later it is for the doctor than it is, in milliseconds. */
const later = vi.hoisted(() => ({ ms: 0 }));
vi.mock("../../../services/nats/examine.ts", async (importActual) => {
  const actual = await importActual<typeof examining>();
  const examineMesh = async (nc: NatsConnection) => {
    const examined = await actual.examineMesh(nc);
    return { ...examined, now: examined.now + later.ms };
  };
  return { ...actual, examineMesh };
});

/** What a change of hosts makes look wrong is looked at again after a while; nothing changes here meanwhile. */
const hurry = (): void => {
  const sleep = systemClock.sleep.bind(systemClock);
  vi.spyOn(systemClock, "sleep").mockImplementation((ms, signal) => sleep(Math.min(ms, 20), signal));
};

let server: AccountServer;
/** Inputs that nobody takes, one of them leased to somebody who is gone; a call that nobody takes. */
let neglected: RealMesh;
const open: RealMesh[] = [];

const mesh = async (): Promise<RealMesh> => {
  const opened = await openRealMesh(server.nextUrl());
  open.push(opened);
  return opened;
};

beforeAll(async () => {
  server = await startAccountServer();
  neglected = await openRealMesh(server.nextUrl());
  await neglect(neglected);
});
beforeEach(hurry);
afterEach(async () => {
  vi.restoreAllMocks();
  later.ms = 0;
  for (const one of open.splice(0)) await one.close();
});
afterAll(async () => {
  await neglected.close();
  await server.stop();
});

async function neglect({ nc, ports }: RealMesh): Promise<void> {
  const hello = (saga: string) =>
    ports.inbox.publish({ subject: `saga.${saga}.signal.hello`, data: Buffer.from("1"), headers: {} });
  await hello("leased");
  const jsm = await jetstreamManager(nc);
  const { state } = await jsm.streams.info("INBOX", { subjects_filter: ">" });
  const partition = Number(Object.keys(state.subjects ?? {})[0]?.split(".")[1]);
  // Somebody gives it back once, takes it again and is never heard of any more.
  let taken = 0;
  const takeTwice = (delivery: Delivery) => {
    taken += 1;
    if (delivery.deliveries === 1) void delivery.nak();
  };
  const gone = await ports.inbox.consume(partition, { inFlightMax: 1, startsMax: () => 1 }, takeTwice);
  await until("it is leased", () => taken === 2);
  await gone.stop();
  await hello("waiting");
  await ports.work.publish(ref("unserved"), { data: new Uint8Array(), headers: {}, msgId: "u1" });
  await ports.work.publish(ref("deserted"), { data: new Uint8Array(), headers: {}, msgId: "d1" });
  await ports.work.open(ref("deserted"), {});
  const deserter = await ports.work.consume(ref("deserted"), { inFlightMax: 1 }, takeTwice);
  await until("it is taken", () => taken === 4);
  await deserter.stop();
}

/** Work that was put there by hand. */
const ref = (name: string) => ({ name, contract: name.toUpperCase() });

const entry = (partitions: readonly number[], draining = false): Uint8Array =>
  encodeHostEntry({ partitions: [...partitions], draining, since: Date.now(), serves: [], deployments: 0 });
const all = [0, 1, 2, 3, 4, 5, 6, 7];

describe("doctor on a mesh that runs", () => {
  test("finds nothing wrong, and says what it looked at", async () => {
    const { host, worker, url } = await mesh();
    await host(desk);
    await worker(desk);
    vi.restoreAllMocks(); // A host and a worker that have just come may look wrong for a moment.
    const document = await doctor(url);
    expect(codes(document)).toEqual([]);
    expect(codes(document, "warning")).toEqual([]);
    expect(codes(document, "fine")).toEqual(
      [
        "CLOCK",
        "DEAD_LETTERS",
        "DEPLOYMENTS",
        "DURABILITY",
        "HOSTS",
        "INBOX",
        "LEDGERS",
        "LOOKED",
        "PARKED",
        "ORPHANS",
        "SERVER",
        "STORAGE",
        "STREAMS",
        "WAITS",
        "WORK",
      ].sort(),
    );
    expect(document.ok).toBe(true);
    expect(document.partitions.every((one) => one.consumed && one.host !== undefined)).toBe(true);
  });

  test("every finding that is not fine comes with something to do", async () => {
    const { findings, ok } = await doctor(neglected.url);
    expect(ok).toBe(false);
    for (const one of findings.filter(({ severity }) => severity !== "fine"))
      expect(one.remedy.length).toBeGreaterThan(15);
  });
});

describe("hosts and partitions", () => {
  test("without a host, or with only one that drains, nothing is decided", async () => {
    const { url, ports } = await mesh();
    expect(codes(await doctor(url))).toContain("NO_HOST");
    await ports.membership.beat("h-leaving", entry([], true), 60_000);
    expect(saying(await doctor(url), "NO_HOST")).toContain("drains");
  });

  test("partitions that no host has are named", async () => {
    const { url, ports } = await mesh();
    await ports.membership.beat("h-one", entry([0, 1, 2, 4, 5, 6]), 60_000);
    expect(saying(await doctor(url), "NO_OWNER")).toContain("partition 3, 7");
  });

  test("a host that says it has partitions and asks for nothing is named", async () => {
    const { url, ports } = await mesh();
    await ports.membership.beat("h-hangs", entry(all), 60_000);
    const document = await doctor(url);
    expect(codes(document)).toEqual(["NOT_CONSUMED"]);
    expect(saying(document, "NOT_CONSUMED")).toContain("h-hangs");
  });

  test("a host that is overloaded is a warning, which says what of it is used up and whether it left anything to others", async () => {
    const { url, ports } = await mesh();
    const says = (partitions: readonly number[], weight: WeightNow) =>
      encodeHostEntry({ ...decodeHostEntry(entry(partitions)), weight } as HostEntry);
    const sheds: WeightNow = { declared: 2, now: 0.5, load: 0.91, by: "hands" };
    const keeps: WeightNow = { declared: 1, now: 1, load: 1, by: "loop" };
    await ports.membership.beat("h-sheds", says([0, 1], sheds), 60_000);
    await ports.membership.beat("h-keeps", says([2, 3, 4, 5, 6, 7], keeps), 60_000);
    const document = await doctor(url);
    const told = document.findings.flatMap(({ code, what }) => (code === "HOST_OVERLOADED" ? [what] : []));
    expect(told.sort()).toEqual([
      expect.stringMatching(/h-keeps is overloaded.*its event loop was at work 100 % of the time/),
      expect.stringMatching(
        /h-sheds left partitions.*0.5 of its weight of 2.*91 % of its places for effects/,
      ),
    ]);
    const weights = document.hosts.map(({ host, weight }) => [host, weight]);
    expect(Object.fromEntries(weights)).toEqual({ "h-keeps": keeps, "h-sheds": sheds });
  });

  test("a partition that two hosts have is a warning, and so is a host whose words cannot be read", async () => {
    const { url, ports } = await mesh();
    await ports.membership.beat("h-a", entry(all), 60_000);
    await ports.membership.beat("h-z", entry([5]), 60_000);
    await ports.membership.beat("h-other", Buffer.from("no JSON"), 60_000);
    const document = await doctor(url);
    expect(codes(document, "warning")).toEqual(expect.arrayContaining(["HOST_UNREADABLE", "TWO_OWNERS"]));
    expect(saying(document, "HOST_UNREADABLE")).toContain("h-other");
  });
});

describe("streams and consumers", () => {
  test("a limit on a queue, another stream's changed field and a changed consumer are three findings", async () => {
    const { url, nc } = await mesh();
    const jsm = await jetstreamManager(nc);
    await jsm.streams.update("INBOX", { max_msgs: 1_000_000 });
    await jsm.streams.update("LEDGER", { allow_direct: false });
    await jsm.consumers.update("INBOX", "inbox-2", { ack_wait: 60_000_000_000 });
    const document = await doctor(url);
    expect(codes(document)).toEqual(
      expect.arrayContaining(["STREAM_LIMITED", "STREAM_DRIFT", "CONSUMER_DRIFT"]),
    );
    expect(saying(document, "STREAM_LIMITED")).toContain("stream INBOX: max_msgs: expected -1, got 1000000");
    expect(saying(document, "STREAM_DRIFT")).toContain("stream LEDGER: allow_direct");
    expect(saying(document, "CONSUMER_DRIFT")).toContain("partition 2: ack_wait");
    expect(document.streams.find((one) => one.name === "INBOX")?.fault).toContain("max_msgs");
  });

  test("a missing stream and a missing consumer are found, and neither is made", async () => {
    const { url, nc } = await mesh();
    const jsm = await jetstreamManager(nc);
    await jsm.streams.delete("DEAD");
    await jsm.consumers.delete("INBOX", "inbox-6");
    for (let look = 0; look < 2; look++) {
      const document = await doctor(url);
      expect(saying(document, "STREAM_MISSING")).toBe("stream DEAD: it is missing");
      expect(saying(document, "CONSUMER_MISSING")).toContain("partition 6");
    }
  });
});

describe("streams of a mesh", () => {
  test("of another mesh, set back, and made anew are three findings, each with what it means", async () => {
    const { url, nc, ports } = await mesh();
    const jsm = await jetstreamManager(nc);
    const saga = parseSagaId("lived");
    await ports.ledger.append(saga, { data: Buffer.from("{}"), headers: {}, expectedSeq: 0 });
    const told = (await jsm.streams.info("LEDGER")).config.metadata?.["sagamesh.mesh"];
    const streams = { LEDGER: { lastSeq: 7, messages: 7, generation: 1 } };
    const census = { mesh: told, at: 1_000, partitions: 8, streams };
    await ports.registry.write("mesh.census", Buffer.from(JSON.stringify(census)), 0);
    await jsm.streams.update("KV_THROTTLE", { metadata: { "sagamesh.mesh": "another" } });
    await jsm.streams.delete("WORK");
    const before = await doctor(url);
    expect(saying(before, "MESH_MIXED")).toContain("stream KV_THROTTLE is of mesh another");
    expect(saying(before, "STREAM_SHORT")).toContain("stream LEDGER goes up to message 1, and went up to 7");
    expect(saying(before, "STREAM_MISSING")).toContain("calls that no worker had taken");
    await jsm.streams.update("KV_THROTTLE", { metadata: { "sagamesh.mesh": told ?? "" } });
    // What serves would wait beside a LEDGER that is short.
    for (let k = 2; k <= 7; k++)
      await ports.ledger.append(parseSagaId(`lived-${k}`), {
        data: Buffer.from("{}"),
        headers: {},
        expectedSeq: 0,
      });
    await (await openRealMesh(url)).close();
    const after = await doctor(url);
    expect(saying(after, "STREAM_REMADE")).toContain("stream WORK was gone and was made anew");
    expect(codes(after)).not.toContain("MESH_MIXED");
  });
});

describe("tools and models", () => {
  test("paused ones are shown with who paused them and why, and are no fault of missing workers", async () => {
    const { url, ports } = await mesh();
    const deps = { ports, clock: systemClock, chance: systemChance, from: "ana" };
    await pause(deps, { kind: "tool", name: "pay" }, "the bank is down");
    await pause(deps, { kind: "model", name: "clerk" }, undefined);
    await ports.work.publish(ref("pay"), { data: new Uint8Array(), headers: {}, msgId: "p1" });
    const document = await doctor(url);
    expect(saying(document, "TOOL_PAUSED")).toContain("the bank is down");
    expect(saying(document, "MODEL_PAUSED")).toContain("model clerk is paused by ana");
    expect(codes(document)).not.toContain("NO_WORKER");
  });

  test("a tool that was paused with the nats CLI is shown as paused, too", async () => {
    const { url, nc, worker } = await mesh();
    await worker(desk, ["pay"]);
    const { value: consumer } = await (
      await jetstreamManager(nc)
    ).consumers
      .list("WORK")
      [Symbol.asyncIterator]()
      .next();
    await (
      await jetstreamManager(nc)
    ).consumers.pause("WORK", consumer.name, new Date(Date.now() + 3_600_000));
    expect(saying(await doctor(url), "TOOL_PAUSED")).toContain("pay");
  });
});

describe("dead letters", () => {
  test("are counted by code and by where they came from, each with its newest", async () => {
    const { url, ports } = await mesh();
    const letter = (source: "inbox" | "work", id: string, reason: string, n: number) =>
      ports.dead.publish({
        subject: `dead.${source}.${id}`,
        data: new Uint8Array(),
        headers: { [headers.reason]: reason, [headers.origin]: `saga.${id}.signal.x#${n}` },
        msgId: `d${n}`,
      });
    await letter("inbox", "a", "[BAD_MESSAGE] no JSON", 1);
    await letter("inbox", "b", "[BAD_MESSAGE] no JSON", 2);
    await letter("work", "c", "[ATTEMPTS_EXHAUSTED] ten times", 3);
    const document = await doctor(url);
    expect(codes(document)).toContain("DEAD_LETTERS");
    expect(document.deadLetters).toBe(3);
    expect(document.deadByCode).toMatchObject([
      { code: "ATTEMPTS_EXHAUSTED", source: "work", count: 1 },
      { code: "BAD_MESSAGE", source: "inbox", count: 2, newestSubject: "saga.b.signal.x" },
    ]);
  });
});

describe("clock", () => {
  test("a machine whose clock is off is told by how much, and after a minute that it is wrong", async () => {
    const { url } = await mesh();
    const now = Date.now.bind(Date);
    vi.spyOn(Date, "now").mockImplementation(() => now() + 5_000);
    const warned = await doctor(url);
    expect(codes(warned, "warning")).toContain("CLOCK_SKEW");
    expect(warned.clockOffsetMs).toBeGreaterThan(4_500);
    expect(warned.clockOffsetMs).toBeLessThan(5_500);
    vi.spyOn(Date, "now").mockImplementation(() => now() - 120_000);
    const wrong = await doctor(url);
    expect(codes(wrong)).toContain("CLOCK_SKEW");
    expect(saying(wrong, "CLOCK_SKEW")).toContain("behind");
  });
});

describe("servers", () => {
  const ends: (() => Promise<unknown> | void)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  test("one that is too old is named, and its streams are looked at all the same", async () => {
    const { url } = await mesh();
    const relay = await relayWithVersion(url, "2.10.5");
    ends.push(() => new Promise((resolve) => relay.close(resolve)));
    const { port } = relay.address() as { port: number };
    const old = new URL(url);
    const document = await doctor(`nats://${old.username}:${old.password}@127.0.0.1:${port}`);
    expect(document.server?.version).toBe("2.10.5");
    expect(codes(document)).toEqual(["NO_HOST", "SERVER_TOO_OLD"]);
    expect(document.streams.map((one) => one.name)).toContain("LEDGER");
  });

  test("one without JetStream is told apart from one that is away", async () => {
    const { path } = await ensureServerBinary({ report: () => undefined });
    const port = await freePort();
    const bare = spawn(path, ["-a", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
    ends.push(() => killed(bare));
    const url = `nats://127.0.0.1:${port}`;
    let document = await doctor(url);
    for (let look = 0; look < 50 && codes(document).includes("UNAVAILABLE"); look++)
      document = await doctor(url);
    expect(codes(document)).toContain("SERVER_MISCONFIGURED");
    expect(saying(document, "SERVER_MISCONFIGURED")).toContain("without JetStream");
    expect(document.server?.version).toMatch(/^2\./);
    await killed(bare);
    expect(codes(await doctor(url))).toEqual(["UNAVAILABLE"]);
  });

  test("an account without JetStream still shows the server", async () => {
    const own = await startTestServer({
      extraConfig: "accounts { N: { users: [{ user: n, password: n }] } }",
    });
    ends.push(() => own.stop());
    const document = await doctor(own.url.replace("//", "//n:n@"));
    expect(document.ok).toBe(false);
    expect(document.server?.version).toMatch(/^2\./);
    expect(codes(document).length).toBeGreaterThan(0);
  });

  test("storage that is nearly full, and a payload that is too small, are found", async () => {
    const own = await startTestServer({
      extraConfig:
        "max_payload: 512KB\naccounts { S: { jetstream: { max_file: 4MB }, users: [{ user: s, password: s }] } }",
    });
    ends.push(() => own.stop());
    const url = own.url.replace("//", "//s:s@");
    const own1 = await openRealMesh(url);
    open.push(own1);
    const fill = async (saga: string, pieces: number, bytes: number) => {
      for (let i = 0; i < pieces; i++)
        await own1.ports.ledger.append(parseSagaId(`${saga}${i}`), {
          data: new Uint8Array(bytes),
          headers: {},
          expectedSeq: 0,
        });
    };
    expect(codes(await doctor(url))).toContain("PAYLOAD_TOO_SMALL");
    await fill("a", 10, 350_000);
    expect(codes(await doctor(url), "warning")).toContain("STORAGE_LOW");
    await fill("b", 1, 350_000);
    await fill("c", 1, 200_000);
    expect(codes(await doctor(url))).toContain("STORAGE_LOW");
  });

  test("how a server syncs is known where its monitoring can be asked, and said to be unknown where not", async () => {
    const [syncing, lazy] = [await freePort(), await freePort()];
    const always = await startTestServer({ syncAlways: true, extraConfig: `http: "127.0.0.1:${syncing}"` });
    const default_ = await startTestServer({ extraConfig: `http: "127.0.0.1:${lazy}"` });
    ends.push(
      () => always.stop(),
      () => default_.stop(),
    );
    open.push(await openRealMesh(always.url), await openRealMesh(default_.url));
    const durability = async (url: string, ...ports: number[]) =>
      (await doctor(url, { monitors: ports.map((port) => `http://127.0.0.1:${port}`) })).durability.join(
        "\n",
      );
    expect(await durability(always.url, syncing)).toContain("a turn survives a power cut");
    expect(await durability(default_.url, lazy)).toContain("a power cut may take");
    expect(await durability(default_.url)).toContain("which no client is told");
    const deaf = await doctor(always.url, { monitors: [`http://127.0.0.1:${await freePort()}`] });
    expect(codes(deaf, "warning")).toContain("MONITOR_SILENT");
  });
});

describe("what was neglected for a while", () => {
  test("an input leased to nobody, a queue that is late, and calls without a worker are told with their age", async () => {
    later.ms = lateMs;
    await neglected.ports.membership.beat("h-none", entry([]), 60_000);
    const isSeen = (one: DoctorDocument) =>
      ["NO_OWNER", "NO_WORKER", "STUCK_LEASE"].every((code) => codes(one).includes(code));
    const document = await lookUntil(neglected.url, isSeen); // What the one who is gone asked for runs out first.
    expect(saying(document, "STUCK_LEASE")).toMatch(/1 input .* saga leased for \d+ (s|min)/);
    expect(saying(document, "INBOX_LAG")).toContain("1 inputs of partition");
    const late = document.partitions.find((one) => one.waiting === 1);
    expect(late?.oldestSaga).toBe(parseSagaId("waiting"));
    expect(late?.lagMs).toBeGreaterThanOrEqual(lateMs - 500);
    expect(saying(document, "NO_WORKER")).toContain("1 calls of unserved #UNSERVED wait");
    expect(saying(document, "NO_WORKER")).toContain("1 calls of deserted #DESERTED wait");
  });

  test("calls that wait although somebody asks for work are late", async () => {
    let beating: NodeJS.Timeout | undefined;
    const { url, ports } = await mesh();
    await ports.work.open(ref("crowded"), { concurrencyMax: 1 });
    const busy = await ports.work.consume(ref("crowded"), { inFlightMax: 2 }, (delivery) => {
      beating = setInterval(() => delivery.working(), 1_000);
    });
    for (const msgId of ["c1", "c2"])
      await ports.work.publish(ref("crowded"), { data: new Uint8Array(), headers: {}, msgId });
    expect(saying(await doctor(url), "WORK_LAG")).toBe("");
    later.ms = lateMs;
    expect(saying(await doctor(url), "WORK_LAG")).toContain("1 calls of crowded #CROWDED wait");
    clearInterval(beating);
    await busy.stop();
  });

  test("inputs and calls that come back again and again for a minute are stuck, with the oldest named", async () => {
    expect(codes(await doctor(neglected.url), "warning")).not.toContain("STUCK_INPUT");
    later.ms = 61_000;
    const document = await doctor(neglected.url);
    expect(saying(document, "STUCK_INPUT")).toContain("saga leased");
    expect(saying(document, "STUCK_WORK")).toContain("calls of deserted #DESERTED come back");
    expect(codes(document)).toContain("INBOX_LAG");
  });
});

describe("an input that comes back again and again", () => {
  const isStuck = (one: DoctorDocument) => saying(one, "STUCK_INPUT") !== "";

  test("of a saga that was never started: what doctor names as its remedy has it taken", async () => {
    const { url, ports, client, host } = await mesh();
    await host(desk);
    await ports.inbox.publish({
      subject: "saga.early.signal.note",
      data: Buffer.from('{"text":"Tuesday"}'),
      headers: {},
    });
    later.ms = 61_000;
    const document = await lookUntil(url, isStuck);
    expect(saying(document, "STUCK_INPUT")).toContain("saga early");
    expect(saying(document, "STUCK_INPUT")).toContain("the signal note, which was never started");
    expect(remedyOf(document, "STUCK_INPUT")).toContain("sagamesh start NAME --input JSON --id early");
    const saga = await client.start(deskAgent, { errand: "wait", to: "rome" }, { id: "early" });
    expect((await saga.result()).status).toBe("completed"); // It waited for that note.
    expect(codes(await lookUntil(url, (one) => !isStuck(one)))).not.toContain("STUCK_INPUT");
  });

  test("of a saga that no host has taken: doctor names what it starts, and a host that serves it takes it", async () => {
    const { url, ports, client, host } = await mesh();
    await startSaga(
      { ports, clock: systemClock, chance: systemChance, from: "ana" },
      { id: parseSagaId("waits"), name: "desk", input: { errand: "wait", to: "rome" } },
    );
    const other = await host(defineApp({ sagas: [] }));
    later.ms = 61_000;
    const document = await lookUntil(url, isStuck);
    expect(saying(document, "STUCK_INPUT")).toContain("the start of desk, and no host has taken its start");
    expect(remedyOf(document, "STUCK_INPUT")).toContain("sagamesh host --app FILE");
    await other.stop(0);
    await host(desk);
    const saga = client.saga(deskAgent, "waits");
    await saga.signal("note", { text: "Tuesday" });
    expect((await saga.result()).status).toBe("completed");
  });
});

const remedyOf = ({ findings }: DoctorDocument, code: string): string =>
  findings.find((one) => one.code === code)?.remedy ?? "";

/** A way to the server on which it says that it is of another version. */
function relayWithVersion(url: string, version: string): Promise<Server> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const relay = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => [client, upstream].forEach((one) => one.destroy()));
    }
    // It says so more than once. The same length, so that whatever else a piece holds stays in its place.
    upstream.on("data", (piece: Buffer) => {
      client.write(
        piece.toString("latin1").replaceAll(/"version":"[^"]{6}"/g, `"version":"${version}"`),
        "latin1",
      );
    });
    client.pipe(upstream);
  });
  relay.on("close", () => sockets.forEach((socket) => socket.destroy()));
  return new Promise((resolve) => relay.listen(0, "127.0.0.1", () => resolve(relay)));
}

const killed = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
