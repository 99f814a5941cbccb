/**
 * Effects on a real server: what each class does when all goes well, when a body throws, hangs or defers, and
 * when people are asked; and what becomes of values that are too large for a message.
 *
 * Method: an agent that makes the calls it is told to, bodies that note each time they run; hosts and workers
 * in this process, one empty account of the server for each test.
 */
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import {
  defineTool,
  NotPerformed,
  type PerformContext,
  type ToolConfig,
  type Tool,
} from "../../../actors/contract/tool.ts";
import { contractDigest } from "../../../actors/contract/contract-digest.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Effect } from "../../../protocol/tool.ts";
import { defineApp } from "../../../services/app/app.ts";
import { scriptedModel } from "../../../services/models/scripted.ts";
import type { Delivery } from "../../../services/wire/ports.ts";
import { systemClock } from "../../../services/runtime/system.ts";
import { bytes } from "../../contract/mesh-under-test.ts";
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
  server = await startAccountServer();
});
afterAll(() => server.stop());

let mesh: RealMesh;
beforeEach(async () => {
  mesh = await openRealMesh(server.nextUrl());
});
afterEach(() => mesh.close());

interface Begun {
  readonly key: string;
  readonly attempt: number;
  readonly at: number;
  readonly context: PerformContext;
}

const anything = z.record(z.string(), z.json());

const refOf = (tool: Tool) => ({ name: tool.name, contract: contractDigest(tool) });

/** A tool that notes each time its body runs. */
function noting<E extends Effect>(
  effect: E,
  body: (context: PerformContext, times: number) => Promise<unknown>,
  config: Partial<ToolConfig<typeof anything, typeof anything, E, never>> = {},
) {
  const begun: Begun[] = [];
  const tool = defineTool({
    name: "act",
    description: "Acts.",
    effect,
    timeoutMs: 1_000,
    onDoubt: "model",
    compensation: "point_of_no_return",
    input: anything,
    output: anything,
    perform: async (_, context) => {
      begun.push({ key: context.key, attempt: context.attempt, at: performance.now(), context });
      return (await body(context, begun.length)) as Record<string, never>;
    },
    ...(config as object),
  });
  return { tool, begun };
}

const never = (context: PerformContext) =>
  new Promise<never>((_, reject) =>
    context.abort.addEventListener("abort", () => reject(context.abort.reason as Error)),
  );

const oneCall = [[{ tool: "act", input: {} }]];

/** Runs one call to the saga's end and returns what the model was told of it. */
async function outcomeOf({ tool }: { tool: Parameters<typeof scriptedAgent>[0][number] }, calls = oneCall) {
  const { agent, app } = scriptedAgent([tool], calls);
  await mesh.host(app);
  if (tool.placement === "worker") await mesh.worker(app);
  const end = await (await mesh.client.start(agent, {}, { id: "s1" })).result();
  if (end.status !== "completed") throw new Error(end.reason);
  return end.output.outcomes;
}

