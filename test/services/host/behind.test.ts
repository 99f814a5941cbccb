/**
 * An older copy of the ledger under everything that went on meanwhile: what the world saw once it does not see twice, and
 * nothing stands without a word.
 *
 * Method: the memory mesh in virtual time. Agents of every kind of call, with children, timers and parallel calls, on two
 * hosts and a worker. At a random moment the ledger is set back to a random point before it, under hosts that live or that
 * died, and time goes on. Held to account is the world outside: each `once` key once, each wish under one key, and each saga
 * ends or waits for a person who was asked. What has no ledger left is started again by whoever started it.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import type { ModelRequest } from "../../../protocol/model.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { beyondName, readNote } from "../../../services/ledger/beyond.ts";
import { emptyHead, readTurns } from "../../../services/ledger/reader.ts";
import type { Ack, Ports } from "../../../services/wire/ports.ts";
import type { RestoreMark } from "../../../services/wire/restored.ts";
import { createMemoryMesh, type MemoryProcess } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";
import { readView, type SagaView } from "../../../services/views/view.ts";
import { startWorker } from "../../../services/worker/worker.ts";

const classes = ["read", "idempotent", "probe", "once"] as const;
type Class = (typeof classes)[number];

function openMesh(seed: number, auditEveryMs = 10_000) {
  let mark: RestoreMark | undefined;
  const mesh = createMemoryMesh({ seed, partitions: 2 });
  /** `<tool> <wish> <key>`, as the world saw them: a wish is asked for once by what the sagas are. */
  const account: string[] = [];
  const common = { input: z.object({ of: z.string() }), output: z.object({}), timeoutMs: 3_000 };
  const outside = mesh.spawn("outside");
  const act =
    (name: string) =>
    async ({ of }: { of: string }, { key }: { key: string }) => {
      account.push(`${name} ${of} ${key}`);
      await outside.clock.sleep(mesh.chance.between(1, 400));
      return {};
    };
  const toolOf = (effect: Class, placement: "host" | "worker") => {
    const name = `${effect}-${placement}`;
    const shared = { ...common, name, description: name, placement, perform: act(name) };
    if (effect === "read") return defineTool({ ...shared, effect });
    if (effect === "probe")
      return defineTool({
        ...{ ...shared, effect, compensation: "point_of_no_return" },
        probe: async (key: string) =>
          account.some((line) => line.startsWith(name) && line.endsWith(` ${key}`))
            ? { outcome: "happened" as const, output: {} }
            : { outcome: "did_not_happen" as const },
      });
    return defineTool({
      ...{ ...shared, effect, compensation: "point_of_no_return" },
      ...(effect === "once" ? { onDoubt: "ask" as const } : {}),
    });
  };
  const later = defineTool({
    ...{
      ...common,
      name: "later",
      description: "later",
      effect: "idempotent",
      compensation: "point_of_no_return",
    },
    perform: async (_, { defer }) => defer({ withinMs: 8_000 }),
  });
  const tools = [later, ...classes.flatMap((effect) => [toolOf(effect, "host"), toolOf(effect, "worker")])];
  const parts = { version: 1, model: "script", instructions: "Do it.", signals: { stop: z.object({}) } };
  const io = { input: z.object({ plan: z.string(), of: z.string() }), output: z.object({}) };
  const child = defineAgent({ ...parts, ...io, name: "child", description: "Does.", tools });
  const box = defineSaga({
    ...{ name: "box", version: 1, input: z.object({}), output: z.object({}) },
    signals: { note: z.object({ of: z.string() }) },
    machine: setup({}).createMachine({ id: "box", initial: "open", states: { open: { on: { note: {} } } } }),
  });
  const doer = defineAgent({
    ...{ ...parts, ...io, name: "doer", description: "Does.", tools, agents: [child], sends: [box] },
  });
  const decide = async ({ messages }: ModelRequest) => {
    const said = messages.filter(({ role }) => role === "assistant").length;
    const [first] = messages.flatMap((one) => (one.role === "user" ? one.parts : []));
    const { plan = "", of = "" } = JSON.parse(first?.type === "text" ? first.text : "{}") as {
      plan?: string;
      of?: string;
    };
    const step = plan.split(" ").filter(Boolean)[said];
    if (step === undefined) return { model: "script", calls: [{ tool: "finish", input: { output: {} } }] };
    const calls = step.split("+").map((tool, k): { tool: string; input: Json } => {
      if (tool === "wait") return { tool, input: { signals: ["stop"], forMs: 2_000 } };
      const wish = `${of}.${said}.${k}`;
      if (tool === "tell")
        return { tool: "send", input: { to: "box", agent: "box", signal: "note", data: { of: wish } } };
      return tool === "child"
        ? { tool, input: { plan: "once-worker probe-host+once-host", of: wish } }
        : { tool, input: { of: wish } };
    });
    return { model: "script", calls };
  };
  const appOf = ({ clock }: MemoryProcess) => {
    const think = async (request: ModelRequest) => {
      await clock.sleep(mesh.chance.between(1, 300));
      return decide(request);
    };
    return defineApp({ sagas: [doer, child, box], models: { script: { name: "script", decide: think } } });
  };
  /** Msg-Ids with the time of their first storing, and those of messages that the server had before the ledger was set back. */
  const stored = new Map<string, number>();
  const swallowed: string[] = [];
  let setBackAt = 0;
  const told = async (msgId: string | undefined, storing: Promise<Ack>) => {
    const ack = await storing;
    if (msgId === undefined) return ack;
    if (ack.duplicate && (stored.get(msgId) ?? setBackAt) < setBackAt) swallowed.push(msgId);
    if (!ack.duplicate) stored.set(msgId, mesh.clock.now());
    return ack;
  };
  const watched = ({ ports }: MemoryProcess): Ports => ({
    ...ports,
    work: {
      ...ports.work,
      publish: (ref, message) => told(message.msgId, ports.work.publish(ref, message)),
    },
    inbox: { ...ports.inbox, publish: (message) => told(message.msgId, ports.inbox.publish(message)) },
    restored: () => mark,
  });
  const options = (life: MemoryProcess) => ({
    ...{ ...life, ports: watched(life) },
    ...{
      log: silentLog,
      incarnation: life.gate.name,
      callbackBase: "sagamesh:",
      auditEveryMs,
    },
  });
  const client = createClient({ ...outside, from: "tester" }, async () => undefined);
  const start = (plan: string, id: string) => mesh.clock.until(client.start(doer, { plan, of: id }, { id }));
  return {
    ...{ mesh, account, start, swallowed, ports: outside.ports },
    startBox: () => mesh.clock.until(client.start(box, {}, { id: "box" })),
    turns: async (saga: string) => {
      const { ports } = outside;
      const last = await mesh.clock.until(ports.ledger.last(parseSagaId(saga)));
      const stored = await mesh.clock.until(readTurns(ports, parseSagaId(saga), emptyHead, last?.seq ?? 0));
      return stored.map(({ turn }) => turn);
    },
    view: (saga: string) => mesh.clock.until(readView(outside.ports, parseSagaId(saga))),
    host: async (name: string) => {
      const life = mesh.spawn(name);
      await mesh.clock.until(startHost(options(life), appOf(life)));
      return life;
    },
    worker: async (name: string) => {
      const life = mesh.spawn(name);
      await mesh.clock.until(startWorker(options(life), appOf(life)));
      return life;
    },
    /** Sets the ledger back to a sequence. */
    setBack: (to: number) => {
      setBackAt = mesh.clock.now();
      mesh.server.ledger.setBack(to);
    },
    /** Says that all was put back, as `sagamesh restored --yes` does. */
    sayRestored: () => {
      const at = mesh.clock.now();
      mark = { at, until: at + 3_600_000 };
    },
  };
}

