/**
 * Goal: a memory that is gone is not taken for an empty one, by hosts that start and by hosts that run.
 * Method: a real server; an account, which is an empty JetStream, for each test; streams are deleted, made by hand and made
 * as the former version made them.
 */
import { expect, test } from "vitest";
import { keepCensus, readCensus } from "../../../services/nats/census.ts";
import { derivedMesh, identityKeys, seenOf } from "../../../services/nats/identity.ts";
import { type NatsPorts, openNatsPorts } from "../../../services/nats/open.ts";
import {
  emptyLedger,
  fillClaims,
  lookAtBroken,
  lookAtRestored,
  markRestored,
  releaseRestored,
} from "../../../services/nats/rebuild.ts";
import { declareStreams, partitionsKey } from "../../../services/nats/streams.ts";
import { bytes, codeOf, sagaId } from "../../contract/mesh-under-test.ts";
import { MeshError } from "../../../protocol/errors.ts";
import { accountOfTest } from "../../support/own-account.ts";
import { until } from "../../support/real-mesh.ts";

const own = accountOfTest();
const saga = sagaId("a");
/** Something has lived here: a turn, and the claim of a call. */
const used1 = async (ports: NatsPorts) => {
  await ports.ledger.append(saga, { data: bytes("turn"), headers: {}, expectedSeq: 0 });
  expect(await ports.claims.create("a.1-1", 1, "n1")).toEqual({ won: true });
};
const metadataOf = async (name: string) => (await own.jsm.streams.info(name)).config.metadata ?? {};
/** As the former version made them: the same, and nobody's. */
const makeFormer = async () => {
  for (const stream of declareStreams({ partitions: 8 })) await own.jsm.streams.add(stream);
};
const names = declareStreams({ partitions: 8 }).map(({ name }) => name);
const identities = async () =>
  new Set(await Promise.all(names.map(async (name) => (await metadataOf(name))[identityKeys.mesh])));

test("hosts that begin at the same time on an empty server make one mesh, and every stream says so", async () => {
  const all = await Promise.all([1, 2, 3, 4].map(() => own.opened()));
  const [mesh] = all.map((ports) => ports.mesh);
  expect(mesh).toMatch(/^[0-9a-f]{16}$/);
  expect(new Set(all.map((ports) => ports.mesh))).toEqual(new Set([mesh]));
  expect(await identities()).toEqual(new Set([mesh]));
});

test("IY2 a mesh that the former version made gets one identity from hosts that come at the same time, and loses nothing", async () => {
  await makeFormer();
  const { created } = await own.jsm.streams.info("LEDGER");
  const all = await Promise.all([1, 2, 3].map(() => own.opened()));
  expect(new Set(all.map((ports) => ports.mesh))).toEqual(new Set([derivedMesh(created)]));
  expect(await identities()).toEqual(new Set([derivedMesh(created)]));
  expect(await metadataOf("INBOX")).toMatchObject({ "sagamesh.partitions": "8" });
});

test.each(["KV_CLAIM", "LEDGER"])(
  "IY1 a deleted %s is not made anew beside others: hosts refuse, and so does one made by hand",
  async (name) => {
    await used1(await own.opened());
    const { config } = await own.jsm.streams.info(name);
    await own.jsm.streams.delete(name);
    await expect(openNatsPorts(own.nc)).rejects.toMatchObject({
      code: "MESH_INCOMPLETE",
      message: expect.stringContaining(`stream ${name} is not there`) as string,
      remedy: expect.stringContaining("sagamesh rebuild") as string,
    });
    await expect(own.jsm.streams.info(name)).rejects.toThrow("stream not found");
    await own.jsm.streams.add({ ...config, metadata: {} });
    await expect(openNatsPorts(own.nc)).rejects.toMatchObject({
      code: "MESH_INCOMPLETE",
      message: expect.stringContaining("sagamesh did not make it") as string,
    });
  },
);

