/**
 * Goal: ledgers over several streams are one record: a saga has one ledger, whoever begins it and whatever they know of how many
 * streams there are; and each is found by all.
 * Method: a real server, and an account, which is an empty JetStream, for each test. Processes that heard of a growth and such
 * that did not begin the same sagas at the same time; signposts are forged, shards deleted and put back.
 */
import { expect, test } from "vitest";
import { arbiterOf, placeOf } from "../../../protocol/shards.ts";
import { headers, ledgerStream, subjects } from "../../../protocol/subjects.ts";
import { keepCensus, readCensus } from "../../../services/nats/census.ts";
import { growShards } from "../../../services/nats/grow.ts";
import { countedIn, seenOf } from "../../../services/nats/identity.ts";
import { withLedgers } from "../../../services/nats/ledgers.ts";
import { type NatsPorts, openNatsPorts } from "../../../services/nats/open.ts";
import {
  emptyLedger,
  lookAtBroken,
  lookAtRestored,
  lostSagas,
  releaseRestored,
} from "../../../services/nats/rebuild.ts";
import { findStreams } from "../../../services/nats/shards.ts";
import { declareStreams } from "../../../services/nats/streams.ts";
import { bytes, codeOf, sagaId, text } from "../../contract/mesh-under-test.ts";
import { accountOfTest } from "../../support/own-account.ts";

const own = accountOfTest();
const grow = (shards: number) => growShards(own, shards);
const sagas = Array.from({ length: 40 }, (_, k) => sagaId(`order-${k}`));
const turn = (what: string, expectedSeq = 0) => ({ data: bytes(what), headers: {}, expectedSeq });
/** Of each stream of ledgers, what is stored and is no signpost, by saga. */
const storedBySaga = async (shards: number) => {
  const stored = new Map<string, string[]>();
  for (let shard = 0; shard < shards; shard++) {
    const { first_seq, last_seq } = (await own.jsm.streams.info(ledgerStream(shard))).state;
    for (let seq = Math.max(1, first_seq); seq <= last_seq; seq++) {
      const message = await own.jsm.streams.getMessage(ledgerStream(shard), { seq });
      if (message === null || message.header.get(headers.shard) !== "") continue;
      const [, saga = ""] = message.subject.split(".");
      stored.set(saga, [...(stored.get(saga) ?? []), `${ledgerStream(shard)} ${text(message.data)}`]);
    }
  }
  return stored;
};

test("SZ2 a place is computed as the server computes a partition", async () => {
  await own.jsm.streams.add({
    name: "PARTED",
    subjects: ["parted.*"],
    subject_transform: { src: "parted.*", dest: "p.{{partition(7,1)}}.{{wildcard(1)}}" },
  });
  for (const saga of [...sagas, sagaId("a"), sagaId("_-_"), sagaId("x".repeat(64))]) {
    await own.requests.one(`parted.${saga}`, "");
    const { subject } = (await own.jsm.streams.getMessage("PARTED", { last_by_subj: "p.*.*" }))!;
    expect(subject).toBe(`p.${placeOf(saga, { all: 7 })}.${saga}`);
  }
});

test("a mesh of one shard has the streams and subjects that it had always", async () => {
  const ports = await own.opened();
  await ports.ledger.append(sagas[0]!, turn("one"));
  const { config } = await own.jsm.streams.info("LEDGER");
  expect(config.subjects).toEqual(["saga.*.ledger"]);
  expect(Object.keys(config.metadata ?? {}).filter((key) => key.includes("shards"))).toEqual([]);
  const names: string[] = [];
  for await (const name of own.jsm.streams.names()) names.push(name);
  expect(names.filter((name) => name.startsWith("LEDGER"))).toEqual(["LEDGER"]);
});

test("HM2 over four shards each saga is at its arbiter, and nothing else is stored of it", async () => {
  const ports = await own.opened({ shards: 4 });
  for (const saga of sagas) await ports.ledger.append(saga, turn("one"));
  for (const saga of sagas) {
    const shard = arbiterOf(saga, { arbiters: 4 });
    const { state } = await own.jsm.streams.info(ledgerStream(shard), {
      subjects_filter: subjects.ledger(saga, shard),
    });
    expect(state.subjects).toEqual({ [subjects.ledger(saga, shard)]: 1 });
  }
  expect((await ports.ledger.end()).reduce((sum, end) => sum + end)).toBe(sagas.length);
});

