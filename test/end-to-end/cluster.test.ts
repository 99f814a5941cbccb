/**
 * A cluster of three servers that loses them one after the other under running sagas, and what must hold of it.
 *
 * Method: two hosts and a worker, 64 sagas that go round until they are told to stop (support/rounds.ts). Ten times a
 * server is killed by SIGKILL, at every second time the one that leads the ledger, and started again once every saga
 * has gone on. In the end each ledger and the outside world's account are gone through.
 *
 * A saga goes on when the server has elected new leaders for the streams that it needs: 4 to 9 seconds by the server's
 * own clocks, more where a vote is split. What is measured is printed; what is asserted is generous, because the
 * machine of the tests is shared. SAGAMESH_TEST_KILLS says how often, SAGAMESH_TEST_SHARDS over how many streams the ledgers are.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jetstreamManager, type JetStreamManager } from "@nats-io/jetstream";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterServer, LocalCluster } from "../../deploy/local-cluster.ts";
import { type Act, readAccount, roundsApp } from "../support/rounds.ts";
import { startTestCluster } from "../support/cluster.ts";
import { openRealMesh, type RealMesh, until } from "../support/real-mesh.ts";
import { connectNats } from "../../services/nats/connection.ts";
import { openNatsPorts } from "../../services/nats/open.ts";
import { silentObserver } from "../../services/host/host-deps.ts";

const sagasMax = 64;
const shards = Number(process.env["SAGAMESH_TEST_SHARDS"] ?? 1);
const kills = Number(process.env["SAGAMESH_TEST_KILLS"] ?? 10);
/** An election that is repeated twice, and a machine that has other things to do. */
const goesOnWithinMs = 30_000;
const actMs = 300;
/** Turns after a death that make a whole round: what it takes of every stream works again. */
const roundTurns = 4;

let cluster: LocalCluster;
let folder: string;
let mesh: RealMesh;
let jsm: JetStreamManager;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-cluster-test-"));
  cluster = await startTestCluster();
  mesh = await openRealMesh(cluster.url, { replicas: 3, shards });
  jsm = await jetstreamManager(mesh.nc, { checkAPI: false, timeout: 1_000 });
}, 120_000);
afterAll(async () => {
  await mesh?.close();
  await cluster?.stop();
  await rm(folder, { recursive: true, force: true });
});

test("a mesh keeps its number of copies: who wants another is refused, who names none takes it", async () => {
  const { num_replicas } = (await jsm.streams.info("KV_CLAIM")).config;
  expect(num_replicas).toBe(3);
  const nc = await connectNats({ servers: cluster.url.split(","), name: "other" });
  await expect(openNatsPorts(nc, { replicas: 1 })).rejects.toMatchObject({
    code: "SERVER_MISCONFIGURED",
    message: expect.stringMatching(/num_replicas: expected 1, got 3/) as string,
    remedy: expect.stringContaining("--replicas") as string,
  });
  // A stream that is missing, as one of a newer version is, is made like the others.
  await jsm.streams.delete("KV_REGISTRY");
  const ports = await openNatsPorts(nc);
  expect((await jsm.streams.info("KV_REGISTRY")).config.num_replicas).toBe(3);
  await ports.close();
  await nc.close();
}, 60_000);

