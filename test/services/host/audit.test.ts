/**
 * What was acked and lost is found and handed on again, whatever it was: the property, on the memory mesh in virtual time.
 *
 * Method: an agent for each kind of open intent. One message of that kind is acked and not stored, as a queue forgets that
 * is deleted, or loses its tail; then nothing comes but the audit's rounds. Held to account is the world outside: each
 * effect once, what may have begun of a `once` never again, and the saga ends. Beside it: what is in a queue is left there.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import type { ModelRequest } from "../../../protocol/model.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh, type MemoryProcess } from "../../../services/memory/mesh.ts";
import { silentObserver } from "../../../services/host/host-deps.ts";
import { silentLog } from "../../../services/process/log.ts";
import { readView } from "../../../services/views/view.ts";
import { publishNudge } from "../../../services/wire/nudge.ts";
import type { Ports } from "../../../services/wire/ports.ts";
import { startWorker } from "../../../services/worker/worker.ts";

/** Short, for the sake of virtual heartbeats. */
const everyMs = 10_000;
const classes = ["read", "idempotent", "probe", "once"] as const;
type Class = (typeof classes)[number];

/** Messages by what they are: a call of a tool, an armed timer, or an input by its subject's kind and, of a result, whose. */
type Message = "call" | "timer" | "start" | "result" | "signal";
/** Acked and not stored: the first of its kind that is for a saga of this name, counted from 1. */
interface Loss {
  readonly what: Message;
  readonly saga: RegExp;
  readonly nth?: number;
}