test("HM1 of processes that begin the same sagas at once, while the mesh grows, one begins each, and all find it", async () => {
  const before = await Promise.all([1, 2, 3].map(() => own.opened()));
  const old = sagas.slice(0, 10);
  for (const saga of old) await before[0]!.ledger.append(saga, turn("before"));
  const begin = async (ports: NatsPorts, by: number, some: readonly (typeof sagas)[number][]) => {
    let begun = 0;
    for (const saga of some)
      if ((await codeOf(ports.ledger.append(saga, turn(`by ${by}`)))) === "none") begun += 1;
    return begun;
  };
  const [, ...counts] = await Promise.all([
    grow(5),
    ...before.map((ports, by) => begin(ports, by, sagas.slice(0, 25))),
  ]);
  const after = await Promise.all([1, 2].map(() => own.opened()));
  const others = await Promise.all(
    [...before, ...after].map((ports, by) => begin(ports, 10 + by, sagas)), // Some of them have not heard of it still.
  );
  expect([...counts, ...others].reduce((sum, one) => sum + one)).toBe(sagas.length - old.length);
  const stored = await storedBySaga(5);
  expect([...stored.values()].every((turns) => turns.length === 1)).toBe(true);
  for (const ports of [...before, ...after]) {
    for (const saga of sagas) {
      const [where] = stored.get(saga)!;
      const last = await ports.ledger.last(saga);
      expect(where).toMatch(new RegExp(` ${text(last!.data)}$`));
      expect((await ports.ledger.read(saga, 0, last!.seq)).map(({ seq }) => seq)).toEqual([last!.seq]);
    }
    expect(new Set((await ports.ledger.list()).map(({ saga }) => saga))).toEqual(new Set(sagas));
  }
  expect([...stored].filter(([saga]) => old.includes(sagaId(saga))).map(([, [where]]) => where)).toEqual(
    old.map(() => "LEDGER before"),
  );
  const more = sagas.map((saga) => sagaId(`${saga}-more`));
  for (const saga of more) await after[0]!.ledger.append(saga, turn("more"));
  const all = await storedBySaga(5);
  for (const saga of more) expect(all.get(saga)).toEqual([`${ledgerStream(placeOf(saga, { all: 5 }))} more`]);
  for (const saga of more) expect(text((await before[0]!.ledger.last(saga))!.data)).toBe("more");
});

test("HM4 a signpost to a shard that is not there, and one behind another message, lead nobody away", async () => {
  const ports = await own.opened({ shards: 2 });
  await grow(3);
  const forged = (shard: number) => [headers.shard, String(shard)] as const;
  const [there, behind] = [sagas[0]!, sagas[1]!];
  const say = (saga: typeof there, ...[name, value]: readonly [string, string]) =>
    publishAt(subjects.ledger(saga, arbiterOf(saga, { arbiters: 2 })), name, value);
  await say(there, ...forged(40));
  await say(behind, "Other", "first");
  await say(behind, ...forged(2));
  for (const saga of [there, behind]) {
    const { seq } = (await ports.ledger.last(saga))!;
    expect(await codeOf(ports.ledger.append(saga, turn("one", seq)))).toBe("none");
    const shard = arbiterOf(saga, { arbiters: 2 });
    expect((await ports.ledger.last(saga))?.subject).toBe(subjects.ledger(saga, shard));
  }
});

const publishAt = async (subject: string, name: string, value: string) => {
  const { headers: fields } = await import("@nats-io/nats-core");
  const told = fields();
  told.set(name, value);
  await own.nc.request(subject, "", { headers: told, timeout: 5_000 });
};

test("who only reads finds every saga, and who follows all of them hears of shards that are added meanwhile", async () => {
  const ports = await own.opened();
  const following = new AbortController();
  const heard: string[] = [];
  const one: string[] = [];
  const moved = sagas.find((saga) => placeOf(saga, { all: 4 }) === 3)!;
  const ended = Promise.all([
    (async () => {
      for await (const { data } of ports.ledger.follow({ signal: following.signal })) heard.push(text(data));
    })(),
    (async () => {
      for await (const { data } of ports.ledger.follow({ saga: moved, signal: following.signal }))
        one.push(text(data));
    })(),
  ]);
  await grow(4);
  const later = await own.opened();
  for (const saga of sagas) await later.ledger.append(saga, turn(saga));
  while (heard.length < sagas.length || one.length === 0)
    await new Promise((resolve) => setTimeout(resolve, 5));
  following.abort();
  await ended;
  expect([...heard].sort()).toEqual([...sagas].sort());
  expect(one).toEqual([moved]);
  await withLedgers(own.nc, async ({ ledger }) => {
    for (const saga of sagas) expect(text((await ledger.first(saga))!.data)).toBe(saga);
  });
});

