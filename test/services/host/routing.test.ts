/**
 * Hosts that differ: whatever partition a saga hashes to, its inputs reach a host that serves its definition while one
 * lives, and wait for one while none does.
 *
 * Method: hosts of one version, of the other, and of both, on the memory mesh in virtual time. Who decided what is read from
 * the ledgers, and what was handed on is counted as each host tells it.
 */
import { describe, expect, test } from "vitest";
import { parseSagaId } from "../../../protocol/ids.ts";
import { textOfDefinition } from "../../../protocol/definition-text.ts";
import { limits } from "../../../protocol/limits.ts";
import { headers } from "../../../protocol/subjects.ts";
import type { App } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { type Host, type HostBounds, startHost } from "../../../services/host/host.ts";
import { silentObserver } from "../../../services/host/host-deps.ts";
import { readEvent } from "../../../services/host/intake.ts";
import { routingAlone } from "../../../services/host/routing.ts";
import { decodeTurn } from "../../../services/ledger/reader.ts";
import { createMemoryMesh, type MemoryProcess } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import type { Delivery } from "../../../services/wire/ports.ts";
import { readLetterHeaders } from "../../../services/wire/dead-letter.ts";
import { startWorker } from "../../../services/worker/worker.ts";
import {
  appBoth,
  appV1,
  appV2,
  desk1,
  desk2,
  placeOf,
  questionOf,
  sayYes,
} from "../../support/two-versions.ts";

interface Member {
  readonly host: Host;
  readonly life: MemoryProcess;
  readonly name: string;
}

function openMesh() {
  const mesh = createMemoryMesh({ seed: 5, partitions: 8 });
  const outside = mesh.spawn("outside");
  const client = createClient({ ...outside, from: "test" }, async () => undefined);
  const hops: string[] = [];
  const fences: string[] = [];
  const warnings: string[] = [];
  const begin = async (name: string, app: App, bounds: HostBounds = {}): Promise<Member> => {
    const life = mesh.spawn(name);
    const { gate, ...process } = life;
    const observe = {
      ...silentObserver,
      handedOn: (outcome: string) => hops.push(`${name} ${outcome}`),
      append: (outcome: string) => outcome === "fenced" && fences.push(name),
    };
    const log = {
      ...silentLog,
      warn: (fields: object, words: string) => warnings.push(`${words} ${JSON.stringify(fields)}`),
    };
    const options = {
      ...process,
      ...bounds,
      observe,
      log,
      incarnation: gate.name,
      callbackBase: "sagamesh:",
    };
    const host = await mesh.clock.until(startHost(options, app));
    return { host, life, name: gate.name };
  };
  const turnsOf = (id: string) =>
    mesh.clock.until(
      Promise.all(
        mesh.server.ledger.after(parseSagaId(id), 0).map((one) => decodeTurn(outside.ports.blobs, one)),
      ),
    );
  const pass = (ms: number) => mesh.clock.run({ until: mesh.clock.now() + ms });
  const placesOf = async (ids: readonly string[]) =>
    [...new Set(await Promise.all(ids.map(async (id) => placeOf(await turnsOf(id)))))].sort();
  return {
    ...{ ...mesh, client, hops, fences, warnings, begin, turnsOf, pass, placesOf },
    work: async () => {
      const { gate, ...process } = mesh.spawn("worker");
      const options = { ...process, log: silentLog, incarnation: gate.name, callbackBase: "sagamesh:" };
      await mesh.clock.until(startWorker(options, appBoth));
    },
    start: (desk: typeof desk1, id: string) =>
      mesh.clock.until(client.start(desk, {}, { id, version: desk.definition.version })),
    /** As a program starts one that knows a name alone. */
    startNamed: (id: string, body: object) =>
      mesh.clock.until(
        outside.ports.inbox.publish({
          subject: `saga.${id}.start`,
          data: Buffer.from(JSON.stringify({ input: {}, ...body })),
          headers: {},
        }),
      ),
    signal: (id: string) => mesh.clock.until(client.saga(desk1, id).signal("go", {})),
    answer: async (id: string) => mesh.clock.until(sayYes(client, id, questionOf(await turnsOf(id)) ?? "")),
    letters: () => mesh.server.dead.list().map((letter) => readLetterHeaders(letter.headers).code),
    /** Until all stand there; fails after a while. */
    untilAll: async (ids: readonly string[], place: string, withinMs = 15_000) => {
      const from = mesh.clock.now();
      while (String(await placesOf(ids)) !== place) {
        if (mesh.clock.now() - from > withinMs)
          throw new Error(`not within ${withinMs} ms ${place}: ${String(await placesOf(ids))}`);
        await pass(100);
      }
      return mesh.clock.now() - from;
    },
  };
}

