/**
 * Signals on a real server: they reach a saga whatever it is doing, change its course at once, and cost what
 * they must and no more.
 *
 * Method: an agent whose model can be slow and notes every request it gets; hosts and workers in this
 * process, one empty account of the server for each test.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { limits } from "../../../protocol/limits.ts";
import type { ModelRequest } from "../../../protocol/model.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { defineApp } from "../../../services/app/app.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
  until,
} from "../../support/real-mesh.ts";
import { type SlowModel, type SlowReply, slowModel } from "../../support/slow-model.ts";

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

const finish = (heard: string): SlowReply => ({
  answer: { calls: [{ tool: "finish", input: { output: { heard } } }] },
});
const wait: SlowReply = { answer: { calls: [{ tool: "wait", input: {} }] } };

/** What every signal so far said, in the order in which the model is shown them. */
const heardIn = (request: ModelRequest): string[] =>
  request.messages.flatMap((message) =>
    message.role === "user"
      ? message.parts.flatMap((part) =>
          part.type === "signal" ? [(part.data as { text: string }).text] : [],
        )
      : [],
  );

/** An agent that listens, its model by this script, and the payments that reached the outside. */
function listener(script: (request: ModelRequest, heard: readonly string[]) => SlowReply) {
  const paid: string[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    effect: "once",
    compensation: "point_of_no_return",
    input: z.object({}),
    output: z.object({}),
    perform: async (_, { key }) => {
      paid.push(key);
      return {};
    },
  });
  const model = slowModel("slow", (request) => script(request, heardIn(request)));
  const agent = defineAgent({
    name: "listener",
    version: 1,
    description: "Listens.",
    model: "slow",
    instructions: "Listen.",
    input: z.object({}),
    output: z.object({ heard: z.string() }),
    signals: { note: z.object({ text: z.string() }), mark: z.object({ at: z.int(), text: z.string() }) },
    tools: [pay],
  });
  return { agent, model, paid, app: defineApp({ sagas: [agent], models: { slow: model } }) };
}

const eventsOf = (turns: readonly Turn[]) => turns.flatMap((turn) => turn.steps.map((step) => step.event));

const payAfterAnHour = (spent?: SlowReply["spent"]): SlowReply => ({
  answer: { calls: [{ tool: "pay", input: {} }] },
  takesMs: 3_600_000,
  spent,
});