/** Each `once` and `probe` key once, each wish under one key, and each saga ends or waits for a person who was asked. */
async function expectAllAccounted(t: ReturnType<typeof openMesh>) {
  const times = new Map<string, number>();
  for (const line of t.account) times.set(line, (times.get(line) ?? 0) + 1);
  expect([...times].filter(([line, n]) => n > 1 && /^(once|probe)/.test(line))).toEqual([]);
  const keysOf = new Map<string, Set<string>>();
  for (const line of t.account) {
    const [tool, wish, key = ""] = line.split(" ");
    keysOf.set(`${tool} ${wish}`, (keysOf.get(`${tool} ${wish}`) ?? new Set()).add(key));
  }
  expect([...keysOf].filter(([, keys]) => keys.size > 1)).toEqual([]);
  const sagas = (await t.mesh.clock.until(t.ports.ledger.list())).map(({ saga }) => saga);
  const views: SagaView[] = [];
  for (const saga of sagas) views.push(await t.view(saga));
  const running = new Set<string>(views.flatMap(({ saga, status }) => (status === "running" ? [saga] : [])));
  for (const { saga, status, open } of views) {
    const isAwaited = open.some(
      ({ intent }) => intent.kind === "task" || (intent.kind === "saga" && running.has(intent.saga)),
    );
    const left = open.map(({ intent }) => intent.kind);
    expect([saga, status === "completed" || isAwaited, left]).toEqual([saga, true, left]);
  }
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...classes.flatMap((one) => [`${one}-host`, `${one}-worker`])) },
  { weight: 1, arbitrary: fc.constantFrom("wait", "child", "once-host+once-worker", "child+once-worker") },
);
const history = fc.record({
  seed: fc.integer({ min: 1, max: 1_000_000 }),
  plans: fc.array(fc.array(step, { minLength: 2, maxLength: 6 }), { minLength: 1, maxLength: 3 }),
  /** When it is set back, and to which share of what was stored. */
  atMs: fc.integer({ min: 200, max: 6_000 }),
  share: fc.double({ min: 0.2, max: 1, noNaN: true }),
  dies: fc.boolean(),
});