function openMesh(loss: Loss | undefined) {
  const mesh = createMemoryMesh({ seed: 3, partitions: 2 });
  /** `<tool> <key>`, as the world saw them. */
  const account: string[] = [];
  const found: string[] = [];
  let left = loss?.nth ?? 1;
  let lost = 0;
  let isForAll = false;
  let thinkMs = 0;
  const reads: string[] = [];
  const isLost = (what: Message, saga: string): boolean => {
    if (loss?.what !== what || !loss.saga.test(saga)) return false;
    left -= 1;
    if (left !== 0 && !isForAll) return false;
    lost += 1;
    return true;
  };
  const forgetful = (ports: Ports): Ports => ({
    ...ports,
    ledger: {
      ...ports.ledger,
      last: async (saga) => {
        reads.push(saga);
        return ports.ledger.last(saga);
      },
    },
    work: {
      ...ports.work,
      publish: async (ref, message) =>
        isLost("call", message.headers["Saga-Id"] ?? "")
          ? { seq: 1, duplicate: false }
          : ports.work.publish(ref, message),
    },
    inbox: {
      ...ports.inbox,
      publish: async (message) => {
        const [, saga = "", kind] = message.subject.split(".");
        return isLost(kind as Message, saga) ? { seq: 1, duplicate: false } : ports.inbox.publish(message);
      },
      schedule: async (timer) => {
        if (!isLost("timer", timer.saga)) await ports.inbox.schedule(timer);
      },
    },
  });

  const common = { input: z.object({ n: z.number() }), output: z.object({}), timeoutMs: 5_000 };
  const act =
    (name: string) =>
    async (_: unknown, { key }: { key: string }) => {
      account.push(`${name} ${key}`);
      return {};
    };
  const toolOf = (effect: Class) =>
    effect === "read"
      ? defineTool({ ...common, name: effect, description: "r", effect, perform: act(effect) })
      : effect === "probe"
        ? defineTool({
            ...common,
            ...{ name: effect, description: "p", effect, compensation: "point_of_no_return" },
            perform: act(effect),
            probe: async (key: string) =>
              account.includes(`probe ${key}`)
                ? { outcome: "happened" as const, output: {} }
                : { outcome: "did_not_happen" as const },
          })
        : defineTool({
            ...common,
            ...{ name: effect, description: "e", effect, compensation: "point_of_no_return" },
            ...(effect === "once" ? { onDoubt: "model" as const } : {}),
            perform: act(effect),
          });
  const unkeep = defineTool({
    ...common,
    ...{ name: "unkeep", description: "undoes", effect: "idempotent" },
    compensation: "point_of_no_return",
    perform: act("unkeep"),
  });
  const keep = defineTool({
    ...common,
    ...{ name: "keep", description: "keeps", effect: "idempotent" },
    compensation: { tool: unkeep, input: ({ input }) => input },
    perform: act("keep"),
  });
  const here = defineTool({
    ...common,
    ...{ name: "here", description: "in the host", effect: "idempotent", placement: "host" },
    compensation: "point_of_no_return",
    perform: act("here"),
  });
  const tools = [toolOf("read"), toolOf("idempotent"), toolOf("probe"), toolOf("once"), keep, here];
  const parts = { version: 1, model: "script", instructions: "Do it.", signals: {} };
  const child = defineAgent({
    ...parts,
    ...{ name: "child", description: "Keeps.", input: z.object({ n: z.number() }), output: z.object({}) },
    tools: [keep],
  });
  const doer = defineAgent({
    ...parts,
    ...{ name: "doer", description: "Does.", input: z.object({ plan: z.string() }), output: z.object({}) },
    signals: { stop: z.object({}) },
    ...{ tools, agents: [child] },
  });
  const decide = async ({ messages }: ModelRequest) => {
    const said = messages.filter(({ role }) => role === "assistant").length;
    const [first] = messages.flatMap((one) => (one.role === "user" ? one.parts : []));
    const { plan = "keep" } = JSON.parse(first?.type === "text" ? first.text : "{}") as { plan?: string };
    const call = (tool: string, input: Json) => ({ model: "script", calls: [{ tool, input }] });
    const [step] = plan.split(" ").slice(said);
    if (step === undefined) return call("finish", { output: {} });
    if (step === "wait") return call("wait", { signals: ["stop"], forMs: 30_000 });
    if (step === "ask") return call("ask", { question: "go on?" });
    if (step === "undo") return call("undo", { calls: ["1.0"] });
    return call(step, { n: 1 });
  };
  const appOf = ({ clock }: MemoryProcess) => {
    const script = {
      name: "script",
      decide: async (request: ModelRequest) => {
        if (thinkMs > 0) await clock.sleep(thinkMs);
        return decide(request);
      },
    };
    return defineApp({ sagas: [doer, child], models: { script } });
  };

  const options = (life: MemoryProcess) => ({
    ...life,
    ...{ log: silentLog, incarnation: life.gate.name, callbackBase: "sagamesh:" },
  });
  const outside = mesh.spawn("outside");
  const client = createClient({ ...outside, from: "tester" }, async () => undefined);
  return {
    ...{ mesh, account, found, client, doer, reads, ports: outside.ports },
    lost: () => lost,
    /** Every such message is lost, not only the first. */
    forgetAll: () => (isForAll = true),
    /** How long the model takes from now on. */
    thinkMs: (ms: number) => (thinkMs = ms),
    view: (saga: string) => mesh.clock.until(readView(outside.ports, parseSagaId(saga))),
    host: async (name: string) => {
      const life = mesh.spawn(name);
      const observe = { ...silentObserver, orphaned: (kind: string) => void found.push(kind) };
      const given = { ...options(life), ports: forgetful(life.ports), auditEveryMs: everyMs, observe };
      return { life, host: await mesh.clock.until(startHost(given, appOf(life))) };
    },
    worker: async (name: string) => {
      const life = mesh.spawn(name);
      return mesh.clock.until(startWorker({ ...options(life), ports: forgetful(life.ports) }, appOf(life)));
    },
  };
}

/** How often each effect was performed, by its tool; every key of a tool is one effect here. */
const timesOf = (account: readonly string[]) => {
  const times: Record<string, { calls: number; keys: number }> = {};
  for (const tool of new Set(account.map((line) => line.split(" ")[0] ?? ""))) {
    const lines = account.filter((line) => line.startsWith(`${tool} `));
    times[tool] = { calls: lines.length, keys: new Set(lines).size };
  }
  return times;
};

