/**
 * Loading a saga that this host does not serve: by its turns alone, whatever else stands on its subject.
 *
 * Method: ports that hold a ledger, count what is read of it and refuse to be asked for anything else.
 */
import { describe, expect, test } from "vitest";
import { recall } from "../../../actors/kernel/past.ts";
import { foldLedger, stateToJson } from "../../../actors/kernel/replay.ts";
import { encodeJson } from "../../../protocol/codec.ts";
import { chainHash } from "../../../protocol/digest.ts";
import { toJson } from "../../../protocol/json.ts";
import { limits } from "../../../protocol/limits.ts";
import { headers as names, subjects } from "../../../protocol/subjects.ts";
import { type Tombstone, tombstoneEvent } from "../../../protocol/tombstone.ts";
import { toStored, type Turn } from "../../../protocol/turn.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { type Loaded, type LoadDeps, loadSaga, loadWhole } from "../../../services/host/load.ts";
import { readPast } from "../../../services/host/past-parts.ts";
import { tellForeign } from "../../../services/host/tell-foreign.ts";
import { Unserved } from "../../../services/host/unserved.ts";
import { createKnownTurns } from "../../../services/ledger/known-turns.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { readLedger } from "../../../services/views/view.ts";
import { traceIdOf, turnHeaders } from "../../../services/wire/turn-headers.ts";
import type { StoredMessage } from "../../../services/wire/ports.ts";
import { noopSaga } from "../../bench/noop-saga.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";
import { foreignKinds, plantedOf } from "../../support/foreign.ts";
import { clerk, clerkApp } from "../../support/forger.ts";
import { longLedger } from "../../support/long-ledger.ts";

const saga = sagaId("clerk-1");
const definition = { name: "clerk", version: 7, hash: "feedfeedfeedfeed" };
const refuse = () => Promise.reject(new Error("asked for more than the ledger"));

function depsWith(messages: readonly StoredMessage[], read: number[] = []): LoadDeps {
  return {
    clock: { now: () => 0, elapsed: () => 0, sleep: refuse, after: () => () => undefined },
    log: silentLog,
    ports: {
      ledger: {
        last: async () => messages.at(-1),
        read: async (_saga: unknown, after: number, through: number) => {
          const found = messages.filter(({ seq }) => seq > after && seq <= through);
          read.push(found.length);
          return found;
        },
      } as never,
      snapshots: { get: async () => undefined } as never,
      ...{ claims: {} as never, inbox: {} as never },
      blobs: { get: refuse } as never,
    },
  };
}

const at = (seq: number, headers: Record<string, string>, data: Uint8Array): StoredMessage => ({
  ...{ subject: `saga.${saga}.ledger`, storedAt: 0, data, seq },
  headers,
});

/** A turn of the definition that is not served, after those. */
function turnAfter(messages: readonly StoredMessage[]): StoredMessage {
  const before = messages.at(-1);
  const turn = messages.length + 1;
  const prev = before === undefined ? "" : chainHash(before.data);
  const data = encodeJson({ v: 3, saga, turn, at: 0, host: "h", steps: [], prev });
  const origin = { definition, traceId: traceIdOf(saga) };
  const fields = turnHeaders({ saga, turn, steps: [] }, chainHash(data), origin);
  return at(turn * 10, { ...fields, [names.expectedSeq]: String(before?.seq ?? 0) }, data);
}

const turns: StoredMessage[] = [];
while (turns.length < 30) turns.push(turnAfter(turns));

test("a saga of a definition that is not served here is told by its turns, each of which is read once (LO4, QW1)", async () => {
  const read: number[] = [];
  const growing = turns.slice(0, 28);
  const deps = depsWith(growing, read);
  const remembering = { ...deps, known: createKnownTurns(deps.ports) };
  for (const more of [[], [], turns.slice(28), []]) {
    growing.push(...more);
    const failing = loadSaga(remembering, defineApp({}), saga);
    await expect(failing).rejects.toBeInstanceOf(Unserved);
    await expect(failing).rejects.toMatchObject({ code: "VERSION_UNSERVED", definition });
  }
  expect(read).toEqual([28, 2]);
});

/** Those that say which definition their saga has. */
const telling = Object.keys(foreignKinds).filter(
  (kind) => plantedOf(kind, saga, turns).headers[names.definition] !== undefined,
);