describe("a signal in the middle of a model call", () => {
  test("aborts the call at once, and its cost is on the ledger", async () => {
    const usage = { inputTokens: 1_234, outputTokens: 56 };
    const { agent, app, model, paid } = listener((_, heard) =>
      heard.length === 0 ? payAfterAnHour(usage) : finish(heard.join()),
    );
    await mesh.host(app);
    await mesh.worker(app);
    const saga = await mesh.client.start(agent, {}, { id: "interrupted" });
    await until("the model is asked", () => model.asked.length === 1);
    const sentAt = performance.now();
    await saga.signal("note", { text: "stop" });
    expect(await saga.result()).toMatchObject({ status: "completed", output: { heard: "stop" } });
    expect(model.asked[0]?.ended?.how).toBe("aborted");
    expect((model.asked[0]?.ended?.at ?? Infinity) - sentAt).toBeLessThan(30_000);

    const costs = async () =>
      eventsOf(await mesh.turns("interrupted")).filter(
        (event) => event.type === "result" && "usage" in event.result && event.result.usage !== undefined,
      );
    await until("its cost is recorded", async () => (await costs()).length > 0);
    expect(await costs()).toMatchObject([{ result: { outcome: "cancelled", usage } }]);
    expect(paid).toEqual([]);
  });

  test("supersedes a reply that comes all the same: it is paid for, and none of its calls reaches the world", async () => {
    const usage = { inputTokens: 700, outputTokens: 7 };
    const late: SlowReply = {
      answer: { calls: [{ tool: "pay", input: {} }], usage },
      takesMs: 700,
      deaf: true,
    };
    const { agent, app, model, paid } = listener((_, heard) =>
      heard.length === 0 ? late : heard.length === 1 ? wait : finish(heard.join()),
    );
    await mesh.host(app);
    await mesh.worker(app);
    const saga = await mesh.client.start(agent, {}, { id: "deaf" });
    await until("the model is asked", () => model.asked.length === 1);
    await saga.signal("note", { text: "stop" });
    const repliesAfterwards = async () =>
      eventsOf(await mesh.turns("deaf")).filter(
        (event) => event.type === "result" && event.intent === "1-0" && event.result.outcome === "succeeded",
      );
    await until("the late reply is recorded", async () => (await repliesAfterwards()).length > 0);
    expect(await repliesAfterwards()).toMatchObject([{ result: { output: { usage } } }]);
    await saga.signal("note", { text: "enough" });
    expect(await saga.result()).toMatchObject({ status: "completed", output: { heard: "stop,enough" } });
    expect(paid).toEqual([]);
    expect((await mesh.view("deaf")).intents.filter(({ intent }) => intent.kind === "tool")).toEqual([]);
  });

  test("cancels: the saga ends without another call of the model", async () => {
    const { agent, app, model, paid } = listener(() => payAfterAnHour());
    await mesh.host(app);
    const saga = await mesh.client.start(agent, {}, { id: "cancelled" });
    await until("the model is asked", () => model.asked.length === 1);
    await saga.cancel("the budget is gone");
    expect(await saga.result()).toMatchObject({
      status: "cancelled",
      reason: "the budget is gone",
      standing: [],
    });
    expect(model.asked).toHaveLength(1);
    expect(paid).toEqual([]);
  });
});

/** So often has a saga been quiet for long enough to ask its model again, on a machine however slow. */
const settledTimes = ({ asked }: SlowModel, sentAt: number): number =>
  Math.floor(((asked.at(-1)?.askedAt ?? sentAt) - sentAt) / limits.signalSettleMs);

describe("a hundred signals at once", () => {
  const hundred = Array.from({ length: 100 }, (_, i) => `n${i}`);

  test("cost two more model calls while the model is being asked, or what fits into the time that they take, and none is lost", async () => {
    const { agent, app, model } = listener((_, heard) =>
      heard.length < 100 ? payAfterAnHour() : finish(String(new Set(heard).size)),
    );
    await mesh.host(app);
    const saga = await mesh.client.start(agent, {}, { id: "crowd" });
    await until("the model is asked", () => model.asked.length === 1);
    const sentAt = performance.now();
    await Promise.all(hundred.map((text) => saga.signal("note", { text })));
    expect(await saga.result()).toMatchObject({ status: "completed", output: { heard: "100" } });
    expect(model.asked.length).toBeLessThanOrEqual(3 + settledTimes(model, sentAt));
  });

  test("cost two model calls while the saga sleeps, or what fits into the time that they take, and none is lost", async () => {
    const { agent, app, model } = listener((_, heard) =>
      heard.length === 0 ? wait : heard.length < 100 ? payAfterAnHour() : finish(String(new Set(heard).size)),
    );
    const host = await mesh.host(app);
    const saga = await mesh.client.start(agent, {}, { id: "sleepers" });
    await until("it sleeps", () => model.asked.length === 1 && host.resident() === 0);
    const sentAt = performance.now();
    await Promise.all(hundred.map((text) => saga.signal("note", { text })));
    expect(await saga.result()).toMatchObject({ status: "completed", output: { heard: "100" } });
    expect(model.asked.length).toBeLessThanOrEqual(3 + settledTimes(model, sentAt));
  });

  test("of which fifty are repeats are fifty signals", async () => {
    const { agent, app, model } = listener((_, heard) =>
      heard.length < 50 ? wait : finish(String(heard.length)),
    );
    await mesh.host(app);
    const saga = await mesh.client.start(agent, {}, { id: "repeats" });
    await until("it waits", () => model.asked.length === 1);
    const ids = hundred.map((_, i) => String(i % 50));
    await Promise.all(ids.map((id) => saga.signal("note", { text: id }, { id: `repeat-${id}` })));
    expect(await saga.result()).toMatchObject({ status: "completed", output: { heard: "50" } });
    await until("every repeat is acked", async () => (await mesh.unacked()).inbox === 0);
    const taken = eventsOf(await mesh.turns("repeats")).filter((event) => event.type === "signal");
    expect(taken).toHaveLength(50);
  });
});