describe.each(["worker", "host"] as const)("a body performed by the %s", (placement) => {
  test("that throws is tried again with the same key, if it may be asked twice", async () => {
    const { tool, begun } = noting(
      "idempotent",
      async (_, times) => {
        if (times < 3) throw new Error("not now");
        return { times };
      },
      { placement, retry: { attemptsMax: 3, backoffMs: 30 } },
    );
    expect(await outcomeOf({ tool })).toMatchObject([{ outcome: "succeeded", output: { times: 3 } }]);
    expect(begun.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(new Set(begun.map(({ key }) => key)).size).toBe(1);
  });

  test("that always throws fails once its attempts are used up, with its own words", async () => {
    const { tool, begun } = noting("read", () => Promise.reject(new Error("no such shelf")), {
      placement,
      retry: { attemptsMax: 2, backoffMs: 30 },
    });
    expect(await outcomeOf({ tool })).toMatchObject([
      { outcome: "failed", code: "TOOL_FAILED", reason: "no such shelf" },
    ]);
    expect(begun).toHaveLength(2);
  });

  test("of a once that throws is in doubt, and never runs again", async () => {
    const { tool, begun } = noting("once", () => Promise.reject(new Error("the line went dead")), {
      placement,
    });
    expect(await outcomeOf({ tool })).toMatchObject([{ outcome: "in_doubt", reason: "the line went dead" }]);
    expect(begun).toHaveLength(1);
    const [intended] = (await mesh.view("s1")).intents.filter(({ intent }) => intent.kind === "tool");
    expect(intended).toMatchObject({ outcome: "in_doubt", attempt: 1 });
  });

  test("of a once that says that nothing happened is tried again with the same key", async () => {
    const { tool, begun } = noting(
      "once",
      async (_, times) => {
        if (times < 3) throw new NotPerformed("the shop is closed");
        return {};
      },
      { placement, retry: { attemptsMax: 5, backoffMs: 30 } },
    );
    expect(await outcomeOf({ tool })).toMatchObject([{ outcome: "succeeded" }]);
    expect(begun.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(new Set(begun.map(({ key }) => key)).size).toBe(1);
  });

  test("that says that nothing happened and never will fails at once", async () => {
    const { tool, begun } = noting(
      "once",
      () => Promise.reject(new NotPerformed("the shop burnt down", { retry: false })),
      { placement },
    );
    expect(await outcomeOf({ tool })).toMatchObject([
      { outcome: "failed", code: "NOT_PERFORMED", reason: "the shop burnt down" },
    ]);
    expect(begun).toHaveLength(1);
  });

  test("that hangs has its signal aborted at the timeout, and is tried again", async () => {
    const { tool, begun } = noting("read", never, {
      placement,
      timeoutMs: 150,
      retry: { attemptsMax: 2, backoffMs: 30 },
    });
    expect(await outcomeOf({ tool })).toMatchObject([{ outcome: "failed", code: "TOOL_TIMEOUT" }]);
    expect(begun).toHaveLength(2);
    expect(begun.every(({ context }) => context.abort.aborted)).toBe(true);
  });

  test("of a once that hangs is in doubt at the timeout, even if it heeds no signal", async () => {
    const { tool, begun } = noting("once", () => new Promise(() => undefined), { placement, timeoutMs: 150 });
    expect(await outcomeOf({ tool })).toMatchObject([{ outcome: "in_doubt" }]);
    expect(begun).toHaveLength(1);
    expect(begun[0]?.context.abort.aborted).toBe(true);
  });

  test("whose output does not fit its schema is no success", async () => {
    const { tool } = noting("read", async () => "words", { placement });
    expect(await outcomeOf({ tool })).toMatchObject([{ outcome: "failed", code: "BAD_RESULT" }]);
  });

  test("of a once whose output does not fit its schema is in doubt", async () => {
    const { tool } = noting("once", async () => "words", { placement });
    expect(await outcomeOf({ tool })).toMatchObject([{ outcome: "in_doubt" }]);
  });
});

describe("a doubt", () => {
  const doubtful = () =>
    noting("once", () => Promise.reject(new Error("the line went dead")), { onDoubt: "ask" });
  const askedOf = async ({ tool }: ReturnType<typeof doubtful>) => {
    const { agent, app } = scriptedAgent([tool], oneCall);
    await mesh.host(app);
    await mesh.worker(app);
    const saga = await mesh.client.start(agent, {}, { id: "s1" });
    await until("a human is asked", async () => (await mesh.client.tasks()).length === 1);
    const [task] = await mesh.client.tasks();
    if (task === undefined) throw new Error("there is a task");
    expect(task).toMatchObject({ saga: "s1", about: "doubt" });
    return { saga, task };
  };

  test("that a human settles as happened is a success, with the output that the human knows", async () => {
    const act = doubtful();
    const { saga, task } = await askedOf(act);
    await mesh.client.vote(task, { vote: "answer", answer: { outcome: "happened", output: { id: "7" } } });
    expect(await saga.result()).toMatchObject({
      output: { outcomes: [{ outcome: "succeeded", output: { id: "7" } }] },
    });
    expect(act.begun).toHaveLength(1);
  });

  test("that a human settles as not happened is a failure, and is not tried again by itself", async () => {
    const act = doubtful();
    const { saga, task } = await askedOf(act);
    await mesh.client.vote(task, { vote: "answer", answer: { outcome: "did_not_happen" } });
    expect(await saga.result()).toMatchObject({ output: { outcomes: [{ outcome: "failed" }] } });
    expect(act.begun).toHaveLength(1);
  });

  test("is settled by the effect's own late result, and the task is closed", async () => {
    const act = doubtful();
    const { saga, task } = await askedOf(act);
    mesh.nc.publish(`saga.s1.result.${task.of}`, '{"outcome":"succeeded","output":{"id":"late"}}');
    expect(await saga.result()).toMatchObject({
      output: { outcomes: [{ outcome: "succeeded", output: { id: "late" } }] },
    });
    expect(await mesh.client.tasks()).toEqual([]);
  });
});

describe("a deferred call", () => {
  const deferring = (withinMs: number) =>
    noting("once", (context) => context.defer({ withinMs }), { timeoutMs: 300 });

  test("is answered from outside, while nothing runs, however long after its timeout", async () => {
    const act = deferring(60_000);
    const { agent, app } = scriptedAgent([act.tool], oneCall);
    const host = await mesh.host(app);
    const worker = await mesh.worker(app);
    const saga = await mesh.client.start(agent, {}, { id: "s1" });
    await until("it is deferred", async () =>
      (await mesh.ports.ledger.last(parseSagaId("s1"))) === undefined
        ? false
        : (await mesh.view("s1")).open.some(({ deferred }) => deferred),
    );
    await until("nothing runs", () => worker.running() === 0 && host.resident() === 0);
    expect(await mesh.unacked()).toEqual({ inbox: 0, work: 0 });
    await mesh.client.settle(act.begun[0]?.context.callbackUrl ?? "", { succeeded: { id: "42" } });
    expect(await saga.result()).toMatchObject({
      output: { outcomes: [{ outcome: "succeeded", output: { id: "42" } }] },
    });
    expect(act.begun).toHaveLength(1);
  });

  test("that fails outside has failed", async () => {
    const act = deferring(60_000);
    const { agent, app } = scriptedAgent([act.tool], oneCall);
    await mesh.host(app);
    await mesh.worker(app);
    const saga = await mesh.client.start(agent, {}, { id: "s1" });
    await until("it is deferred", () => act.begun.length === 1);
    await mesh.client.settle(act.begun[0]?.context.callbackUrl ?? "", { failed: "nobody was at home" });
    expect(await saga.result()).toMatchObject({
      output: { outcomes: [{ outcome: "failed", reason: "nobody was at home" }] },
    });
  });

  test("that nobody answers in time has failed, and what the outside says later is on the ledger all the same", async () => {
    const act = deferring(600);
    expect(await outcomeOf(act)).toMatchObject([{ outcome: "failed", code: "DEFERRED_TOO_LATE" }]);
    await mesh.client.settle(act.begun[0]?.context.callbackUrl ?? "", { succeeded: { id: "late" } });
    const lastEvent = async () => (await mesh.turns("s1")).at(-1)?.steps[0]?.event;
    await until("the late answer is recorded", async () => (await lastEvent())?.type === "result");
    expect(await lastEvent()).toMatchObject({ result: { outcome: "succeeded", output: { id: "late" } } });
    expect(act.begun).toHaveLength(1);
    expect(await mesh.letters()).toEqual([]);
  });
});

describe("an approval", () => {
  const guarded = (quorum?: number) =>
    noting("once", async () => ({ paid: true }), {
      approval: () => ({
        by: ["ann", "bob"],
        withinMs: 60_000,
        otherwise: "deny",
        ...(quorum === undefined ? {} : { quorum }),
      }),
    });
  const asked = async (act: ReturnType<typeof guarded>) => {
    const { agent, app } = scriptedAgent([act.tool], [[{ tool: "act", input: { amount: 250 } }]]);
    await mesh.host(app);
    await mesh.worker(app);
    const saga = await mesh.client.start(agent, {}, { id: "s1" });
    await until("somebody is asked", async () => (await mesh.client.tasks()).length === 1);
    const [task] = await mesh.client.tasks();
    if (task === undefined) throw new Error("there is a task");
    expect(task).toMatchObject({ about: "approval", to: ["ann", "bob"], input: { amount: 250 } });
    return { saga, task };
  };

  test("that is given lets the call be performed, once", async () => {
    const act = guarded();
    const { saga, task } = await asked(act);
    expect(act.begun).toEqual([]);
    await mesh.client.vote(task, { vote: "approve", by: "ann" });
    const late = mesh.client.vote(task, { vote: "approve", by: "bob" });
    // Stored before the first one was taken, or told that it is over.
    await late.catch((error: unknown) => expect(error).toMatchObject({ code: "TASK_OVER" }));
    expect(await saga.result()).toMatchObject({ output: { outcomes: [{ outcome: "succeeded" }] } });
    expect(act.begun).toHaveLength(1);
  });

  test("that is denied keeps the call from being performed, and the model hears why", async () => {
    const act = guarded();
    const { saga, task } = await asked(act);
    await mesh.client.vote(task, { vote: "deny", by: "ann", reason: "too dear" });
    expect(await saga.result()).toMatchObject({
      output: { outcomes: [{ outcome: "denied", code: "APPROVAL_DENIED", reason: "too dear" }] },
    });
    expect(act.begun).toEqual([]);
  });

  test("of two is not given by one person twice", async () => {
    const act = guarded(2);
    const { saga, task } = await asked(act);
    await mesh.client.vote(task, { vote: "approve", by: "ann" });
    await mesh.client.vote(task, { vote: "approve", by: "ann" });
    await until("both votes are taken", async () => (await mesh.unacked()).inbox === 0);
    // What is begun was decided first: as long as the ledger holds no call, no body can run.
    expect((await mesh.view("s1")).intents.filter(({ intent }) => intent.kind === "tool")).toEqual([]);
    expect(act.begun).toEqual([]);
    await mesh.client.vote(task, { vote: "approve", by: "bob" });
    expect(await saga.result()).toMatchObject({ output: { outcomes: [{ outcome: "succeeded" }] } });
    expect(act.begun).toHaveLength(1);
  });

  test("that nobody gives in time is denied", async () => {
    const { tool, begun } = noting("once", async () => ({}), {
      approval: () => ({ by: ["ann"], withinMs: 500, otherwise: "deny" }),
    });
    expect(await outcomeOf({ tool })).toMatchObject([{ outcome: "denied", code: "APPROVAL_DENIED" }]);
    expect(begun).toEqual([]);
  });
});

describe("a claim", () => {
  /** The saga's work as it lies in the stream, taken by nobody. */
  async function workOf(tool: ReturnType<typeof noting>["tool"]) {
    const { agent, app } = scriptedAgent([tool], oneCall);
    await mesh.host(app);
    const saga = await mesh.client.start(agent, {}, { id: "s1" });
    await until("its work is published", async () => (await mesh.unacked()).work === 1);
    const [intended] = (await mesh.view("s1")).open.filter(({ intent }) => intent.kind === "tool");
    if (intended?.intent.kind !== "tool") throw new Error("a tool is intended");
    const { id, key } = intended.intent;
    return { app, saga, id, key };
  }

  test("of a worker that died: a probe is asked after its time, and not performed if it happened", async () => {
    const probes: string[] = [];
    const { tool, begun } = noting("probe", async () => ({ by: "performing" }), {
      timeoutMs: 700,
      probe: async (key: string) => {
        probes.push(key);
        return { outcome: "happened", output: { by: "the one before" } };
      },
    });
    const { app, saga, key } = await workOf(tool);
    await mesh.ports.claims.create(key, 1, "of-a-worker-that-died");
    const claimedAt = performance.now();
    await mesh.worker(app);
    expect(await saga.result()).toMatchObject({
      output: { outcomes: [{ outcome: "succeeded", output: { by: "the one before" } }] },
    });
    expect(performance.now() - claimedAt).toBeGreaterThan(700 + limits.claimGraceMs - 100);
    expect(probes).toEqual([key]);
    expect(begun).toEqual([]);
  });

  test("of a worker that died: a probe is performed if it did not happen", async () => {
    const { tool, begun } = noting("probe", async () => ({ by: "performing" }), {
      timeoutMs: 100,
      probe: async () => ({ outcome: "did_not_happen" }),
    });
    const { app, saga, key } = await workOf(tool);
    await mesh.ports.claims.create(key, 1, "of-a-worker-that-died");
    await mesh.worker(app);
    expect(await saga.result()).toMatchObject({
      output: { outcomes: [{ outcome: "succeeded", output: { by: "performing" } }] },
    });
    expect(begun).toHaveLength(1);
  });

  test("of a worker that died: a once is in doubt after its time, and never performed", async () => {
    const { tool, begun } = noting("once", async () => ({}), { timeoutMs: 100 });
    const { app, saga, key } = await workOf(tool);
    await mesh.ports.claims.create(key, 1, "of-a-worker-that-died");
    await mesh.worker(app);
    expect(await saga.result()).toMatchObject({ output: { outcomes: [{ outcome: "in_doubt" }] } });
    expect(begun).toEqual([]);
  });

  test("is won by one of two workers that are given the same attempt; the other's doubt changes nothing", async () => {
    const { tool, begun } = noting(
      "once",
      async () => {
        await systemClock.sleep(50);
        return { done: true };
      },
      { timeoutMs: 300 },
    );
    const { app, saga, id, key } = await workOf(tool);
    const again = {
      saga: "s1",
      intent: id,
      attempt: 1,
      tool: "act",
      contract: contractDigest(tool),
      key,
      input: {},
    };
    await mesh.ports.work.publish(refOf(tool), {
      data: bytes(JSON.stringify(again)),
      headers: {},
      msgId: "s1:again",
    });
    await mesh.worker(app);
    await mesh.worker(app);
    expect(await saga.result()).toMatchObject({ output: { outcomes: [{ outcome: "succeeded" }] } });
    const head = await mesh.head("s1");
    const rest = async () => {
      const { inbox, work } = await mesh.unacked();
      return inbox + work;
    };
    await until("the other has reported its doubt", async () => (await rest()) === 0);
    expect(begun).toHaveLength(1);
    expect(await mesh.head("s1")).toBe(head);
  });
});

describe("a delivery that nobody ends", () => {
  /** Takes the work as often as it is allowed to, and each time dies without a word. */
  async function deliverInVain(tool: Tool, onFirst: (key: string) => Promise<void>): Promise<void> {
    let last: Delivery | undefined;
    const take = (delivery: Delivery) => {
      const { key } = JSON.parse(Buffer.from(delivery.data).toString()) as { key: string };
      const first = delivery.deliveries === 1 ? onFirst(key) : Promise.resolve();
      if (delivery.deliveries < limits.workDeliveriesMax) void first.then(() => delivery.nak());
      else last = delivery;
    };
    await mesh.ports.work.open(refOf(tool), {});
    const consumption = await mesh.ports.work.consume(refOf(tool), { inFlightMax: 1 }, take);
    await until("it was delivered in vain", () => last !== undefined);
    await consumption.stop();
    await last?.nak();
  }

  test.each([
    ["of a once that nobody claimed", "once", false, "failed"],
    ["of a once that somebody claimed", "once", true, "in_doubt"],
    ["of an idempotent effect", "idempotent", false, "failed"],
  ] as const)(
    "%s is given up with a recorded result and a dead letter",
    async (_, effect, isClaimed, outcome) => {
      const { tool, begun } = noting(effect, async () => ({}), { timeoutMs: 100 });
      const { agent, app } = scriptedAgent([tool], oneCall);
      await mesh.host(app);
      const saga = await mesh.client.start(agent, {}, { id: "s1" });
      await deliverInVain(tool, async (key) => {
        if (isClaimed) await mesh.ports.claims.create(key, 1, "of-a-worker-that-died");
      });
      await mesh.worker(app);
      expect(await saga.result()).toMatchObject({ output: { outcomes: [{ outcome }] } });
      expect(begun).toEqual([]);
      const letters = await mesh.letters();
      expect(letters).toMatchObject([{ subject: "dead.work.s1" }]);
      expect(letters[0]?.reason).toContain("[ATTEMPTS_EXHAUSTED]");
      expect((await mesh.unacked()).work).toBe(0);
    },
  );
});

describe("work that nobody can read", () => {
  /** Puts these bytes in the place of the saga's own work, under its headers. */
  async function replaceWork(tool: Tool, data: Uint8Array): Promise<void> {
    let taken: Delivery | undefined;
    await mesh.ports.work.open(refOf(tool), {});
    const consumption = await mesh.ports.work.consume(
      refOf(tool),
      { inFlightMax: 1 },
      (delivery) => (taken = delivery),
    );
    await until("its work is published", () => taken !== undefined);
    await consumption.stop();
    await taken?.ack();
    const own = Object.entries(taken?.headers ?? {}).filter(([name]) => name.startsWith("Saga-"));
    await mesh.ports.work.publish(refOf(tool), {
      data,
      headers: Object.fromEntries(own),
      msgId: "s1:replaced",
    });
  }

  test.each([
    ["once", "in_doubt"],
    ["idempotent", "failed"],
  ] as const)("of a tool that is %s is set aside, and its saga hears %s", async (effect, outcome) => {
    const { tool, begun } = noting(effect, async () => ({}));
    const { agent, app } = scriptedAgent([tool], oneCall);
    await mesh.host(app);
    const saga = await mesh.client.start(agent, {}, { id: "s1" });
    await replaceWork(tool, bytes('{"saga":"s1","of":"another time"}'));
    await mesh.worker(app);
    expect(await saga.result()).toMatchObject({ output: { outcomes: [{ outcome }] } });
    expect(begun).toEqual([]);
    const letters = await mesh.letters();
    expect(letters).toMatchObject([{ subject: "dead.work.s1" }]);
    expect(letters[0]?.reason).toContain("[BAD_MESSAGE]");
  });
});

test("an effect's key is the same after its host was replaced between two attempts", async () => {
  const { tool, begun } = noting(
    "idempotent",
    async (_, times) => {
      if (times === 1) throw new Error("not now");
      return {};
    },
    { retry: { attemptsMax: 3, backoffMs: 1_500 }, placement: "host" },
  );
  const { agent, app } = scriptedAgent([tool], oneCall);
  const first = await mesh.host(app);
  const saga = await mesh.client.start(agent, {}, { id: "s1" });
  await until("it was begun", () => begun.length === 1);
  const told = async () => JSON.stringify(await mesh.turns("s1")).includes("not now");
  await until("its failure is on the ledger", told);
  await first.stop(0);
  await mesh.host(app);
  expect(await saga.result()).toMatchObject({ output: { outcomes: [{ outcome: "succeeded" }] } });
  expect(begun.map(({ attempt }) => attempt)).toEqual([1, 2]);
  expect(begun[1]?.key).toBe(begun[0]?.key);
  expect((await mesh.view("s1")).hosts).toHaveLength(2);
});

test("garbage under a claim's key puts that one effect in doubt, and its worker performs all others", async () => {
  const { tool, begun } = noting("once", async () => ({}), { timeoutMs: 500 });
  const { agent, app } = scriptedAgent([tool], oneCall);
  await mesh.host(app);
  const saga = await mesh.client.start(agent, {}, { id: "s1" });
  const keyOfCall = async () =>
    (await mesh.head("s1")) === 0
      ? undefined
      : (await mesh.view("s1")).intents.flatMap(({ intent }) =>
          intent.kind === "tool" ? intent.key : [],
        )[0];
  await until("the call is on the ledger", async () => (await keyOfCall()) !== undefined);
  await jetstream(mesh.nc).publish(`$KV.CLAIM.${await keyOfCall()}.1`, new Uint8Array([0xff, 0xc1, 0, 0x7b]));
  await mesh.worker(app);
  expect(await saga.result()).toMatchObject({ output: { outcomes: [{ outcome: "in_doubt" }] } });
  const other = await mesh.client.start(agent, {}, { id: "s2" });
  expect(await other.result()).toMatchObject({ output: { outcomes: [{ outcome: "succeeded" }] } });
  expect(begun.map(({ context }) => context.key.split(".")[0])).toEqual(["s2"]);
});

test("two equal calls are two effects with two keys", async () => {
  const { tool, begun } = noting("once", async () => ({}));
  const twice = [
    { tool: "act", input: { n: 1 } },
    { tool: "act", input: { n: 1 } },
  ];
  expect(await outcomeOf({ tool }, [twice] as never)).toMatchObject([
    { outcome: "succeeded" },
    { outcome: "succeeded" },
  ]);
  expect(new Set(begun.map(({ key }) => key)).size).toBe(2);
});

test("a tool's limit holds over all workers together", async () => {
  let running = 0;
  let most = 0;
  const { tool, begun } = noting(
    "idempotent",
    async () => {
      most = Math.max(most, ++running);
      await systemClock.sleep(60);
      running -= 1;
      return {};
    },
    { concurrencyMax: 2 },
  );
  const calls = Array.from({ length: 10 }, (_, n) => ({ tool: "act", input: { n } }));
  const { agent, app } = scriptedAgent([tool], [calls]);
  await mesh.host(app);
  await mesh.worker(app);
  await mesh.worker(app);
  await (await mesh.client.start(agent, {}, { id: "s1" })).result();
  expect(begun).toHaveLength(10);
  expect(most).toBe(2);
});

describe("large values", () => {
  /** No two places alike, and some characters of more than one byte. */
  const long = (seed: string, length: number): string => {
    let text = "";
    for (let i = 0; text.length < length; i++)
      text += createHash("sha256").update(`${seed}${i}`).digest("hex") + "é☃";
    return text.slice(0, length);
  };
  const digest = (text: string) => createHash("sha256").update(text).digest("hex");

  test("come back whole, live in the blob store, and keep every ledger message small", async () => {
    const input = long("input", 300_000);
    const said = long("said", 2_000_000);
    const read = long("read", 200_000);
    const output = long("output", 500_000);
    const tool = defineTool({
      name: "fetch",
      description: "Fetches.",
      effect: "read",
      input: z.object({ what: z.string() }),
      output: z.object({ got: z.string(), page: z.string() }),
      perform: async ({ what }) => ({ got: digest(what), page: read }),
    });
    const agent = defineAgent({
      name: "reader",
      version: 1,
      description: "Reads.",
      model: "script",
      instructions: "Read.",
      input: z.object({ text: z.string() }),
      output: z.object({ text: z.string(), saw: z.array(z.string()) }),
      signals: {},
      tools: [tool],
    });
    const model = scriptedModel("script", ({ step, messages }) => {
      if (step === 1) return { text: said, calls: [{ tool: "fetch", input: { what: input } }] };
      const saw = messages.map((message) =>
        digest(JSON.stringify(message.role === "user" ? message.parts : message.text)),
      );
      return { calls: [{ tool: "finish", input: { output: { text: output, saw } } }] };
    });
    const app = defineApp({ sagas: [agent], models: { script: model } });
    await mesh.host(app);
    await mesh.worker(app);
    const saga = await mesh.client.start(agent, { text: input }, { id: "s1" });
    const end = await saga.result();
    if (end.status !== "completed") throw new Error(end.reason);
    expect(digest(end.output.text)).toBe(digest(output));

    const [first, second, third] = end.output.saw;
    expect(first).toBe(digest(JSON.stringify([{ type: "text", text: JSON.stringify({ text: input }) }])));
    expect(second).toBe(digest(JSON.stringify(said)));
    const result = {
      type: "result",
      call: "1.0",
      tool: "fetch",
      outcome: "succeeded",
      output: { got: digest(input), page: read },
    };
    expect(third).toBe(digest(JSON.stringify([result])));

    const saga1 = parseSagaId("s1");
    const turns = await mesh.ports.ledger.read(saga1, 0, await mesh.head("s1"));
    for (const turn of turns) expect(turn.data.length).toBeLessThanOrEqual(limits.inlineBytesMax);
    expect(JSON.stringify((await mesh.view("s1")).input)).toBe(JSON.stringify({ text: input }));
    const blobs = (await (await jetstreamManager(mesh.nc)).streams.info("OBJ_BLOB")).state;
    expect(blobs.bytes).toBeGreaterThan(3_000_000);
  });

  test("in a signal reach the model whole", async () => {
    const note = long("note", 400_000);
    const agent = defineAgent({
      name: "reader",
      version: 1,
      description: "Reads.",
      model: "script",
      instructions: "Read.",
      input: z.object({}),
      output: z.object({ saw: z.string() }),
      signals: { note: z.object({ text: z.string() }) },
      tools: [],
    });
    const model = scriptedModel("script", ({ messages }) => {
      const heard = messages
        .flatMap((message) => (message.role === "user" ? message.parts : []))
        .find((part) => part.type === "signal");
      if (heard?.type !== "signal") return { calls: [{ tool: "wait", input: {} }] };
      return {
        calls: [
          { tool: "finish", input: { output: { saw: digest((heard.data as { text: string }).text) } } },
        ],
      };
    });
    await mesh.host(defineApp({ sagas: [agent], models: { script: model } }));
    const saga = await mesh.client.start(agent, {}, { id: "s1" });
    await saga.signal("note", { text: note });
    expect(await saga.result()).toMatchObject({ status: "completed", output: { saw: digest(note) } });
  });
});