test("who only reads comes in where the claims are gone, and makes none", async () => {
  await used1(await own.opened());
  await own.jsm.streams.delete("KV_CLAIM");
  const said: string[] = [];
  const reader = await own.opened({ reading: true, report: (line) => said.push(line) });
  expect(await reader.ledger.list()).toEqual([{ saga, turns: 1 }]);
  expect(said.join()).toContain("MESH_INCOMPLETE");
  expect(Math.abs((await reader.claims.now()) - Date.now())).toBeLessThan(10_000);
  await expect(own.jsm.streams.info("KV_CLAIM")).rejects.toThrow("stream not found");
});

test.each([
  ["although nothing was counted yet", async () => undefined],
  [
    "by the census where LEDGER is of a former version",
    async ({ mesh }: NatsPorts) => {
      await keepCensus(own, { mesh, at: Date.now(), partitions: 3, streams: {} });
      const { metadata } = (await own.jsm.streams.info("LEDGER")).config;
      const { [partitionsKey]: _, ...former } = metadata ?? {};
      await own.jsm.streams.update("LEDGER", { metadata: former });
    },
  ],
])(
  "MQ2 INBOX, deleted while no host runs, comes back with the partitions that it had, %s",
  async (_, before) => {
    const ports = await openNatsPorts(own.nc, { partitions: 3 });
    await ports.close();
    await before(ports);
    await own.jsm.streams.delete("INBOX");
    expect((await own.opened()).inbox.partitions).toBe(3);
    expect(await metadataOf("INBOX")).toMatchObject({ [partitionsKey]: "3" });
  },
);

test("what is not guarded is made anew, and says when, if it lost more than time", async () => {
  await used1(await own.opened());
  await own.jsm.streams.delete("WORK");
  await own.jsm.streams.delete("KV_SNAPSHOT");
  const { mesh } = await own.opened();
  expect(await metadataOf("WORK")).toMatchObject({ [identityKeys.mesh]: mesh });
  expect(seenOf(await own.jsm.streams.info("WORK")).remadeAt).toBeGreaterThan(0);
  expect(seenOf(await own.jsm.streams.info("KV_SNAPSHOT")).remadeAt).toBeUndefined();
});

test("a stream that is of another mesh is refused and stays as it is", async () => {
  await used1(await own.opened());
  await own.jsm.streams.update("KV_CLAIM", { metadata: { [identityKeys.mesh]: "another" } });
  expect(await codeOf(openNatsPorts(own.nc))).toBe("MESH_MIXED");
  expect(await metadataOf("KV_CLAIM")).toMatchObject({ [identityKeys.mesh]: "another" });
});

test("NV2 claims that are deleted and made by hand under a process that runs are not claimed in, however soon", async () => {
  const ports = await own.opened();
  await used1(ports);
  const { config } = await own.jsm.streams.info("KV_CLAIM");
  await own.jsm.streams.delete("KV_CLAIM");
  expect(await codeOf(ports.claims.create("a.1-2", 1, "n2"))).toBe("UNAVAILABLE");
  await own.jsm.streams.add({ ...config, metadata: {} });
  expect(await codeOf(ports.claims.create("a.1-1", 1, "n3"))).toBe("MESH_INCOMPLETE");
  expect(ports.fault()?.code).toBe("MESH_INCOMPLETE");
  expect(await codeOf(ports.claims.create("a.1-1", 1, "n3"))).toBe("MESH_INCOMPLETE");
});