test(
  "whatever point the ledger is set back to, no `once` effect is performed twice, and nothing stands silently",
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ seed, plans, atMs, share, dies }) => {
        const t = openMesh(seed);
        const hosts = [await t.host("host-a"), await t.host("host-b")];
        await t.worker("worker");
        const ids = plans.map((_, k) => `doer-${k}`);
        const startAll = async () => {
          for (const [k, id] of ids.entries()) await t.start(plans[k]!.join(" "), id);
        };
        await startAll();
        await t.mesh.clock.advance(atMs);
        if (dies) for (const { gate } of hosts) gate.crash();
        t.setBack(Math.floor(t.mesh.server.ledger.lastSeq() * share));
        if (dies) await t.host("host-c");
        await t.mesh.clock.advance(5_000);
        await startAll();
        await t.mesh.clock.advance(180_000);
        await expectAllAccounted(t);
      }),
      { numRuns: 6 },
    );
  },
);

test(
  "whatever point the whole store is set back to with nothing alive, no `once` or `probe` effect is performed twice (KA1, KA2)",
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ seed, plans, atMs, share }) => {
        const t = openMesh(seed);
        const lives = [await t.host("host-a"), await t.host("host-b"), await t.worker("worker")];
        const startAll = async () => {
          for (const [k, plan] of plans.entries()) await t.start(plan.join(" "), `doer-${k}`);
        };
        await startAll();
        await t.mesh.clock.advance(atMs);
        for (const { gate } of lives) gate.crash();
        const { ledger, claims, shelves } = t.mesh.server;
        const all = await t.mesh.clock.until(t.ports.ledger.list());
        const to = Math.floor(ledger.lastSeq() * share);
        const messages = await Promise.all(
          all.map(({ saga }) => t.mesh.clock.until(t.ports.ledger.read(saga, 0, to))),
        );
        claims.setBack(Math.max(0, ...messages.flat().map(({ storedAt }) => storedAt)));
        ledger.setBack(to);
        for (const { saga } of all) shelves.dropSnapshots(saga);
        t.sayRestored();
        await t.host("host-c");
        await t.worker("worker-c");
        await t.mesh.clock.advance(5_000);
        await startAll();
        await t.mesh.clock.advance(300_000);
        await expectAllAccounted(t);
      }),
      {
        numRuns: 6,
        examples: [
          // A result of the child's lost turns lies in INBOX, and its start does not.
          [
            {
              seed: 644277,
              plans: [
                ["read-host", "child", "read-host", "read-host"],
                ["read-host", "once-host+once-worker", "read-host", "read-host"],
                ["read-host", "read-host", "read-host", "wait"],
              ],
              ...{ atMs: 1145, share: 0.5652173913043479, dies: false },
            },
          ],
        ],
      },
    );
  },
);

