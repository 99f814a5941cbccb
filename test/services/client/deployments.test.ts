/**
 * Which definitions there are, who serves them and what lives under them; and what is declared of them.
 *
 * Method: a mesh in memory with several hosts, each of an application of its own, and one client. Sagas rest until they
 * are told to go on.
 */
import { setup } from "xstate";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineApp, defineSaga, defineTool, type SignalEvents, toActors } from "sagamesh";
import { limits } from "../../../protocol/limits.ts";
import type { App } from "../../../services/app/app.ts";
import { needsOf } from "../../../services/client/deployments.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";

/** Never done, so that its saga has a tool under way. */
const dig = defineTool({
  ...{ name: "dig", description: "Digs.", effect: "idempotent", placement: "host" },
  ...{
    input: z.object({}),
    output: z.object({}),
    perform: () => new Promise<Record<string, never>>(() => undefined),
  },
});
const signals = { go: z.object({}), dig: z.object({}) };
const door = (version: number, rests = "resting", name = "door") =>
  defineSaga({
    ...{ name, version, input: z.object({}), output: z.any(), signals },
    machine: setup({
      types: { events: {} as SignalEvents<typeof signals> },
      actors: toActors({ dig }),
    }).createMachine({
      id: name,
      initial: rests,
      states: {
        [rests]: { on: { go: "done", dig: "digging" } },
        digging: { invoke: { src: "dig", input: {}, onDone: "done" } },
        done: { type: "final" },
      },
    }) as never,
  });

const one = door(1);
const two = door(2);
/** The same version otherwise. */
const twoToo = door(2, "asleep");
const v1 = defineApp({ sagas: [one] });
const v2 = defineApp({ sagas: [two] });
const gate = defineApp({ sagas: [door(1, "resting", "gate")] });

function meshOf() {
  const mesh = createMemoryMesh({ seed: 5, partitions: 4 });
  const client = createClient({ ...mesh.spawn("person"), from: "ana" }, () => Promise.resolve());
  const { ports } = mesh.spawn("looker");
  const until = <T>(work: Promise<T>) => mesh.clock.until(work);
  return {
    client,
    until,
    now: () => mesh.clock.now(),
    host: async (name: string, app: App) => {
      const { clock, chance, gate: life, ...own } = mesh.spawn(name);
      const common = { log: silentLog, incarnation: name, callbackBase: "sagamesh:" };
      await until(startHost({ ports: own.ports, clock, chance, ...common }, app));
      return life;
    },
    pass: (ms: number) => mesh.clock.run({ until: mesh.clock.now() + ms }),
    start: async (saga: typeof one, ids: readonly string[]) => {
      for (const id of ids) await until(client.start(saga, {}, { id }));
    },
    list: () => until(client.deployments()),
    hostsOf: async () => (await until(ports.membership.hosts())).map(({ host: name }) => name).sort(),
    needs: (which: string) => until(needsOf(ports, which)),
  };
}

test("a definition is listed with its hosts, what new sagas get of it, and how its sagas stand", async () => {
  const { client, until, host, pass, start, list } = meshOf();
  await host("old", v1);
  await pass(3_000);
  await start(one, ["a", "b", "c", "d"]);
  await pass(2_000);
  await until(client.saga(one, "a").signal("go", {}));
  await until(client.saga(one, "b").signal("dig", {}));
  await pass(2_000);
  await host("new", v2);
  await pass(3_000);
  const { version, hash } = two.definition;
  expect(await list()).toEqual([
    {
      ...{ name: "door", version, hash, starts: "all", current: false },
      hosts: [{ host: "new", since: expect.any(Number) as number, draining: false }],
      sagas: { running: 0, sleeping: 0, waiting: 0 },
      moves: "pinned",
    },
    {
      ...{ name: "door", version: 1, hash: one.definition.hash, starts: "none", current: false },
      hosts: [{ host: "old", since: expect.any(Number) as number, draining: false }],
      sagas: { running: 1, sleeping: 2, waiting: 0 },
      moves: "pinned",
    },
  ]);
});

test("sagas of a definition whose last host died wait for one, and so they are counted", async () => {
  const { host, pass, start, list } = meshOf();
  const old = await host("old", v1);
  await pass(3_000);
  await start(one, ["a", "b"]);
  await pass(2_000);
  await host("new", v2);
  old.crash();
  await pass(5_000);
  expect(await list()).toMatchObject([
    { version: 2, starts: "all", sagas: { waiting: 0 } },
    { version: 1, hosts: [], starts: "none", sagas: { running: 0, sleeping: 0, waiting: 2 } },
  ]);
});