test("XB1 nothing is claimed while claims are filled, what was filled is held, and a process that runs goes on after", async () => {
  const ports = await own.opened();
  await used1(ports);
  await own.jsm.streams.delete("KV_CLAIM");
  const broken = await lookAtBroken(own, "claims");
  const first = await fillClaims(own, broken, "rebuilt");
  await first.claim("a.1-1.1");
  expect(await codeOf(ports.claims.create("a.1-2", 1, "n2"))).toBe("UNAVAILABLE");
  expect(await codeOf(openNatsPorts(own.nc))).toBe("MESH_INCOMPLETE");
  // XB2: as after a death in the middle.
  const again = await fillClaims(own, await lookAtBroken(own, "claims"), "rebuilt");
  await again.claim("a.1-1.1");
  await again.open();
  const { generation, isRebuilding } = seenOf(await own.jsm.streams.info("KV_CLAIM"));
  expect({ generation, isRebuilding }).toEqual({ generation: 2, isRebuilding: false });
  await expect
    .poll(() => ports.claims.create("a.1-1", 1, "n4").catch(() => undefined))
    .toMatchObject({
      won: false,
      holder: "rebuilt",
    });
  expect(await ports.claims.create("a.1-3", 1, "n5")).toEqual({ won: true });
  expect((await own.opened()).mesh).toBe(ports.mesh);
  await expect(lookAtBroken(own, "claims")).resolves.toMatchObject({
    fault: undefined,
  });
});

test("XB4 who won in a bucket that had forgotten holds nothing once it is rebuilt, however it asks", async () => {
  const ports = await own.opened();
  await used1(ports);
  const { config } = await own.jsm.streams.info("KV_CLAIM");
  await own.jsm.streams.delete("KV_CLAIM");
  await own.jsm.streams.add({ ...config, metadata: {} });
  expect(await codeOf(ports.claims.create("a.1-1", 1, "mine"))).toBe("MESH_INCOMPLETE"); // NV2 of vigil.ts: it is stored.
  const filling = await fillClaims(own, await lookAtBroken(own, "claims"), "rebuilt");
  await filling.claim("a.1-1.1");
  await filling.open();
  await expect
    .poll(() => ports.claims.create("a.1-1", 1, "mine").catch(() => undefined), { timeout: 10_000 })
    .toMatchObject({ won: false, holder: "rebuilt" });
});

test("a LEDGER that is deleted and made by hand under a process that runs takes no turn from it; by a person's word an empty one does", async () => {
  const ports = await own.opened();
  await used1(ports);
  const { config } = await own.jsm.streams.info("LEDGER");
  await own.jsm.streams.delete("LEDGER");
  const turn = { data: bytes("turn"), headers: {}, expectedSeq: 0 };
  expect(await codeOf(ports.ledger.append(sagaId("b"), turn))).toBe("UNAVAILABLE");
  expect(await codeOf(ports.ledger.last(sagaId("a")))).toBe("MESH_INCOMPLETE"); // NL3 of services/nats/ledger.ts
  expect(await codeOf(ports.ledger.list())).toBe("MESH_INCOMPLETE");
  await own.jsm.streams.add({ ...config, metadata: {} });
  expect(await codeOf(ports.ledger.append(sagaId("b"), turn))).toBe("MESH_INCOMPLETE");
  await expect(lookAtBroken(own, "ledger").then((broken) => emptyLedger(own, broken))).rejects.toThrow(
    "is there",
  );
  await own.jsm.streams.delete("LEDGER");
  await emptyLedger(own, await lookAtBroken(own, "ledger"));
  const next = await own.opened();
  expect(next.mesh).toBe(ports.mesh);
  expect(seenOf(await own.jsm.streams.info("LEDGER")).generation).toBe(2);
  await next.ledger.append(sagaId("b"), turn);
});

/** What a host counts. */
const counting = async ({ mesh }: NatsPorts, at: number) => {
  const streams = await Promise.all(names.map(async (name) => seenOf(await own.jsm.streams.info(name))));
  return { mesh, at, partitions: 8, streams: Object.fromEntries(streams.map((one) => [one.name, one])) };
};