describe("P5: a saga that waits", () => {
  test("is nowhere in the host once the linger is over, and a signal wakes it", async () => {
    const { agent, app, model } = listener((_, heard) => (heard.length === 0 ? wait : finish(heard.join())));
    const host = await mesh.host(app);
    const saga = await mesh.client.start(agent, {}, { id: "asleep" });
    await until("it waits", () => model.asked.length === 1);
    const waitsSince = performance.now();
    await until("it is let go", () => host.resident() === 0, 2 * limits.lingerMs);
    expect(performance.now() - waitsSince).toBeGreaterThan(limits.lingerMs / 2);
    expect(await mesh.unacked()).toEqual({ inbox: 0, work: 0 });
    await saga.signal("note", { text: "wake" });
    expect(await saga.result()).toMatchObject({ status: "completed", output: { heard: "wake" } });
  });

  test("is woken by its own time where it named one", async () => {
    const { agent, app } = listener(({ step }) =>
      step === 1 ? { answer: { calls: [{ tool: "wait", input: { forMs: 3_500 } }] } } : finish("time"),
    );
    const host = await mesh.host(app);
    const saga = await mesh.client.start(agent, {}, { id: "alarm" });
    await until("it is let go", async () => (await mesh.head("alarm")) > 0 && host.resident() === 0);
    expect(await saga.result()).toMatchObject({ status: "completed", output: { heard: "time" } });
  });

  test("wakes on another host when the one it slept on is gone", async () => {
    const { agent, app, model } = listener((_, heard) => (heard.length === 0 ? wait : finish(heard.join())));
    const first = await mesh.host(app);
    const saga = await mesh.client.start(agent, {}, { id: "moved" });
    await until("it waits", async () => model.asked.length === 1 && (await mesh.unacked()).inbox === 0);
    await first.stop(0);
    await mesh.host(app);
    await saga.signal("note", { text: "wake" });
    expect(await saga.result()).toMatchObject({ status: "completed", output: { heard: "wake" } });
    expect((await mesh.view("moved")).hosts).toHaveLength(2);
  });
});

describe("a bare NATS client without any header", () => {
  test.each([
    ["JSON", '{"text":"Tuesday only"}'],
    ["plain text", "Tuesday only"],
    ["a JSON string", '"Tuesday only"'],
  ])("signals by %s", async (kind, body) => {
    const { agent, app, model } = listener((_, heard) => (heard.length === 0 ? wait : finish(heard.join())));
    await mesh.host(app);
    const saga = await mesh.client.start(agent, {}, { id: "bare" });
    await until("it waits", () => model.asked.length === 1);
    mesh.nc.publish("saga.bare.signal.note", body);
    expect(await saga.result(), kind).toMatchObject({
      status: "completed",
      output: { heard: "Tuesday only" },
    });
  });

  test("starts and cancels a saga", async () => {
    const { agent, app, model } = listener(() => wait);
    await mesh.host(app);
    mesh.nc.publish("saga.bare.start", '{"name":"listener","input":{}}');
    await until("it waits", () => model.asked.length === 1);
    mesh.nc.publish("saga.bare.signal.cancel", "that will do");
    const end = await mesh.client.saga(agent, "bare").result();
    expect(end).toMatchObject({ status: "cancelled", reason: "that will do" });
  });
});

