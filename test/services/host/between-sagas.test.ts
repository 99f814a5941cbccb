/**
 * Sagas that reach each other on a real server: what one sends is taken once by the one it is for and by nobody else,
 * work that is handed over ends where it went, and a paused saga costs nothing until it is resumed anywhere.
 *
 * Method: agents whose models are scripts; hosts and workers in this process, one empty account for each test.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { limits } from "../../../protocol/limits.ts";
import type { ModelRequest, MessagePart } from "../../../protocol/model.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { defineApp } from "../../../services/app/app.ts";
import { type ScriptedAnswer, scriptedModel } from "../../../services/models/scripted.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
  until,
} from "../../support/real-mesh.ts";

let server: AccountServer;
beforeAll(async () => {
  server = await startAccountServer(20);
});
afterAll(() => server.stop());

let mesh: RealMesh;
beforeEach(async () => {
  mesh = await openRealMesh(server.nextUrl());
});
afterEach(() => mesh.close());

const partsOf = (request: ModelRequest): MessagePart[] =>
  request.messages.flatMap((message) => (message.role === "user" ? message.parts : []));
const wait: ScriptedAnswer = { calls: [{ tool: "wait", input: {} }] };
const finish = (output: object): ScriptedAnswer => ({
  calls: [{ tool: "finish", input: { output } as never }],
});
const eventsIn = (turns: readonly Turn[]) => turns.flatMap(({ steps }) => steps.map(({ event }) => event));

const base = { version: 1, description: "One of two.", instructions: "Talk." };
const Text = z.object({ text: z.string() });

/** Waits for a note and ends with it and with who sent it. */
const listenerNamed = (name: string) =>
  defineAgent({
    ...base,
    name,
    model: "listen",
    input: z.object({}),
    output: z.object({ text: z.string(), from: z.string() }),
    signals: { note: Text },
    tools: [],
  });
const listener = listenerNamed("listener");
const other = listenerNamed("other");
const listen = scriptedModel("listen", (request) => {
  const note = partsOf(request).find((part) => part.type === "signal");
  return note === undefined ? wait : finish({ text: (note.data as { text: string }).text, from: note.from });
});

/** Sends one note to the saga of its input and ends with what it was told of that. */
const sender = defineAgent({
  ...base,
  ...{
    name: "sender",
    model: "send",
    input: z.object({ to: z.string() }),
    output: z.object({ outcome: z.string() }),
  },
  ...{ signals: {}, tools: [], sends: [listener] },
});
const send = scriptedModel("send", (request) => {
  const [first, ...rest] = partsOf(request);
  const { to } = JSON.parse(first?.type === "text" ? first.text : "") as { to: string };
  const told = rest.find((part) => part.type === "result");
  if (told !== undefined) return finish({ outcome: told.outcome });
  return {
    calls: [{ tool: "send", input: { to, agent: "listener", signal: "note", data: { text: "hello" } } }],
  };
});
const app = defineApp({ sagas: [listener, other, sender], models: { listen, send } });

describe("a signal from one saga to another", () => {
  test("is taken once, says who sent it, and is stored before the sender's call succeeds", async () => {
    await mesh.host(app);
    const hears = await mesh.client.start(listener, {}, { id: "hears" });
    await mesh.client.start(sender, { to: "hears" }, { id: "says" });
    expect(await hears.result()).toMatchObject({ output: { text: "hello", from: "says" } });
    const ended = await mesh.client.saga(sender, "says").result();
    expect(ended).toMatchObject({ status: "completed", output: { outcome: "succeeded" } });
    const taken = eventsIn(await mesh.turns("hears")).filter(({ type }) => type === "signal");
    expect(taken).toMatchObject([{ name: "note", from: "says", to: "listener" }]);
  });

  test.each([
    ["of another definition, which declares the same signal", "SIGNAL_UNKNOWN", other],
    ["that has ended", "SAGA_ENDED", listener],
  ])(
    "to a saga %s is a dead letter, and the sender's call succeeded all the same",
    async (_, code, receiver) => {
      await mesh.host(app);
      const hears = await mesh.client.start(receiver, {}, { id: "hears" });
      if (code === "SAGA_ENDED") {
        await hears.signal("note", { text: "first" });
        await hears.result();
      } else
        await until(
          "it waits",
          async () => (await mesh.head("hears")) > 0 && (await mesh.unacked()).inbox === 0,
        );
      const head = await mesh.head("hears");
      const says = await mesh.client.start(sender, { to: "hears" }, { id: "says" });
      expect(await says.result()).toMatchObject({ output: { outcome: "succeeded" } });
      await until("it is set aside", async () => (await mesh.letters()).length === 1);
      const [letter] = await mesh.letters();
      expect(letter?.reason).toContain(`[${code}]`);
      expect(await mesh.head("hears")).toBe(head);
    },
  );
});