test("a saga that waits for a host says so where it is listed and described, and no other does", async () => {
  const { client, until, host, pass, start } = meshOf();
  const old = await host("old", v1);
  await pass(3_000);
  await start(one, ["a", "b"]);
  await until(client.saga(one, "b").cancel("enough"));
  await pass(2_000);
  const rows = async () =>
    (await until(client.list())).map(({ saga, unserved }) => [saga, unserved?.version]);
  expect((await rows()).sort()).toEqual([
    ["a", undefined],
    ["b", undefined],
  ]);
  expect((await until(client.describe("a"))).unserved).toBeUndefined();
  old.crash();
  await host("new", v2);
  await pass(5_000);
  // What has ended waits for nothing.
  expect((await rows()).sort()).toEqual([
    ["a", 1],
    ["b", undefined],
  ]);
  const { name, version, hash } = one.definition;
  expect((await until(client.describe("a"))).unserved).toEqual({ name, version, hash });
  expect((await until(client.describe("a", { turn: 1 }))).unserved).toBeUndefined();
  expect((await until(client.describe("b"))).unserved).toBeUndefined();
});

test("a start begins with the newest that its host serves, whatever the caller has, unless it names a version", async () => {
  const { client, until, host, pass } = meshOf();
  await host("a", defineApp({ sagas: [one, two] }));
  await pass(3_000);
  const versionOf = async (id: string, options?: { version?: number }) => {
    await until(client.start(one, {}, { id, ...options }));
    await pass(2_000);
    return (await until(client.describe(id))).definition.version;
  };
  expect(await versionOf("newest")).toBe(2);
  expect(await versionOf("named", { version: 1 })).toBe(1);
  for (const version of ["1", 1.5, Number.NaN] as never[])
    await expect(client.start(one, {}, { version })).rejects.toMatchObject({ code: "USAGE" });
});

test("a promotion returns when every living host goes by it, whichever hosts are slow to hear of it", async () => {
  const { client, until, host, pass, list } = meshOf();
  for (const [name, app] of Object.entries({ a: v1, b: v2, c: v2 })) await host(name, app);
  await pass(3_000);
  const behind: string[][] = [];
  const report = (hosts: readonly string[]) => void behind.push([...hosts]);
  const document = await until(client.promote("door@1", { report }));
  expect(document).toMatchObject({
    ...{ name: "door", hosts: 3, unserved: [] },
    declared: { current: { version: 1, hash: one.definition.hash }, by: "ana" },
  });
  expect(behind[0]).toEqual(["a", "b", "c"]);
  expect(await list()).toMatchObject([
    { version: 2, starts: "none", current: false },
    { version: 1, starts: "all", current: true },
  ]);
  // Again is free: nothing is written, and nothing is waited for.
  behind.length = 0;
  expect(await until(client.promote(one, { report }))).toEqual(document);
  expect(behind).toEqual([]);
});

test("a promotion waits for a host that vanishes for as long as it may go by what was declared before", async () => {
  const { client, until, host, pass, now } = meshOf();
  await host("a", v1);
  const life = await host("b", v2);
  await pass(3_000);
  life.pause(); // It listens still, so no other host finds it dead.
  await pass(limits.hostTtlMs / 2); // Its entry lives on for as long as that, at most.
  const begunAt = now();
  const behind: string[][] = [];
  const report = (hosts: readonly string[]) => void behind.push([...hosts]);
  expect((await until(client.promote("door@1", { report }))).hosts).toBe(1);
  expect(behind.at(-1)).toEqual(["b"]);
  expect(now() - begunAt).toBeGreaterThanOrEqual(limits.hostTtlMs);
  // A host that had vanished before is not waited for.
  behind.length = 0;
  expect((await until(client.promote("door@2", { report }))).unserved).toHaveLength(1);
  expect(behind.flat()).not.toContain("b");
});

test.each([1_350, 1_500])(
  "a host that was found dead and lives has begun nothing by what was declared before, when it is back after %d ms",
  async (cutMs) => {
    const { client, until, host, pass, now, hostsOf } = meshOf();
    await host("a", v1);
    const life = await host("b", v2);
    await pass(3_000);
    const cutAt = now();
    life.cut(cutMs);
    await pass(limits.hostTtlMs / 2);
    expect(await hostsOf()).toEqual(["a"]);
    const begunAt = now();
    await until(client.promote("door@1"));
    expect(now() - begunAt).toBeLessThan(limits.hostBeatMs);
    await pass(cutAt + cutMs - now());
    for (let n = 0; n < 60; n++) await until(client.start(one, {}, { id: `soon-${n}` }));
    await pass(3_000);
    expect(await hostsOf()).toEqual(["a", "b"]);
    await pass(limits.inboxAckWaitMs); // What it had begun comes again, and is listed by who takes it.
    const begun = await until(client.list());
    expect(begun.filter(({ version }) => version !== 1).map(({ saga }) => saga)).toEqual([]);
    expect(begun).toHaveLength(60);
  },
);