/** Enough for a timer that is armed again, and for a claim that nobody ends. */
const rounds = 6;
interface Case {
  readonly kind: string;
  readonly plan: string;
  readonly loss: Loss;
  /** What the world saw. */
  readonly seen: Record<string, { calls: number; keys: number }>;
}
const parent = /^doer/;
const ofChild = /^child/;
const once = { calls: 1, keys: 1 };
const cases: readonly Case[] = [
  ...classes.map((name) => ({
    ...{ kind: `a call of ${name} that was never delivered`, plan: name },
    loss: { what: "call", saga: parent } as const,
    seen: { [name]: once },
  })),
  ...(["read", "idempotent"] as const).map((name) => ({
    ...{ kind: `the result of a call of ${name}`, plan: name },
    loss: { what: "result", saga: parent } as const,
    seen: { [name]: { calls: 2, keys: 1 } },
  })),
  ...(["probe", "once"] as const).map((name) => ({
    ...{ kind: `the result of a call of ${name}`, plan: name },
    loss: { what: "result", saga: parent } as const,
    seen: { [name]: once },
  })),
  {
    ...{ kind: "an armed timer", plan: "wait idempotent", loss: { what: "timer", saga: parent } },
    seen: { idempotent: once },
  },
  { kind: "a child's start", plan: "child", loss: { what: "start", saga: ofChild }, seen: { keep: once } },
  {
    ...{ kind: "a child's call", plan: "child", loss: { what: "call", saga: ofChild } },
    seen: { keep: once },
  },
  {
    ...{ kind: "a child's end", plan: "child", loss: { what: "result", saga: parent } },
    seen: { keep: once },
  },
  {
    ...{ kind: "a call that undoes", plan: "keep undo", loss: { what: "call", saga: parent, nth: 2 } },
    seen: { keep: once, unkeep: once },
  },
  {
    ...{ kind: "an order to a child to undo", plan: "child undo", loss: { what: "signal", saga: ofChild } },
    seen: { keep: once, unkeep: once },
  },
  {
    ...{ kind: "the end of a child that undid", plan: "child undo" },
    loss: { what: "result", saga: parent, nth: 2 },
    seen: { keep: once, unkeep: once },
  },
];

describe("what is open and in no queue", () => {
  describe.each(["lives", "is another since"])("while its host %s", (host) => {
    test.each(cases)("is handed on again: $kind", async ({ plan, loss, seen }) => {
      const t = openMesh(loss);
      const first = await t.host("host");
      await t.worker("worker");
      await t.mesh.clock.until(t.client.start(t.doer, { plan }, { id: "doer-1" }));
      await t.mesh.clock.advance(3_000);
      expect(t.lost()).toBe(1);
      if (host !== "lives") {
        first.life.gate.crash();
        await t.host("next");
      }
      await t.mesh.clock.advance(rounds * everyMs);
      expect((await t.view("doer-1")).status).toBe("completed");
      expect(timesOf(t.account)).toEqual(seen);
      expect(t.found.length).toBeGreaterThan(0);
    });
  });

  test("is handed on again whatever the kind, when a whole stream was deleted while the hosts were down", async () => {
    for (const what of ["inbox", "work", "timers"] as const) {
      const t = openMesh(undefined);
      const { life } = await t.host("host");
      const plans = [...classes, "here", "keep", "wait", "child", "keep undo"];
      for (const plan of plans)
        await t.mesh.clock.until(
          t.client.start(t.doer, { plan }, { id: `doer-${what}-${plan.replace(" ", "-")}` }),
        );
      await t.mesh.clock.advance(2_000);
      life.gate.crash(); // In the middle of what waits for a worker, a time and a child.
      t.mesh.server.lose(what);
      await t.host("next");
      await t.worker("worker");
      await t.mesh.clock.advance(rounds * everyMs);
      for (const plan of plans)
        expect((await t.view(`doer-${what}-${plan.replace(" ", "-")}`)).status).toBe("completed");
      const times = timesOf(t.account);
      for (const [tool, { calls, keys }] of Object.entries(times))
        expect([tool, calls]).toEqual([tool, keys]);
      expect(times["keep"]?.keys).toBe(3);
      expect(t.found.length).toBeGreaterThan(0);
    }
  });

  test("is a model's reply, where the host and its inputs are gone in the middle of the call", async () => {
    const t = openMesh(undefined);
    const { life } = await t.host("host");
    t.thinkMs(60_000);
    await t.mesh.clock.until(t.client.start(t.doer, { plan: "here" }, { id: "doer-1" }));
    await t.mesh.clock.advance(1_000);
    life.gate.crash();
    t.mesh.server.lose("inbox");
    t.thinkMs(0);
    await t.host("next");
    await t.mesh.clock.advance(rounds * everyMs);
    expect((await t.view("doer-1")).status).toBe("completed");
    expect(t.found).toContain("model");
  });

  test("is a task's deadline, which is armed again, and the task stays open to people", async () => {
    const t = openMesh(undefined);
    await t.host("host");
    const saga = await t.mesh.clock.until(t.client.start(t.doer, { plan: "ask" }, { id: "doer-1" }));
    await t.mesh.clock.advance(1_000);
    const armed = t.mesh.server.inbox.stock().timers;
    expect(armed.size).toBe(1);
    t.mesh.server.lose("timers");
    await t.mesh.clock.advance(3 * everyMs);
    expect(t.mesh.server.inbox.stock().timers).toEqual(armed);
    expect(t.found).toEqual(["task"]);
    expect((await t.view(saga.id)).open).toHaveLength(1);
  });
});