const named = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}-${n}`);

/** From its start to its end, with every kind of input on the way. */
async function through(
  t: ReturnType<typeof openMesh>,
  ids: readonly string[],
  version: number,
): Promise<void> {
  await t.untilAll(ids, "resting");
  for (const id of ids) await t.signal(id);
  await t.untilAll(ids, "task");
  for (const id of ids) await t.answer(id);
  await t.untilAll(ids, `completed by ${version}`);
}

const hostsOf = async (t: ReturnType<typeof openMesh>, ids: readonly string[]): Promise<string[]> =>
  [...new Set((await Promise.all(ids.map((id) => t.turnsOf(id)))).flat().map(({ host }) => host))].sort();

describe("hosts that differ", () => {
  test("each saga is decided by a host of its own version, whatever its partition, and every kind of input reaches it", async () => {
    const t = openMesh();
    await t.work();
    const one = await t.begin("one", appV1);
    const two = await t.begin("two", appV2);
    await t.pass(3_000);
    const [old, young] = [named("old", 12), named("young", 12)];
    for (const id of old) await t.start(desk1, id);
    for (const id of young) await t.start(desk2, id);
    await through(t, old, 1);
    await through(t, young, 2);
    expect(await hostsOf(t, old)).toEqual([one.name]);
    expect(await hostsOf(t, young)).toEqual([two.name]);
    expect(new Set(t.hops)).toEqual(new Set(["one taken", "two taken"]));
    expect(t.fences).toEqual([]);
    expect(t.letters()).toEqual([]);
    expect(t.server.open()).toEqual({ inbox: 0, work: 0, timers: 0 });
  });

  test("hosts that are equal hand nothing on, also while one joins and one goes", async () => {
    const t = openMesh();
    await t.work();
    const first = await t.begin("one", appBoth);
    await t.begin("two", appBoth);
    await t.pass(3_000);
    const ids = named("a", 10);
    for (const id of ids) await t.start(desk1, id);
    await t.begin("three", appBoth);
    await t.untilAll(ids, "resting");
    const stopped = first.host.stop(2_000);
    for (const id of ids) await t.signal(id);
    await t.clock.until(stopped);
    await t.untilAll(ids, "task");
    for (const id of ids) await t.answer(id);
    await t.untilAll(ids, "completed by 1");
    expect(t.hops).toEqual([]);
  });

  test("a start by name goes to the newest version, also where the host that gets it serves an older one", async () => {
    const t = openMesh();
    await t.work();
    await t.begin("one", appV1);
    await t.begin("two", appV2);
    await t.pass(3_000);
    const ids = named("n", 10);
    for (const id of ids) await t.startNamed(id, { name: "desk" });
    for (const id of named("v", 5)) await t.startNamed(id, { name: "desk", version: 1 });
    await through(t, ids, 2);
    await through(t, named("v", 5), 1);
  });

  test("sagas of a version that no host serves wait, told once, and go on when one serves it again", async () => {
    const t = openMesh();
    await t.work();
    await t.begin("one", appV1);
    const two = await t.begin("two", appV2);
    await t.pass(3_000);
    const [old, young] = [named("old", 6), named("young", 6)];
    for (const id of old) await t.start(desk1, id);
    for (const id of young) await t.start(desk2, id);
    await t.untilAll([...old, ...young], "resting");
    await t.clock.until(two.host.stop(5_000));
    two.life.gate.crash();
    await t.pass(3_000);
    for (const id of [...old, ...young]) await t.signal(id);
    await t.startNamed("late-0", { name: "desk", version: 2 });
    await t.untilAll(old, "task");
    await t.pass(30_000);
    expect(await t.placesOf(young)).toEqual(["resting"]);
    const told = t.warnings.filter((words) => words.startsWith("no host serves it"));
    expect(told).toHaveLength(2); // The definition, and what the start asks for.
    const again = await t.begin("two", appV2);
    expect(await t.untilAll(young, "task")).toBeLessThan(2 * limits.unservedDelayMs);
    await t.untilAll(["late-0"], "resting");
    for (const id of young) await t.answer(id);
    await t.untilAll(young, "completed by 2");
    expect(again.host.waiting()).toEqual([]);
    expect(t.letters()).toEqual([]);
  });

  test("the host where they wait says which sagas wait for what, and says so no more when they do not", async () => {
    const t = openMesh();
    await t.work();
    const one = await t.begin("one", appBoth);
    await t.pass(3_000);
    await t.start(desk2, "a");
    await t.untilAll(["a"], "resting");
    await t.clock.until(one.host.stop(5_000));
    const old = await t.begin("old", appV1);
    await t.signal("a");
    await t.pass(5_000);
    const { name, version, hash } = desk2.definition;
    expect(old.host.waiting()).toEqual([{ definition: `${name}@${version}#${hash}`, sagas: ["a"] }]);
    await t.begin("new", appV2);
    await t.untilAll(["a"], "task");
    await t.pass(60_000);
    expect(old.host.waiting()).toEqual([]);
  });

  test("when the serving host dies with what it took, another that serves it goes on", async () => {
    const t = openMesh();
    await t.work();
    await t.begin("one", appV1);
    const members = [await t.begin("two", appV2), await t.begin("three", appV2)];
    await t.pass(3_000);
    const ids = named("y", 12);
    for (const id of ids) await t.start(desk2, id);
    await t.pass(15);
    members[0]!.life.gate.crash();
    await through(t, ids, 2);
    expect(t.letters()).toEqual([]);
  });

  test("a guest goes home when its partition's host serves it, and nobody is fenced twice", async () => {
    const t = openMesh();
    await t.work();
    const one = await t.begin("one", appV1);
    const two = await t.begin("two", appV2);
    await t.pass(3_000);
    const ids = named("y", 16);
    for (const id of ids) await t.start(desk2, id);
    await t.untilAll(ids, "resting");
    // Awake as guests, and then their partitions' host is replaced by one that serves both.
    for (const id of ids) await t.signal(id);
    await t.begin("both", appBoth);
    await t.clock.until(one.host.stop(1_000));
    one.life.gate.crash();
    await t.untilAll(ids, "task");
    await t.pass(10_000);
    t.hops.length = 0;
    for (const id of ids) await t.answer(id);
    await t.untilAll(ids, "completed by 2");
    expect(t.hops).toEqual([]);
    expect(t.fences.length).toBeLessThanOrEqual(2);
    expect(two.host.resident()).toBeLessThanOrEqual(ids.length);
  });

  test("a start that is repeated goes where its saga is, not where a new one would go", async () => {
    const t = openMesh();
    await t.work();
    await t.begin("one", appV1);
    await t.pass(3_000);
    const ids = named("r", 8);
    for (const id of ids) await t.startNamed(id, { name: "desk" });
    await t.untilAll(ids, "resting");
    await t.begin("two", appV2);
    await t.pass(3_000);
    for (const id of ids) await t.startNamed(id, { name: "desk" });
    await t.pass(5_000);
    expect(t.server.open().inbox).toBe(0);
    for (const id of ids) await t.startNamed(id, { name: "desk", input: { other: true } });
    await t.pass(5_000);
    expect(t.server.open().inbox).toBe(0);
    expect(new Set(t.letters())).toEqual(new Set(["SAGA_ID_TAKEN"]));
    await through(t, ids, 1);
  });

  test("a host that is full takes no start that is handed on, and one that has room again does", async () => {
    const t = openMesh(); // No worker: what begins stays in memory.
    await t.begin("one", appV1);
    const two = await t.begin("two", appV2, { sagasMax: 3 });
    await t.pass(3_000);
    const ids = named("f", 20);
    for (const id of ids) await t.startNamed(id, { name: "desk", version: 2 });
    await t.pass(10_000);
    expect(t.hops).toContain("one not taken");
    expect(two.host.resident()).toBeLessThanOrEqual(8); // As many as it takes of its own partitions, and of others.
    await t.work();
    await t.untilAll(ids, "resting", 60_000);
  });

  test("an order to move goes to a host of the new version", async () => {
    const t = openMesh();
    await t.work();
    await t.begin("one", appV1);
    await t.pass(3_000);
    const ids = named("m", 8);
    for (const id of ids) await t.start(desk1, id);
    await t.untilAll(ids, "resting");
    await t.begin("two", appV2);
    await t.pass(3_000);
    const { name, version, hash } = desk2.definition;
    for (const id of ids)
      await t.clock.until(
        t.client
          .saga(desk1, id)
          .signal("migrate", { definition: { name, version, hash } } as never, { id: `to2-${id}` }),
      );
    await t.pass(5_000);
    expect(t.letters()).toEqual([]);
    expect(t.server.open().inbox).toBe(0);
    await through(t, ids, 2);
  });

  test("a start that is handed on is of the definition that was chosen, whatever its receiver would choose", async () => {
    const { ports } = createMemoryMesh({ seed: 1 }).spawn("host");
    const reading = { ports, app: appBoth, routing: routingAlone(appBoth) };
    const data = Buffer.from(JSON.stringify({ name: "desk", input: {} }));
    const start = { kind: "start", saga: parseSagaId("a") } as const;
    const read = (fields: Record<string, string>) =>
      readEvent(reading, start, { data, headers: fields } as unknown as Delivery);
    expect(await read({})).toMatchObject({ definition: { version: 2 } });
    const meant = textOfDefinition(desk1.definition);
    expect(await read({ [headers.definition]: meant })).toMatchObject({ definition: { version: 1 } });
  });

  test("what was never registered is refused after an hour; what was registered once waits", async () => {
    const t = openMesh();
    const two = await t.begin("two", appV2);
    await t.pass(1_000);
    await t.clock.until(two.host.stop(0));
    two.life.gate.crash();
    await t.begin("one", appV1);
    await t.pass(3_000);
    await t.startNamed("typo", { name: "dekks" });
    await t.startNamed("waits", { name: "desk", version: 2 });
    await t.pass(limits.earlyInputMs + 60_000);
    expect(t.letters()).toEqual(["AGENT_UNKNOWN"]);
    expect(t.server.open().inbox).toBe(1);
    await t.begin("two", appV2);
    await t.pass(10_000);
    expect(await t.placesOf(["waits"])).toEqual(["tool"]);
  });
});