test("a ramp shares with what new sagas began with before, until it ends", async () => {
  const { client, until, host, pass, list } = meshOf();
  await host("old", v1);
  await host("new", v2);
  await pass(3_000);
  const starts = async () => (await list()).map((deployment) => [deployment.version, deployment.starts]);
  expect(await starts()).toEqual([
    [2, "all"],
    [1, "none"],
  ]);
  await until(client.ramp(two, 0.25));
  expect(await starts()).toEqual([
    [2, 0.25],
    [1, 0.75],
  ]);
  await expect(until(client.ramp(one, 0.5))).rejects.toMatchObject({ code: "USAGE" });
  await until(client.ramp(two, 0));
  expect(await starts()).toEqual([
    [2, "none"],
    [1, "all"],
  ]);
  await until(client.ramp(two, 0.5));
  expect((await until(client.promote(two))).declared?.ramp).toBeUndefined();
});

test("what cannot be promoted or ramped is refused by a code, with what there is", async () => {
  const { client, until, host, pass } = meshOf();
  await host("a", defineApp({ sagas: [one, two] }));
  await host("b", defineApp({ sagas: [twoToo] }));
  await host("c", gate);
  await pass(3_000);
  const refusals = [
    [() => client.promote("dor@1"), "AGENT_UNKNOWN", 'did you mean "door"?'],
    [
      () => client.promote("door@3"),
      "DEFINITION_UNKNOWN",
      `of door there are door@1#${one.definition.hash.slice(0, 8)}`,
    ],
    [() => client.promote("door@1#00"), "DEFINITION_UNKNOWN", "no host has ever served door@1#00"],
    [() => client.promote("door@2"), "USAGE", "door@2 is each of"],
    [() => client.promote("door"), "USAGE", '"door" is not a definition'],
    [() => client.ramp("door@1", 1.5), "USAGE", "a share of 1.5"],
    [() => client.ramp("door@1", Number.NaN), "USAGE", "a share of NaN"],
    [() => client.ramp("gate@1", 0.5), "USAGE", "no host serves another definition of gate"],
  ] as const;
  for (const [refused, code, says] of refusals)
    await expect(until(refused())).rejects.toMatchObject({
      code,
      message: expect.stringContaining(says) as string,
    });
  const { hash } = twoToo.definition;
  await until(client.promote(`door@2#${hash.slice(0, 6)}`));
  expect((await until(client.promote(twoToo.definition))).declared?.current.hash).toBe(hash);
});

test("a definition that was promoted may be one that no host serves any more, and that is said", async () => {
  const { client, until, host, pass, list } = meshOf();
  const old = await host("old", v1);
  await pass(3_000);
  old.crash();
  await host("new", v2);
  await pass(5_000);
  const { unserved } = await until(client.promote("door@1"));
  expect(unserved).toMatchObject([{ name: "door", version: 1 }]);
  expect(await list()).toMatchObject([
    { version: 2, starts: "none" },
    { version: 1, starts: "all", current: true, hosts: [] },
  ]);
});

test("a definition is needed by its living sagas, by new ones, and by parents that may start it", async () => {
  const { client, until, host, pass, start, needs } = meshOf();
  const child = door(1, "resting", "child");
  const parent = defineSaga({
    ...{ name: "parent", version: 1, input: z.object({}), output: z.any(), signals },
    machine: setup({
      types: { events: {} as SignalEvents<typeof signals> },
      actors: toActors({ child }),
    }).createMachine({
      id: "parent",
      initial: "resting",
      states: {
        resting: { on: { go: "calling" } },
        calling: { invoke: { src: "child", input: {}, onDone: "done" } },
        done: { type: "final" },
      },
    }) as never,
  });
  await host("old", defineApp({ sagas: [one, parent] }));
  await pass(3_000);
  await start(one, ["a", "b"]);
  await pass(2_000);
  const sagas = ["a", "b"];
  expect(await needs("door@1")).toMatchObject({ needed: true, sagas, starts: "all", parents: [] });
  expect(await needs("child@1")).toMatchObject({
    ...{ needed: true, sagas: [], starts: "all" },
    parents: [{ name: "parent", version: 1 }],
  });
  await host("new", v2);
  await pass(3_000);
  expect(await needs("door@1")).toMatchObject({ needed: true, sagas, starts: "none" });
  await until(client.promote(two));
  await until(client.ramp(one, 0.1));
  expect(await needs("door@1")).toMatchObject({ starts: "share" });
  await until(client.ramp(one, 0));
  await until(client.saga(one, "a").cancel("enough"));
  await until(client.saga(one, "b").cancel("enough"));
  await pass(10_000);
  expect(await needs("door@1")).toMatchObject({ needed: false, sagas: [], starts: "none", parents: [] });
});