test("of hosts that count at the same time one writes, and a count that was lost with one bucket is read from the other", async () => {
  const ports = await own.opened();
  await used1(ports);
  const before = (await own.jsm.streams.info("KV_REGISTRY")).state.last_seq;
  const now = await counting(ports, Date.now());
  await Promise.all([1, 2, 3, 4].map(() => keepCensus(own, now)));
  await keepCensus(own, { ...now, at: now.at + 1_000 });
  expect((await own.jsm.streams.info("KV_REGISTRY")).state.last_seq).toBe(before + 1);
  await own.jsm.streams.delete("KV_REGISTRY");
  expect((await readCensus(own))?.streams["KV_CLAIM"]).toMatchObject({ lastSeq: 1, generation: 1 });
});

test("claims that were set back to an older copy are refused, by what was counted of them, until they are rebuilt", async () => {
  const ports = await own.opened();
  await used1(ports);
  const { config } = await own.jsm.streams.info("KV_CLAIM"); // Of this mesh: as an older copy would be.
  await ports.claims.create("a.1-2", 1, "n2");
  await keepCensus(own, await counting(ports, Date.now()));
  await ports.close();
  await own.jsm.streams.delete("KV_CLAIM");
  await own.jsm.streams.add(config);
  await expect(openNatsPorts(own.nc)).rejects.toMatchObject({
    code: "MESH_INCOMPLETE",
    message: expect.stringContaining("stream KV_CLAIM goes up to message 0, and went up to 2 at") as string,
  });
  const filling = await fillClaims(own, await lookAtBroken(own, "claims"), "rebuilt");
  await filling.open();
  expect((await own.opened()).mesh).toBe(ports.mesh);
});

test("a ledger that holds less than was counted keeps hosts waiting, not readers, until a person says that it was restored", async () => {
  const ports = await own.opened();
  await used1(ports);
  const now = await counting(ports, Date.now());
  const { LEDGER: counted } = now.streams;
  await keepCensus(own, { ...now, streams: { ...now.streams, LEDGER: { ...counted!, lastSeq: 9 } } }, true);
  const said: string[] = [];
  let waits = true;
  const host = own.opened({ report: (line) => said.push(line) }).finally(() => (waits = false));
  const given = new AbortController();
  const other = codeOf(openNatsPorts(own.nc, { signal: given.signal }));
  await until("it says what it waits for", () => said.length > 0, 60_000);
  expect(said).toEqual([expect.stringMatching(/^waiting: \[MESH_RESTORED\] .*sagamesh restored/)]);
  const reader = await own.opened({ reading: true });
  expect(await reader.ledger.list()).toEqual([{ saga, turns: 1 }]);
  given.abort(new MeshError("USAGE", "called off"));
  expect(await other).toBe("USAGE");
  expect(waits).toBe(true);
  const broken = await lookAtRestored(own);
  expect(broken.fault).toMatchObject({ stream: "LEDGER", kind: "short" });
  await markRestored(own, { at: 7, until: 8 });
  await releaseRestored(own, broken);
  expect((await host).restored?.()).toEqual({ at: 7, until: 8 });
  expect(said).toHaveLength(1);
  expect(await metadataOf("LEDGER")).toMatchObject({ [identityKeys.generation]: "2", [partitionsKey]: "8" });
  expect((await own.opened()).mesh).toBe(ports.mesh);
});

test("a process that runs hears of a restore, and beside claims that were set back goes on once it was said", async () => {
  const ports = await own.opened();
  await used1(ports);
  const { config } = await own.jsm.streams.info("KV_CLAIM");
  await ports.claims.create("a.1-2", 1, "n2");
  await own.jsm.streams.delete("KV_CLAIM");
  await own.jsm.streams.add(config);
  expect(await codeOf(ports.claims.create("a.1-3", 1, "n3"))).toBe("MESH_INCOMPLETE");
  const broken = await lookAtRestored(own);
  await markRestored(own, { at: 7, until: 8 });
  await releaseRestored(own, broken);
  await until(
    "it goes on",
    async () => (await codeOf(ports.claims.create("a.1-4", 1, "n4"))) === "none",
    60_000,
  );
  expect(ports.restored?.()).toEqual({ at: 7, until: 8 });
});