describe("work that is handed over", () => {
  const acts: string[] = [];
  const release = defineTool({
    ...{ name: "release", description: "Lets go.", effect: "idempotent", placement: "host" },
    input: z.object({ of: z.string() }),
    output: z.object({}),
    perform: async ({ of }) => {
      acts.push(`release ${of}`);
      return {};
    },
  });
  const hold = defineTool({
    ...{ name: "hold", description: "Holds.", effect: "idempotent", placement: "host" },
    input: z.object({ of: z.string() }),
    output: z.object({}),
    compensation: { tool: release, input: ({ input }) => input },
    perform: async ({ of }) => {
      acts.push(`hold ${of}`);
      return {};
    },
  });
  const parts = { ...base, input: z.object({}), output: Text, signals: { note: Text }, tools: [hold] };
  const expert = defineAgent({ ...parts, name: "expert", model: "expert" });
  const clerk = defineAgent({ ...parts, name: "clerk", model: "clerk", handsOffTo: [expert] });
  const holdFirst =
    (of: string, then: (request: ModelRequest) => ScriptedAnswer) => (request: ModelRequest) =>
      request.step === 1 ? { calls: [{ tool: "hold", input: { of } }] } : then(request);
  const handingOff = defineApp({
    sagas: [clerk],
    models: {
      clerk: scriptedModel(
        "clerk",
        holdFirst("clerk", () => ({ calls: [{ tool: "hand_off", input: { to: "expert", input: {} } }] })),
      ),
      expert: scriptedModel(
        "expert",
        holdFirst("expert", (request) => {
          const note = partsOf(request).find((part) => part.type === "signal");
          return note === undefined ? wait : finish({ text: (note.data as { text: string }).text });
        }),
      ),
    },
  });
  beforeEach(() => void acts.splice(0));
  const expertWaits = async () => {
    await until("the other agent has begun", () => acts.includes("hold expert"));
    await until("it waits", async () => (await mesh.unacked()).inbox === 0);
  };

  test("ends with the output of who took it over, who hears the signals that come for the first", async () => {
    await mesh.host(handingOff);
    const saga = await mesh.client.start(clerk, {}, { id: "handed" });
    await expertWaits();
    await saga.signal("note", { text: "from outside" });
    expect(await saga.result()).toMatchObject({ status: "completed", output: { text: "from outside" } });
    expect(acts).toEqual(["hold clerk", "hold expert"]);
  });

  test("is undone from the last to the first by a cancel of the first", async () => {
    await mesh.host(handingOff);
    const saga = await mesh.client.start(clerk, {}, { id: "handed" });
    await expertWaits();
    await saga.cancel("enough");
    expect(await saga.result()).toMatchObject({ status: "cancelled", standing: [] });
    expect(acts).toEqual(["hold clerk", "hold expert", "release expert", "release clerk"]);
  });
});

describe("a paused saga", () => {
  test("is nowhere in a host, holds no message, and is resumed by another host with what came meanwhile", async () => {
    const first = await mesh.host(app);
    const saga = await mesh.client.start(listener, {}, { id: "paused" });
    await until(
      "it waits",
      async () => (await mesh.head("paused")) > 0 && (await mesh.unacked()).inbox === 0,
    );
    await saga.signal("pause", { reason: "let me look" });
    await saga.signal("note", { text: "while paused" });
    await until(
      "both are recorded",
      async () => eventsIn(await mesh.turns("paused")).filter(({ type }) => type === "signal").length === 2,
    );
    await until("it is let go", () => first.resident() === 0, 3 * limits.lingerMs);
    expect(await mesh.unacked()).toEqual({ inbox: 0, work: 0 });
    expect((await mesh.view("paused")).status).toBe("running");
    await first.stop(0);
    await mesh.host(app);
    await saga.signal("resume", {});
    expect(await saga.result()).toMatchObject({ status: "completed", output: { text: "while paused" } });
    expect((await mesh.view("paused")).hosts).toHaveLength(2);
  });

  test("is paused and instructed by a bare NATS client", async () => {
    await mesh.host(app);
    const saga = await mesh.client.start(listener, {}, { id: "bare" });
    await until("it waits", async () => (await mesh.head("bare")) > 0 && (await mesh.unacked()).inbox === 0);
    mesh.nc.publish("saga.bare.signal.pause", "let me look");
    mesh.nc.publish("saga.bare.signal.instruct", "Only Tuesday.");
    mesh.nc.publish("saga.bare.signal.note", "t");
    await until(
      "all are recorded",
      async () => eventsIn(await mesh.turns("bare")).filter(({ type }) => type === "signal").length === 3,
    );
    mesh.nc.publish("saga.bare.signal.resume");
    expect(await saga.result()).toMatchObject({
      status: "completed",
      output: { text: "t", from: "outside" },
    });
    expect(await mesh.letters()).toEqual([]);
  });
});
