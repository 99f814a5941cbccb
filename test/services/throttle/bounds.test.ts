/**
 * Bounds over a whole mesh, on a real server: how many at once, how many a second, a pause, a provider that
 * asks to wait.
 *
 * Method: two hosts or workers with connections of their own, and one account of what ran when. What is
 * counted is what ran together, never how fast.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { ModelFailure, type ModelPort } from "../../../protocol/model.ts";
import type { ThrottleLimits } from "../../../protocol/throttle.ts";
import { type App, defineApp } from "../../../services/app/app.ts";
import { systemChance, systemClock } from "../../../services/runtime/system.ts";
import { pause, resume } from "../../../services/throttle/pause.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
  until,
} from "../../support/real-mesh.ts";
import { scriptedAgent } from "../../support/scripted-agent.ts";

let server: AccountServer;
beforeAll(async () => {
  server = await startAccountServer(8);
});
afterAll(() => server.stop());

let mesh: RealMesh;
beforeEach(async () => {
  mesh = await openRealMesh(server.nextUrl());
});
afterEach(() => mesh.close());

const agentBase = {
  version: 1,
  description: "Asks.",
  instructions: "Ask.",
  input: z.object({}),
  output: z.object({}),
  signals: {},
  tools: [],
} as const;

/** An agent that asks its model once and ends, and an account of all calls. */
function asking(limits: ThrottleLimits, answer: (call: number) => Promise<void>) {
  const beganAt: number[] = [];
  let running = 0;
  let most = 0;
  const model: ModelPort = {
    name: "fast",
    decide: async () => {
      const call = beganAt.push(performance.now());
      most = Math.max(most, ++running);
      try {
        await answer(call);
      } finally {
        running -= 1;
      }
      return { calls: [{ tool: "finish", input: { output: {} } }], model: "fast" };
    },
  };
  const agent = defineAgent({ ...agentBase, name: "asker", model: "fast" });
  const app = defineApp({ sagas: [agent], models: { fast: model }, modelLimits: { fast: limits } });
  const run = async (count: number) => {
    const handles = await Promise.all(
      Array.from({ length: count }, (_, n) => mesh.client.start(agent, {}, { id: `s${n}` })),
    );
    return Promise.all(handles.map((handle) => handle.result()));
  };
  return { app, agent, run, beganAt, most: () => most };
}

const twoHosts = async (app: App) => {
  await mesh.host(app);
  await mesh.host(app);
};
const operator = () => ({ ports: mesh.ports, clock: systemClock, chance: systemChance, from: "ops" });
const model = { kind: "model", name: "fast" } as const;

test("two hosts together have no more calls of a model under way than its bound", async () => {
  const { app, run, beganAt, most } = asking({ atOnce: 3 }, () => systemClock.sleep(100));
  await twoHosts(app);
  const ends = await run(16);
  expect(ends.every(({ status }) => status === "completed")).toBe(true);
  expect(beganAt).toHaveLength(16);
  expect(most()).toBe(3);
});

test("a model's rate holds over two hosts", async () => {
  const { app, run, beganAt } = asking({ perSecond: 8 }, async () => undefined);
  await twoHosts(app);
  await run(20);
  // 20 starts spaced by 125 ms take 2,375 ms at least; how much more is the machine's.
  expect(Math.max(...beganAt) - Math.min(...beganAt)).toBeGreaterThan(2_200);
});

test("a paused model is asked by no host, the sagas wait, and all end once it is resumed", async () => {
  const { app, agent, run, beganAt } = asking({}, async () => undefined);
  await pause(operator(), model, "the bill");
  const free = defineAgent({ ...agentBase, name: "free", model: "open" });
  let asked = 0;
  const open: ModelPort = {
    name: "open",
    decide: async () => {
      asked += 1;
      return { calls: [{ tool: "finish", input: { output: {} } }], model: "open" };
    },
  };
  await twoHosts(defineApp({ ...app.config, sagas: [agent, free], models: { ...app.config.models, open } }));
  const ended = run(6);
  for (let n = 0; n < 6; n++)
    await until(`s${n} has decided to ask`, async () => (await mesh.head(`s${n}`)) > 0);
  // Sagas that came later, on the same hosts, ask a model that is not paused, and end.
  const later = Array.from({ length: 12 }, (_, n) => mesh.client.start(free, {}, { id: `free${n}` }));
  for (const handle of await Promise.all(later))
    expect(await handle.result()).toMatchObject({ status: "completed" });
  expect(asked).toBe(12);
  expect(beganAt).toHaveLength(0);
  await resume(operator(), model);
  expect((await ended).map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => "completed"));
});

test("a provider that tells one host to wait is asked by no other host meanwhile", async () => {
  let toldAt = 0;
  const { app, run, beganAt } = asking({ atOnce: 1 }, async (call) => {
    if (call > 1) return;
    toldAt = performance.now();
    throw new ModelFailure("wait", "429", { retryAfterMs: 2_000 });
  });
  await twoHosts(app);
  const ends = await run(8);
  expect(ends.every(({ status }) => status === "completed")).toBe(true);
  const after = beganAt.filter((at) => at > toldAt);
  expect(after).toHaveLength(8);
  expect(Math.min(...after) - toldAt).toBeGreaterThan(1_900);
});

test("a tool's rate holds over two workers", async () => {
  const beganAt: number[] = [];
  const tool = defineTool({
    name: "act",
    description: "Acts.",
    effect: "idempotent",
    compensation: "point_of_no_return",
    perSecondMax: 10,
    input: z.record(z.string(), z.json()),
    output: z.object({}),
    perform: async () => {
      beganAt.push(performance.now());
      return {};
    },
  });
  const calls = Array.from({ length: 15 }, (_, n) => ({ tool: "act", input: { n } }));
  const { agent, app } = scriptedAgent([tool], [calls]);
  await mesh.host(app);
  await mesh.worker(app);
  await mesh.worker(app);
  await (await mesh.client.start(agent, {}, { id: "s1" })).result();
  expect(beganAt).toHaveLength(15);
  expect(Math.max(...beganAt) - Math.min(...beganAt)).toBeGreaterThan(1_300);
});

test("a paused tool's work waits in its stream and is performed once it is resumed", async () => {
  const performed = { act: 0, free: 0 };
  const counted = (name: "act" | "free") =>
    defineTool({
      name,
      description: "Acts.",
      effect: "once",
      compensation: "point_of_no_return",
      input: z.record(z.string(), z.json()),
      output: z.object({}),
      perform: async () => {
        performed[name] += 1;
        return {};
      },
    });
  const calls = ["act", "free"].map((tool) => ({ tool, input: {} }));
  const { agent, app } = scriptedAgent([counted("act"), counted("free")], [calls]);
  await mesh.host(app);
  await mesh.worker(app);
  await pause(operator(), { kind: "tool", name: "act" });
  const handle = await mesh.client.start(agent, {}, { id: "s1" });
  await until("both are decided", async () => (await mesh.head("s1")) > 0);
  // The other call of the same turn was published after it, to the same worker.
  await until("the other call is over", async () => {
    const { intents } = await mesh.view("s1");
    return intents.some(({ intent, outcome }) => intent.kind === "tool" && outcome === "succeeded");
  });
  expect((await mesh.unacked()).work).toBe(1);
  expect(performed).toEqual({ act: 0, free: 1 });
  await resume(operator(), { kind: "tool", name: "act" });
  expect((await handle.result()).status).toBe("completed");
  expect(performed).toEqual({ act: 1, free: 1 });
});