test(`64 sagas lose a server ${kills} times, and no turn is lost, doubled or out of order`, async () => {
  const account = join(folder, "account");
  await writeFile(account, "");
  const { rounds, app } = roundsApp(account, actMs);
  const turnsAt = new Map<string, number[]>();
  const observe = {
    ...silentObserver,
    turn: ({ state }: { state: { saga: string } }) => {
      const times = turnsAt.get(state.saga) ?? [];
      turnsAt.set(state.saga, [...times, performance.now()]);
    },
  };
  await mesh.host(app, { observe });
  await mesh.host(app, { observe });
  await mesh.worker(app);
  const names = Array.from({ length: sagasMax }, (_, n) => `round-${n}`);
  const handles = await Promise.all(names.map((saga) => mesh.client.start(rounds, { saga }, { id: saga })));
  const turnsSince = (saga: string, at: number) =>
    (turnsAt.get(saga) ?? []).filter((time) => time > at).length;
  const haveGoneRound = (since: number) => () => names.every((saga) => turnsSince(saga, since) >= roundTurns);
  await until("every saga goes round", haveGoneRound(0), 60_000);

  const stalls: number[] = [];
  for (let kill = 0; kill < kills; kill++) {
    await until("the cluster is whole", isWhole, 60_000);
    const victim = await nextVictim(kill);
    victim.signal("SIGKILL");
    const diedAt = performance.now();
    await until(`every saga goes on after death ${kill + 1}`, haveGoneRound(diedAt), goesOnWithinMs);
    const wentOnAt = names.map((saga) => endOfLongestPause(turnsAt.get(saga) ?? [], diedAt));
    stalls.push(Math.max(...wentOnAt) - diedAt);
    await victim.start();
  }
  console.log(
    `after a death the last saga went on in ${stalls.map((ms) => (ms / 1000).toFixed(1)).join(", ")} s`,
  );

  await Promise.all(handles.map((handle) => handle.signal("stop", null)));
  const ends = await Promise.all(
    handles.map((handle) => handle.result({ signal: AbortSignal.timeout(60_000) })),
  );
  const acts = readAccount(account);
  for (const [index, end] of ends.entries()) {
    const saga = names[index] ?? "";
    expect(end).toMatchObject({ status: "completed" });
    const total = end.status === "completed" ? end.output.rounds : 0;
    await checkLedger(saga, total);
    checkActs(
      saga,
      total,
      acts.filter((act) => act.saga === saga),
    );
  }
  expect(await mesh.letters()).toEqual([]);
  expect(stalls).toHaveLength(kills);
}, 600_000);

/** The ledger's leader, and between two of its deaths one of the others in turn. */
async function nextVictim(kill: number): Promise<ClusterServer> {
  const { cluster: raft } = await jsm.streams.info("LEDGER");
  const leader = cluster.servers.find(({ name }) => name === raft?.leader);
  const others = cluster.servers.filter(({ name }) => name !== raft?.leader);
  const victim = kill % 2 === 0 ? leader : others[((kill - 1) / 2) % others.length];
  if (victim === undefined)
    throw new Error(`${raft?.leader ?? "nobody"} leads the ledger and is no server of ours`);
  return victim;
}

/** Every stream has a leader and two copies that are up to date: one more loss can be borne. */
async function isWhole(): Promise<boolean> {
  try {
    for await (const { cluster: raft } of jsm.streams.list())
      if (
        raft?.leader === undefined ||
        raft.replicas?.length !== 2 ||
        !raft.replicas.every(({ current, offline }) => current && !offline)
      )
        return false;
    return true;
  } catch {
    return false; // Who would know is being elected.
  }
}

function endOfLongestPause(times: readonly number[], diedAt: number): number {
  let before = times.filter((time) => time <= diedAt).at(-1) ?? 0;
  let longest = { ms: 0, endedAt: diedAt };
  for (const time of times.filter((later) => later > diedAt)) {
    if (time - before > longest.ms) longest = { ms: time - before, endedAt: time };
    before = time;
  }
  return longest.endedAt;
}

/** Reading checks the chain: each turn follows the one before it. What is left is what the turns say. */
async function checkLedger(saga: string, total: number): Promise<void> {
  const steps = (await mesh.turns(saga)).flatMap((turn) => turn.steps);
  const done = steps.flatMap(({ event }) => (event.type === "result" ? [event] : []));
  expect(
    done.every(({ result }) => result.outcome === "succeeded"),
    `${saga} has no doubt`,
  ).toBe(true);
  expect(new Set(done.map(({ intent }) => intent)).size, `${saga} records each result once`).toBe(
    done.length,
  );
  const asked = steps
    .flatMap(({ intents }) => intents)
    .flatMap((intent) => (intent.kind === "tool" ? [intent.name] : []));
  const expected = Array.from({ length: total }, () => ["stamp", "charge"]).flat();
  expect(asked, `${saga} goes round in order`).toEqual(expected);
  expect(done).toHaveLength(expected.length);
}

/** What was done to the outside world, against what the ledger says should be. */
function checkActs(saga: string, total: number, acts: readonly Act[]): void {
  for (let round = 1; round <= total; round++) {
    const of = (tool: string) => acts.filter((act) => act.tool === tool && act.round === round);
    expect(of("charge"), `${saga} charges once in round ${round}`).toHaveLength(1);
    expect(new Set(of("stamp").map(({ key }) => key)).size, `${saga} stamps under one key`).toBe(1);
  }
  expect(
    acts.every(({ round }) => round <= total),
    `${saga} does nothing unrecorded`,
  ).toBe(true);
}