test(
  "whatever point the ledger is set back to, a signal is taken once by the saga it is for, and none for another (KY3)",
  { timeout: 120_000 },
  async () => {
    const step = fc.constantFrom(
      "tell",
      "tell+tell",
      "read-worker+tell",
      "idempotent-worker+idempotent-host+tell",
    );
    const telling = fc.record({
      seed: fc.integer({ min: 1, max: 1_000_000 }),
      plan: fc.array(step, { minLength: 3, maxLength: 6 }),
      atMs: fc.integer({ min: 200, max: 1_200 }), // It is over by then, or not.
      share: fc.double({ min: 0.3, max: 0.9, noNaN: true }),
    });
    await fc.assert(
      fc.asyncProperty(telling, async ({ seed, plan, atMs, share }) => {
        const t = openMesh(seed);
        await t.host("host-a");
        await t.host("host-b");
        await t.worker("worker");
        await t.startBox();
        await t.start(plan.join(" "), "doer-1");
        await t.mesh.clock.advance(atMs);
        t.setBack(Math.floor(t.mesh.server.ledger.lastSeq() * share));
        const since = t.mesh.clock.now();
        await t.mesh.clock.advance(5_000);
        await t.startBox();
        await t.start(plan.join(" "), "doer-1");
        await t.mesh.clock.advance(180_000);
        const said = (await t.turns("doer-1")).flatMap(({ at, steps }) =>
          steps.flatMap(({ intents }) =>
            intents.flatMap((intent) => (intent.kind === "signal" && at >= since ? [intent.key] : [])),
          ),
        );
        const taken = (await t.turns("box")).flatMap(({ steps }) =>
          steps.flatMap(({ event }) => (event.type === "signal" ? [event] : [])),
        );
        const wishes = taken.map(({ data }) => (data as { of: string }).of);
        expect(new Set(wishes).size).toBe(wishes.length);
        expect(taken.map(({ id }) => id)).toEqual(expect.arrayContaining(said));
      }),
      { numRuns: 10 },
    );
  },
);

test("what is decided anew under an id that the server has had is another message, and stands for no audit", async () => {
  const four = "read-worker+idempotent-worker+read-worker+idempotent-worker"; // So turns differ, and ids come again.
  for (const [seed, step] of [
    [17, four],
    [18, four],
    [11, "idempotent-worker+child"],
    [22, "idempotent-worker+child"],
  ] as const) {
    const t = openMesh(seed, 3_600_000);
    await t.host("host");
    await t.worker("worker");
    await t.start(Array(8).fill(step).join(" "), "doer-1");
    await t.mesh.clock.advance(1_500);
    const point = t.mesh.server.ledger.lastSeq();
    await t.mesh.clock.advance(1_000);
    t.setBack(point);
    await t.mesh.clock.advance(60_000); // The server knows a Msg-Id for two minutes.
    expect([step, t.swallowed]).toEqual([step, []]);
    if (step === four) expect((await t.view("doer-1")).status).toBe("completed");
  }
});

test("a call that waits for an answer from outside has its limit again, whoever had seen it over (BH3)", async () => {
  const t = openMesh(11, 3_600_000); // No audit finds it.
  await t.host("host");
  await t.worker("worker");
  await t.start("later wait wait wait wait", "doer-1");
  await t.mesh.clock.advance(2_000);
  const point = t.mesh.server.ledger.lastSeq();
  await t.mesh.clock.advance(8_500);
  t.mesh.server.ledger.setBack(point);
  expect((await t.view("doer-1")).open.map(({ intent }) => intent.kind)).toEqual(["tool"]);
  await t.mesh.clock.advance(90_000); // A timer of the lost turns meets the host that knows of them.
  const note = readNote(await t.mesh.clock.until(t.ports.snapshots.get(parseSagaId("doer-1"), beyondName)));
  expect(note).toMatchObject({ by: "host host#1" });
  expect((await t.view("doer-1")).status).toBe("completed");
});

test("a host that had seen more says so, drops the saga, and what it knew to have begun is in doubt (BH1)", async () => {
  const t = openMesh(7);
  await t.host("host");
  await t.worker("worker");
  await t.start("idempotent-host once-worker wait wait", "doer-1");
  await t.mesh.clock.advance(200);
  const point = t.mesh.server.ledger.lastSeq();
  await t.mesh.clock.advance(2_500);
  expect(t.account.filter((line) => line.startsWith("once"))).toHaveLength(1);
  t.mesh.server.ledger.setBack(point);
  await t.mesh.clock.advance(60_000);
  const note = readNote(await t.mesh.clock.until(t.ports.snapshots.get(parseSagaId("doer-1"), beyondName)));
  expect(note).toMatchObject({
    by: "host host#1",
    calls: [{ tool: "idempotent-host" }, { tool: "once-worker" }],
  });
  expect(note!.turn).toBeGreaterThan(note!.endsWith);
  expect(t.account.filter((line) => line.startsWith("once"))).toHaveLength(1);
  expect((await t.view("doer-1")).open.map(({ intent }) => intent.kind)).toEqual(["task"]);
});