test.each(telling)("%s as the last message says nothing of its definition", async (kind) => {
  const { data, headers } = plantedOf(kind, saga, turns);
  const both: Record<string, string>[] = [{}, { [names.expectedSeq]: "300" }];
  for (const more of both) {
    const deps = depsWith([...turns, at(305, { ...headers, ...more }, data)]);
    await expect(loadSaga(deps, defineApp({}), saga)).rejects.toMatchObject({ definition });
  }
  if (kind.startsWith("a copy of")) return; // Alone it is the first turn.
  const alone = depsWith([at(305, headers, data)]);
  expect(await loadSaga(alone, defineApp({}), saga)).toBeUndefined();
});

test("where a turn was removed the saga is not gone on with from before it", async () => {
  const deps = depsWith(turns.toSpliced(12, 1));
  await expect(loadSaga(deps, defineApp({}), saga)).rejects.toMatchObject({ code: "VERSION_UNSERVED" });
  const served = depsWith([...turns.toSpliced(12, 1), at(305, {}, encodeJson("foreign"))]);
  await expect(loadSaga(served, defineApp({}), saga)).rejects.toMatchObject({ code: "LEDGER_BROKEN" });
});

test("what is skipped is counted each time and said once for each saga", async () => {
  const counted: number[] = [];
  const said: unknown[] = [];
  const log = { ...silentLog, warn: (fields: object) => void said.push(fields) };
  const met = tellForeign(log, { foreign: (messages) => void counted.push(messages) });
  const deps = depsWith([at(5, {}, encodeJson("early")), ...turns, at(305, {}, encodeJson("late"))]);
  for (let loads = 0; loads < 3; loads++)
    await loadSaga({ ...deps, ports: { ...deps.ports, met } }, defineApp({}), saga).catch(() => undefined);
  expect(counted).toEqual([2, 2, 2]);
  expect(said).toEqual([{ sagaId: saga, messages: 2 }]);
});

test("a tombstone is read, whatever is served", async () => {
  const tombstone: Tombstone = {
    ...{
      v: 1,
      type: "tombstone",
      saga,
      archivedAt: 0,
      by: "ada",
      file: "f",
      turns: 3,
      prev: "p",
      definition,
    },
    ...{
      inputDigest: "d",
      startedAt: 0,
      endedAt: 0,
      end: { status: "completed", standing: [] },
      unsettled: {},
    },
  };
  const left = at(305, { "Saga-Event": tombstoneEvent, [names.expectedSeq]: "300" }, encodeJson(tombstone));
  const foreign = at(306, {}, encodeJson("foreign"));
  // A copy of its first turn, which who reads an archive's file has, begins nothing anew.
  const copies = turns.slice(0, 2).map(({ data, headers }, n) => at(306 + n, headers, data));
  for (const messages of [[left], [left, foreign], [left, ...copies], [left, foreign, copies[1]!]])
    expect(await loadSaga(depsWith(messages), defineApp({}), saga)).toEqual(tombstone);
});