describe("what is in a queue", () => {
  test("is left there, however long it waits, and its ledger does not grow", async () => {
    const t = openMesh(undefined);
    await t.host("host");
    await t.host("other");
    for (const plan of ["once", "idempotent", "wait", "ask"])
      await t.mesh.clock.until(t.client.start(t.doer, { plan }, { id: `doer-${plan}` }));
    await t.mesh.clock.advance(2_000);
    const before = t.mesh.server.ledger.list();
    const open = t.mesh.server.open();
    await t.mesh.clock.advance(2 * everyMs); // Less than the wait.
    expect(t.found).toEqual([]);
    expect(t.mesh.server.ledger.list()).toEqual(before);
    expect(t.mesh.server.open()).toEqual(open);
    expect(open).toMatchObject({ work: 2, timers: 2 });
  });

  test("and is handed on again all the same, is performed by its class: once is once, and a key stays", async () => {
    const t = openMesh(undefined);
    await t.host("host");
    for (const plan of classes)
      await t.mesh.clock.until(t.client.start(t.doer, { plan }, { id: `doer-${plan}` }));
    await t.mesh.clock.advance(2_000);
    for (const plan of classes) {
      const { open } = await t.view(`doer-${plan}`);
      const calls = open.map(({ intent }) => intent.id);
      for (let times = 0; times < 3; times++)
        await t.mesh.clock.until(publishNudge(t.ports, parseSagaId(`doer-${plan}`), calls));
    }
    await t.mesh.clock.advance(2_000);
    expect(t.mesh.server.open().work).toBeGreaterThan(classes.length);
    await t.worker("worker");
    await t.worker("another");
    await t.mesh.clock.advance(30_000);
    const times = timesOf(t.account);
    for (const plan of classes) {
      expect((await t.view(`doer-${plan}`)).status).toBe("completed");
      expect(times[plan]?.keys).toBe(1);
    }
    expect([times["once"]?.calls, times["probe"]?.calls]).toEqual([1, 1]);
  });
});

describe("the audit", () => {
  test("of several hosts finds each orphan once, and asks the server no more for more sagas that rest", async () => {
    const asked = async (sagas: number) => {
      const t = openMesh(undefined);
      await t.host("host");
      await t.host("other");
      for (let n = 0; n < sagas; n++)
        await t.mesh.clock.until(t.client.start(t.doer, { plan: "here" }, { id: `doer-${n}` }));
      await t.mesh.clock.until(t.client.start(t.doer, { plan: "ask" }, { id: "doer-lost" }));
      await t.mesh.clock.advance(3 * everyMs);
      t.mesh.server.lose("timers");
      t.reads.length = 0;
      await t.mesh.clock.advance(2 * everyMs);
      expect(t.found).toEqual(["task"]);
      return [...new Set(t.reads)];
    };
    for (const sagas of [2, 40]) expect(await asked(sagas)).toEqual(["doer-lost"]); // OE4
  });

  test("hands on what it finds again and again ever more seldom", async () => {
    const t = openMesh({ what: "call", saga: parent, nth: 1 });
    t.forgetAll();
    await t.host("host");
    await t.mesh.clock.until(t.client.start(t.doer, { plan: "read" }, { id: "doer-1" }));
    await t.mesh.clock.advance(32 * everyMs);
    expect(t.found.length).toBeGreaterThan(2);
    expect(t.found.length).toBeLessThan(7);
  });
});
