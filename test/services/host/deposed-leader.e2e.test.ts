/**
 * A leader that was deposed and does not know it: what it still answers costs nothing.
 *
 * Method: a cluster of three. The server that leads ledger, claims and blobs is stopped by SIGSTOP, the others elect
 * and go on, questions are put to the stopped one on a connection of its own, and it is thawed: it may answer them
 * before it hears what it missed. How many answers were old is printed; it is a race, and not every run wins it. That
 * each rule is needed is shown where such answers can be had at will: the fault "deposed" of the simulator and its
 * plant.
 */
import { jetstreamManager, type JetStreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { ClusterServer, LocalCluster } from "../../../deploy/local-cluster.ts";
import { chainHash } from "../../../protocol/digest.ts";
import { appendTurn } from "../../../services/host/append.ts";
import type { TurnMessage } from "../../../services/host/refused.ts";
import { connectNats } from "../../../services/nats/connection.ts";
import { openNatsPorts } from "../../../services/nats/open.ts";
import type { Ports } from "../../../services/wire/ports.ts";
import { systemClock } from "../../../services/runtime/system.ts";
import { bytes, codeOf, sagaId, text } from "../../contract/mesh-under-test.ts";
import { startTestCluster } from "../../support/cluster.ts";
import { until } from "../../support/real-mesh.ts";

const never = new AbortController().signal;
const electionMs = 40_000;
const streams = ["LEDGER", "KV_CLAIM", "OBJ_BLOB"] as const;

let cluster: LocalCluster;
beforeAll(async () => {
  cluster = await startTestCluster();
}, 120_000);
afterAll(async () => {
  await cluster?.stop();
});

interface Side {
  readonly nc: NatsConnection;
  readonly ports: Ports & { close(): Promise<void> };
}

/** A connection to these servers and no others of the cluster. */
async function openSide(servers: readonly ClusterServer[]): Promise<Side> {
  const client = { ignoreClusterUpdates: true, pingInterval: 60_000 };
  const nc = await connectNats({ servers: servers.map(({ url }) => url), name: "side", client });
  return { nc, ports: await openNatsPorts(nc, { replicas: 3, partitions: 1 }) };
}

let old: ClusterServer;
let oldSide: Side;
let newSide: Side;
let jsm: JetStreamManager;
beforeEach(async () => {
  const everywhere = await openSide(cluster.servers);
  old = await gatherLeaders(everywhere.nc);
  await closeSide(everywhere);
  oldSide = await openSide([old]);
  newSide = await openSide(cluster.servers.filter((server) => server !== old));
  jsm = await jetstreamManager(newSide.nc, { checkAPI: false, timeout: 1_000 });
}, 120_000);
afterEach(async () => {
  old.signal("SIGCONT");
  for (const side of [oldSide, newSide]) await closeSide(side);
});

async function closeSide({ nc, ports }: Side): Promise<void> {
  await ports.close();
  await nc.close();
}

const leaderOf = (api: JetStreamManager, stream: string): Promise<string | undefined> =>
  api.streams.info(stream).then(
    ({ cluster: raft }) => raft?.leader,
    () => undefined, // Nobody leads it.
  );

/** Has the server that leads the ledger lead the other streams, too. */
async function gatherLeaders(nc: NatsConnection): Promise<ClusterServer> {
  const api = await jetstreamManager(nc, { checkAPI: false, timeout: 1_000 });
  let preferred: string | undefined;
  await until(
    "one server leads all",
    async () => {
      preferred = await leaderOf(api, "LEDGER");
      const leaders = await Promise.all(streams.map((stream) => leaderOf(api, stream)));
      const astray = streams.filter((_, index) => leaders[index] !== preferred);
      if (preferred !== undefined && astray.length === 0) return true;
      const request = JSON.stringify({ placement: { preferred } });
      // Unanswered in the middle of an election, and asked again.
      for (const stream of astray)
        await nc.request(`$JS.API.STREAM.LEADER.STEPDOWN.${stream}`, request).catch(() => undefined);
      await systemClock.sleep(200);
      return false;
    },
    electionMs,
  );
  return cluster.servers.find(({ name }) => name === preferred)!;
}

/** Stops the old leader until the others have elected, does `meanwhile` there, thaws it right after the questions. */
async function depose<T>(meanwhile: () => Promise<void>, ask: () => T): Promise<T> {
  old.signal("SIGSTOP");
  await until(
    "the others elect",
    async () => {
      const leaders = await Promise.all(streams.map((stream) => leaderOf(jsm, stream)));
      return leaders.every((leader) => leader !== undefined && leader !== old.name);
    },
    electionMs,
  );
  await meanwhile();
  const answers = ask();
  await new Promise((resolve) => setImmediate(resolve)); // The questions leave this process before the thaw.
  old.signal("SIGCONT");
  return answers;
}

/** As much of a turn as an append reads: its place, and a body to know it by. */
function messageOf(body: string, expectedSeq: number, after?: { turn: number; hash: string }): TurnMessage {
  const { turn, hash: prev } = after ?? { turn: 0, hash: "" };
  const data = bytes(JSON.stringify({ v: 1, saga: "deposed-ledger", turn: turn + 1, prev, body }));
  return { data, hash: chainHash(data), headers: {}, expectedSeq };
}
const bodyOf = (data: Uint8Array): string => (JSON.parse(text(data)) as { body: string }).body;

const append = ({ ports }: Side, saga: string, message: TurnMessage) =>
  appendTurn({ ledger: ports.ledger, clock: systemClock }, sagaId(saga), message, never);

test("a turn is appended once and in order, whatever a deposed leader says of the ledger", async () => {
  const saga = "deposed-ledger";
  const one = messageOf("one", 0);
  const first = await append(newSide, saga, one);
  if (first.type !== "appended") throw new Error("the first turn was refused");
  const afterOne = { turn: 1, hash: one.hash };
  let head = { ...afterOne, seq: first.seq };
  const answers = await depose(
    async () => {
      for (const body of ["two", "three"]) {
        const message = messageOf(body, head.seq, head);
        const appended = await append(newSide, saga, message);
        if (appended.type !== "appended") throw new Error(`${body} was refused`);
        head = { turn: head.turn + 1, hash: message.hash, seq: appended.seq };
      }
    },
    () => ({
      next: append(oldSide, saga, messageOf("four", head.seq, head)),
      zombie: append(oldSide, saga, messageOf("two, by a zombie", first.seq, afterOne)),
      lasts: Array.from({ length: 20 }, () =>
        oldSide.ports.ledger.last(sagaId(saga)).then(
          (last) => (last === undefined ? "nothing" : bodyOf(last.data)),
          () => "silence",
        ),
      ),
    }),
  );
  const lasts = await Promise.all(answers.lasts);
  console.log(`of ${lasts.length} answers ${lasts.filter((last) => last === "one").length} were old`);
  expect(await answers.zombie, "the ledger had moved on").toEqual({ type: "fenced" });
  expect(await answers.next, "a refusal that the ledger does not bear out is none").toMatchObject({
    type: "appended",
  });
  const stored = await newSide.ports.ledger.read(
    sagaId(saga),
    0,
    (await newSide.ports.ledger.last(sagaId(saga)))!.seq,
  );
  expect(stored.map(({ data }) => bodyOf(data))).toEqual(["one", "two", "three", "four"]);
}, 120_000);

test("a claim that the new leader gave is not given again by the old one", async () => {
  const claims = () => oldSide.ports.claims;
  const answers = await depose(
    async () => {
      expect(await newSide.ports.claims.create("deposed-key", 1, "theirs")).toEqual({ won: true });
    },
    () => Array.from({ length: 5 }, (_, n) => codeOfClaim(claims().create("deposed-key", 1, `mine-${n}`))),
  );
  for (const answer of await Promise.all(answers)) expect(["theirs", "no answer"]).toContain(answer);
  await until(
    "the thawed server says whose it is",
    async () => (await codeOfClaim(claims().create("deposed-key", 1, "mine"))) === "theirs",
    electionMs,
  );
}, 120_000);

test("a blob that the old leader has not seen is asked for again, not declared lost", async () => {
  const body = bytes("large enough to matter");
  const answers = await depose(
    () => newSide.ports.blobs.put("deposed-blob", body),
    () => Array.from({ length: 10 }, () => textOrCode(oldSide.ports.blobs.get("deposed-blob"))),
  );
  // Silence may be met with patience; a ledger that is called broken is not.
  for (const answer of await Promise.all(answers))
    expect(["large enough to matter", "UNAVAILABLE"]).toContain(answer);
}, 120_000);

const codeOfClaim = (claim: ReturnType<Ports["claims"]["create"]>): Promise<string> =>
  claim.then(
    (answer) => (answer.won ? "won" : answer.holder),
    () => "no answer",
  );

const textOrCode = (blob: Promise<Uint8Array>): Promise<string> =>
  blob.then(text, (error: unknown) => codeOf(Promise.reject(error)));