test.each([
  ["makes its keys of decisions", {}, "of turns undefined undefined undefined"],
  [
    "hears what lay behind an error",
    { keys: "decided", told: "decided", follows: "xstate" },
    "decided xstate undefined undefined",
  ],
  [
    "hears what was thrown by its own name",
    { keys: "decided", told: "decided", follows: "xstate", causes: true },
    "decided xstate true undefined",
  ],
])("a saga %s once no living host is left that cannot", async (_, can, before) => {
  const t = openMesh();
  const { ports } = t.spawn("former");
  const said = { partitions: [], draining: true, since: 0, serves: [], deployments: 0, ...can };
  const beat = () => ports.membership.beat("former-1", Buffer.from(JSON.stringify(said)), limits.hostTtlMs);
  await t.clock.until(beat());
  await t.begin("v1", appV1);
  await t.clock.until(beat());
  const begunAs = async (id: string) => {
    await t.start(desk1, id);
    await t.untilAll([id], "asking", 5_000).catch(() => undefined);
    const start = (await t.turnsOf(id))[0]?.steps[0]?.event;
    return start?.type === "start"
      ? `${start.keys ?? "of turns"} ${start.follows} ${start.causes} ${start.errorNames}`
      : "no start";
  };
  expect(await begunAs("early-1")).toBe(before);
  await t.clock.until(ports.membership.leave("former-1"));
  await t.pass(limits.hostBeatMs);
  expect(await begunAs("late-1")).toBe("decided xstate true true");
});