test("GW1 a version that knows of one shard refuses the mesh once there are several", async () => {
  await own.opened();
  await grow(2);
  const declared = declareStreams({ partitions: 8 }).find(({ name }) => name === "LEDGER");
  expect((await own.jsm.streams.info("LEDGER")).config.subjects).not.toEqual(declared?.subjects);
  expect(await codeOf(grow(1))).toBe("USAGE");
  expect(await codeOf(grow(65))).toBe("USAGE");
  expect(await grow(2)).toEqual({ arbiters: 1, all: 2 });
});

test("a shard that is lost stops what begins beside it, is emptied by a person's word, and costs the sagas of no other", async () => {
  const ports = await own.opened({ shards: 2 });
  await grow(4);
  const later = await own.opened();
  for (const saga of sagas) await later.ledger.append(saga, turn(saga));
  await ports.claims.create("a.1-1", 1, "n1");
  for (const lost of [3, 0]) {
    const at = await storedBySaga(4);
    await own.jsm.streams.delete(ledgerStream(lost));
    expect(await codeOf(openNatsPorts(own.nc))).toBe("MESH_INCOMPLETE");
    const broken = await lookAtBroken(own, "ledger");
    expect(broken.fault?.stream).toBe(ledgerStream(lost));
    const isLost = await lostSagas(own, broken);
    const expected = [...at].filter(([, [where]]) => where!.startsWith(`${ledgerStream(lost)} `));
    const told = await Promise.all(sagas.map(async (saga) => ((await isLost(saga)) ? [saga] : [])));
    expect(told.flat().sort()).toEqual(expected.map(([saga]) => saga).sort());
    await emptyLedger(own, broken);
    const next = await own.opened();
    for (const [saga, [where]] of at)
      expect((await next.ledger.last(sagaId(saga))) === undefined).toBe(
        where!.startsWith(`${ledgerStream(lost)} `),
      );
  }
});

test("GW1 a LEDGER put back from before the mesh grew is told of its shards again, and nothing else is needed", async () => {
  const ports = await own.opened();
  await ports.ledger.append(sagas[0]!, turn("one"));
  const { config } = await own.jsm.streams.info("LEDGER");
  await grow(3);
  const later = await own.opened();
  for (const saga of sagas.slice(1)) await later.ledger.append(saga, turn(saga));
  const counted = await findStreams(own.jsm, undefined);
  const census = { mesh: ports.mesh, at: Date.now(), partitions: 8 };
  await keepCensus(own, { ...census, streams: countedIn(counted.there.map(seenOf)) }, true);
  await own.jsm.streams.delete("LEDGER");
  await own.jsm.streams.add(config);
  expect((await findStreams(own.jsm, await readCensus(own))).shards).toEqual({
    arbiters: 1,
    all: 3,
  });
  expect(await grow(3)).toEqual({ arbiters: 1, all: 3 });
  await releaseRestored(own, await lookAtRestored(own));
  const next = await own.opened();
  for (const saga of sagas.slice(1).filter((one) => placeOf(one, { all: 3 }) > 0))
    expect(text((await next.ledger.last(saga))!.data)).toBe(saga);
});

test("a process that knows where a saga was before its shard was lost finds it where it began anew", async () => {
  const ports = await own.opened();
  await grow(2);
  const knowing = await own.opened();
  const moved = sagas.find((saga) => placeOf(saga, { all: 2 }) === 1)!;
  await ports.ledger.append(moved, turn("before")); // Of a process that has not heard of it.
  expect((await knowing.ledger.last(moved))?.subject).toBe(subjects.ledger(moved, 0));
  await own.jsm.streams.purge("LEDGER");
  const other = await own.opened();
  await other.ledger.append(moved, turn("anew"));
  for (const one of [knowing, other, ports]) {
    const last = await one.ledger.last(moved);
    expect({ subject: last?.subject, data: text(last!.data) }).toEqual({
      subject: subjects.ledger(moved, 1),
      data: "anew",
    });
  }
});

test("HP1 a shard put back from before sagas were placed gets their signposts before anything begins", async () => {
  await own.opened();
  await grow(3);
  const ports = await own.opened();
  for (const saga of sagas) await ports.ledger.append(saga, turn(saga));
  const stored = await storedBySaga(3);
  await own.jsm.streams.purge("LEDGER");
  const moved = sagas.filter((saga) => placeOf(saga, { all: 3 }) > 0);
  await releaseRestored(own, await lookAtRestored(own));
  const next = await own.opened();
  for (const saga of moved) expect(text((await next.ledger.last(saga))!.data)).toBe(saga);
  const left = sagas.filter((saga) => !moved.includes(saga));
  expect(left.length).toBeGreaterThan(0);
  for (const saga of left) expect(await next.ledger.last(saga)).toBeUndefined();
  expect([...(await storedBySaga(3)).keys()].sort()).toEqual([...moved].sort());
  expect(stored.size).toBe(sagas.length);
});