describe("a long ledger whose snapshot is gone", () => {
  const { definition: long, ...rest } = noopSaga("host");
  const app = defineApp({ sagas: [{ ...rest, definition: long }] });
  const steps = 2 * limits.foldedAtOnceMax + 300;
  const told = longLedger(long, saga, { steps, stays: true }, steps);
  const messages = storedOf(told);
  const whole = stateToJson(long, foldLedger(long, told).state);

  /** Deps with a shelf of snapshots, and a loop that counts how often it is asked to give way, and may end its process. */
  function depsOf(shelf: Map<string, Uint8Array>, endsAfter = Infinity) {
    const read: number[] = [];
    const asked = { times: 0 };
    const deps = depsWith(messages, read);
    const ports: LoadDeps["ports"] = {
      ...deps.ports,
      snapshots: {
        get: async (_saga: unknown, name = "") => shelf.get(name),
        put: async (_saga: unknown, data: Uint8Array, name = "") => void shelf.set(name, data),
      } as never,
      loop: {
        breathe: () => {
          asked.times += 1;
          return asked.times > endsAfter ? Promise.reject(new Error("the process ends")) : undefined;
        },
      },
    };
    return { deps: { ...deps, ports }, read, asked };
  }

  /** The same with nothing laid by. */
  async function wholeOf(deps: LoadDeps, { state }: Loaded): Promise<unknown> {
    const parts = await readPast(deps, saga, state.past!);
    return stateToJson(long, recall(state, parts!));
  }

  test("is laid by as it is folded, gives way at each turn, and comes to the same state (LO6, FQ1)", async () => {
    const shelf = new Map<string, Uint8Array>();
    const { deps, asked } = depsOf(shelf);
    const loaded = (await loadSaga(deps, app, saga)) as Loaded;
    expect([...shelf.keys()].sort()).toEqual(["", "past-1", "past-2"]);
    expect(loaded.snapshot).toMatchObject({ turn: 2 * limits.foldedAtOnceMax });
    expect(loaded.state.effects.length).toBeLessThan(limits.foldedAtOnceMax);
    expect(asked.times).toBeGreaterThanOrEqual(steps);
    expect(await wholeOf(deps, loaded)).toEqual(whole);
    const all = await loadWhole(deps, app, saga, messages.at(-1)!.seq);
    expect(all.state.past).toBeUndefined();
    expect(stateToJson(long, all.state)).toEqual(whole);
  });

  test("in the middle of which a process ends is gone on with, not begun anew (FQ1)", async () => {
    const shelf = new Map<string, Uint8Array>();
    // It gives way for each turn of the ledger to check its chain and to look what it tells; then to read it, and to fold it.
    const first = depsOf(shelf, 2 * steps + 3 * limits.foldedAtOnceMax);
    await expect(loadSaga(first.deps, app, saga)).rejects.toThrow("the process ends");
    expect([...shelf.keys()].sort()).toEqual(["", "past-1"]);
    const second = depsOf(shelf);
    const loaded = (await loadSaga(second.deps, app, saga)) as Loaded;
    expect(second.read).toEqual([steps - limits.foldedAtOnceMax]);
    expect(await wholeOf(second.deps, loaded)).toEqual(whole);
  });
});

/** Turns as they stand on a ledger. */
function storedOf(told: readonly Turn[]): StoredMessage[] {
  let prev = "";
  return told.map((turn, place) => {
    const data = encodeJson(toJson(toStored({ ...turn, prev })));
    prev = chainHash(data);
    const { definition: of } = noopSaga("host");
    const fields = turnHeaders(turn, prev, { definition: of, traceId: traceIdOf(saga) });
    return at((place + 1) * 10, { ...fields, [names.expectedSeq]: String(place * 10) }, data);
  });
}

test("two messages of which the second stands on the first keep no saga from its host", async () => {
  const mesh = createMemoryMesh({ seed: 1 });
  const { clock } = mesh;
  const host = async (name: string) => {
    const process = mesh.spawn(name);
    const common = { log: silentLog, incarnation: name, callbackBase: "sagamesh:" };
    await clock.until(startHost({ ...process, ...common }, clerkApp));
    return process;
  };
  const outside = mesh.spawn("client");
  const client = createClient({ ...outside, from: "tester" }, async () => undefined);
  const first = await host("first");
  await clock.until(client.start(clerk, {}, { id: saga }));
  await clock.advance(200);
  first.gate.crash();
  const publish = (data: Uint8Array, fields: Record<string, string>) => {
    const headers = { [names.saga]: saga, [names.event]: "signal", ...fields };
    const [subject, expectedSeq] = [subjects.ledger(saga), mesh.server.ledger.last(saga)!.seq];
    const told = { ...headers, [names.expectedSeq]: String(expectedSeq) };
    mesh.server.ledger.append({ data, headers: told, subject, expectedSeq }, () => undefined);
    return clock.advance(50);
  };
  const claimed = (turn: number, prev: string) =>
    encodeJson({ v: 3, saga, turn, at: 1, host: "nobody", steps: [], prev });
  const ground = claimed(40, "nothing that is there");
  const elsewhere = { [names.definition]: "clerk@2#0000000000000000" };
  await publish(ground, elsewhere);
  await publish(claimed(41, chainHash(ground)), elsewhere);
  await host("second");
  await clock.until(client.saga(clerk, saga).signal("note", {}));
  await clock.advance(120_000);
  const turns = (await clock.until(readLedger(outside.ports, saga))).map((one) => one.turn);
  expect(turns.map(({ steps }) => steps[0]?.event.type)).toEqual(["start", "signal"]);
});