describe("P8: a bad input", () => {
  test.each([
    ["a signal nobody declared", "signal.nonsense", "{}", "SIGNAL_UNKNOWN"],
    ["a signal of another shape", "signal.mark", '{"at":"noon"}', "INPUT_INVALID"],
    ["a signal without a body", "signal.note", "", "INPUT_INVALID"],
    ["bytes that are no text", "signal.note", new Uint8Array([0xff, 0xfe, 0x00]), "BAD_MESSAGE"],
    ["a reference in place of a value", "signal.note", '{"text":{"$blob":"00","bytes":1}}', "BAD_MESSAGE"],
    ["a vote that is none", "task.1-0", '{"vote":"perhaps"}', "BAD_MESSAGE"],
    ["a result that is none", "result.1-0", '{"outcome":"splendid"}', "BAD_MESSAGE"],
    ["a timer that is none", "timer.soon", "", "BAD_ID"],
    [
      "a start by another name",
      "start",
      '{"name":"listener","input":{"other":1},"version":1}',
      "SAGA_ID_TAKEN",
    ],
    ["a start without a name", "start", '{"input":{}}', "BAD_MESSAGE"],
  ])("%s ends in the dead letters with its code, and changes nothing", async (_, rest, body, code) => {
    const { agent, app, model } = listener((__, heard) => (heard.length === 0 ? wait : finish(heard.join())));
    await mesh.host(app);
    const saga = await mesh.client.start(agent, {}, { id: "target" });
    await until("it waits", async () => model.asked.length === 1 && (await mesh.unacked()).inbox === 0);
    const head = await mesh.head("target");
    mesh.nc.publish(`saga.target.${rest}`, body);
    await until("it is set aside", async () => (await mesh.letters()).length === 1);
    const [letter] = await mesh.letters();
    expect(letter?.subject).toBe("dead.inbox.target");
    expect(letter?.reason).toContain(`[${code}]`);
    expect(letter?.origin).toContain(`target.${rest}`);
    expect(await mesh.head("target")).toBe(head);
    expect(await mesh.unacked()).toEqual({ inbox: 0, work: 0 });
    await saga.signal("note", { text: "still here" });
    expect(await saga.result()).toMatchObject({ status: "completed", output: { heard: "still here" } });
  });

  test("a signal to a saga that has ended is refused, with the reason", async () => {
    const { agent, app } = listener(() => finish("nothing"));
    await mesh.host(app);
    const saga = await mesh.client.start(agent, {}, { id: "over" });
    await saga.result();
    const head = await mesh.head("over");
    await saga.signal("note", { text: "too late" });
    await until("it is set aside", async () => (await mesh.letters()).length === 1);
    expect((await mesh.letters())[0]?.reason).toContain("[SAGA_ENDED]");
    expect(await mesh.head("over")).toBe(head);
  });
});

test("a signal that is sent before the start is taken once the start comes", async () => {
  const { agent, app } = listener((_, heard) => (heard.length === 0 ? wait : finish(heard.join())));
  const host = await mesh.host(app);
  await until("the host serves", () => host.partitions().length > 0);
  mesh.nc.publish("saga.early.signal.note", "before");
  await until(
    "it is offered and put back",
    async () => (await mesh.unacked()).inbox === 1 && host.resident() > 0,
  );
  expect(await mesh.head("early")).toBe(0);
  const saga = await mesh.client.start(agent, {}, { id: "early" });
  expect(await saga.result()).toMatchObject({ status: "completed", output: { heard: "before" } });
  expect(await mesh.letters()).toEqual([]);
});

test("a signal before the first model call is in the first request", async () => {
  const { agent, app, model } = listener((_, heard) => (heard.length === 0 ? wait : finish(heard.join())));
  const saga = await mesh.client.start(agent, {}, { id: "both" });
  await saga.signal("note", { text: "with the start" });
  await mesh.host(app);
  expect(await saga.result()).toMatchObject({ status: "completed", output: { heard: "with the start" } });
  expect(model.asked.length).toBeLessThanOrEqual(2);
});
