/**
 * Forks: what is shared is done once, what follows is the fork's own, and nothing outside is touched unless that is
 * asked for.
 *
 * Method: an agent and machines of this file on test meshes, whose outside counts what it is asked for.
 */
import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { foldLedger } from "../../../actors/kernel/replay.ts";
import { question, toActors } from "../../../actors/machine/callable.ts";
import type { ModelRequest } from "../../../protocol/model.ts";
import type { Turn } from "../../../protocol/turn.ts";
import { promptOf } from "../../../services/views/prompt.ts";
import { viewOf } from "../../../services/views/view.ts";
import { compensation, defineAgent, defineApp, defineSaga, defineTool, type SignalEvents } from "sagamesh";
import { crashMatrix, scriptedModel, testMesh, type TestMesh } from "../../../services/testing/index.ts";
import { call } from "../../support/workbench.ts";
import { atOnce } from "../../../services/wire/loop.ts";

const Room = z.object({ room: z.string() });
const search = defineTool({
  ...{ name: "search", description: "Searches.", effect: "read" },
  ...{ input: z.object({ city: z.string() }), output: z.object({ rooms: z.array(z.string()) }) },
  perform: async ({ city }) => ({ rooms: [`${city}-1`, `${city}-2`] }),
});
const free = defineTool({
  ...{ name: "free", description: "Frees a room.", effect: "idempotent" },
  ...{ input: z.object({ key: z.string() }), output: z.object({}) },
  perform: async () => ({}),
});
const book = defineTool({
  ...{ name: "book", description: "Books a room.", effect: "once", onDoubt: "model" },
  ...{ input: Room, output: z.object({ receipt: z.string().min(3) }) },
  compensation: { tool: free, input: ({ key }) => ({ key }) },
  perform: async ({ room }, { key }) => ({ receipt: `${room} ${key}` }),
});
const agent = defineAgent({
  ...{ name: "clerk", version: 1, description: "Books rooms.", model: "plain", instructions: "Book rooms." },
  ...{ input: z.object({ city: z.string() }), output: z.object({ answer: z.string() }) },
  signals: { more: z.object({ room: z.string() }) },
  tools: [search, book],
});

/** Searches, books the first room, waits to be told of another, books that, and finishes. */
const plain = ({ messages, model, instructions }: ModelRequest) => {
  const said = messages.filter(({ role }) => role === "assistant").length;
  const signal = messages.flatMap((one) =>
    one.role === "user" ? one.parts.flatMap((part) => (part.type === "signal" ? [part.data] : [])) : [],
  );
  if (said === 0) return { calls: [call("search", { city: "LIS" })] };
  if (said === 1) return { calls: [call("book", { room: model === "bold" ? "LIS-2" : "LIS-1" })] };
  if (said === 2) return { calls: [call("wait", { signals: ["more"] })] };
  if (said === 3) return { calls: [call("book", signal.at(-1))] };
  return { calls: [call("finish", { output: { answer: instructions.split("\n")[0] ?? "" } })] };
};
const models = { plain: scriptedModel("plain", plain), bold: scriptedModel("bold", plain) };
const app = defineApp({ sagas: [agent], models });

/** The origin, up to its wait, and on to its end where that is wanted. */
async function origin(t: TestMesh, options: { ends: boolean } = { ends: true }): Promise<Turn[]> {
  const saga = await t.start(agent, { city: "LIS" }, { id: "origin" });
  if (options.ends) {
    await saga.signal("more", { room: "LIS-9" });
    expect(await saga.end()).toMatchObject({ status: "completed" });
  }
  return saga.ledger();
}

/** The turn that recorded how the n-th call of a tool ended. */
const settledIn = (turns: readonly Turn[], tool: string, n = 0): number => {
  const viewed = viewOf(turns).intents.filter(({ intent }) => intent.kind === "tool" && intent.name === tool)[
    n
  ];
  return viewed?.settledTurn ?? 0;
};
const intentsOf = (turns: readonly Turn[]) =>
  turns.flatMap(({ steps }) => steps.flatMap(({ intents }) => intents));
const keysOf = (turns: readonly Turn[]) =>
  intentsOf(turns).flatMap((intent) => (intent.kind === "tool" ? [intent.key] : []));
const by = (turns: readonly Turn[]) =>
  turns.flatMap(({ steps }) => steps.flatMap(({ event }) => (event.type === "result" ? [event.by] : [])));

describe("a fork", () => {
  test("shares the turns before it: same decisions, same times, keys of its origin", async () => {
    await using t = testMesh(app);
    const turns = await origin(t);
    const n = settledIn(turns, "book");
    const forked = await t.fork(agent, "origin", { from: n, id: "other" });
    const own = await forked.ledger();
    const bare = ({ saga: _s, prev: _p, ...turn }: Turn) => turn;
    expect(own.slice(1, n).map(bare)).toEqual(turns.slice(1, n).map(bare));
    expect(own[0]?.steps[0]?.event).toMatchObject({ type: "start", fork: { saga: "origin", turn: n } });
    expect(own[n]?.steps[0]?.event).toMatchObject({ type: "forked", effects: "simulated", by: "test" });
    expect(keysOf(own.slice(0, n))).toEqual(keysOf(turns.slice(0, n)));
    expect(foldLedger(agent.definition, own).state.turn).toBe(own.length);
  });

  test("with simulated effects touches nothing outside: what recurs is answered as recorded, the rest by a sample", async () => {
    await using t = testMesh(app);
    const turns = await origin(t);
    const before = t.effects().length;
    const same = await t.fork(agent, "origin", { from: settledIn(turns, "search"), id: "same" });
    await same.signal("more", { room: "LIS-9" });
    expect(await same.end()).toMatchObject({ status: "completed" });
    const other = await t.fork(agent, "origin", {
      from: settledIn(turns, "search"),
      id: "other",
      model: "bold",
    });
    await other.signal("more", { room: "LIS-7" });
    expect(await other.end()).toMatchObject({ status: "completed" });
    expect(t.effects()).toHaveLength(before);
    const [first, second] = viewOf(turns).intents.filter(
      ({ intent }) => intent.kind === "tool" && intent.name === "book",
    );
    const sims = async (id: string) =>
      by(await t.anySaga(id).ledger()).filter((one) => one.startsWith("simulated"));
    expect(await sims("same")).toEqual([`simulated:${first?.intent.id}`, `simulated:${second?.intent.id}`]);
    expect(await sims("other")).toEqual(["simulated:sample", "simulated:sample"]);
    expect(keysOf(await t.anySaga("same").ledger()).at(-1)).toMatch(/^same\./);
    const outputs = viewOf(await t.anySaga("same").ledger()).intents.flatMap(({ output }) =>
      output === undefined ? [] : [output],
    );
    expect(outputs).toContainEqual(first?.output);
  });

  test("is viewed without its definition as it folds: inputs of its calls, what was spent, what is open", async () => {
    await using t = testMesh(app);
    const turns = await origin(t);
    const from = settledIn(turns, "search");
    const forked = await t.fork(agent, "origin", { from, id: "viewed", model: "bold" });
    const own = await forked.ledger();
    const [view, { state }] = [viewOf(own), foldLedger(agent.definition, own)];
    expect(view.spent).toEqual(state.spent);
    expect(view.open.map(({ intent }) => intent.id)).toEqual(Object.keys(state.open));
    const [booked] = view.intents.filter(({ intent }) => intent.kind === "tool" && intent.name === "book");
    expect(booked?.input).toEqual({ room: "LIS-2" });
    expect(view).toMatchObject({ fork: { saga: "origin", turn: from, effects: "simulated", model: "bold" } });
  });

  test("with live effects performs what it decides itself, under keys of its own, and nothing that it inherited", async () => {
    await using t = testMesh(app);
    const turns = await origin(t);
    const before = t.effects().map(({ key }) => key);
    const forked = await t.fork(agent, "origin", {
      from: settledIn(turns, "book"),
      id: "live",
      effects: "live",
    });
    await forked.signal("more", { room: "LIS-3" });
    expect(await forked.end()).toMatchObject({ status: "completed" });
    const after = t.effects().slice(before.length);
    expect(after.map(({ tool, input }) => ({ tool, input }))).toEqual([
      { tool: "book", input: { room: "LIS-3" } },
    ]);
    expect(after[0]?.key).toMatch(/^live\./);
    expect(new Set(t.effects().map(({ key }) => key)).size).toBe(t.effects().length);
  });

  test("whose effects are forbidden is told so for each call, and undoes nothing", async () => {
    await using t = testMesh(app);
    const turns = await origin(t);
    const before = t.effects().length;
    const forked = await t.fork(agent, "origin", {
      from: settledIn(turns, "book"),
      id: "shut",
      effects: "forbidden",
    });
    await forked.signal("more", { room: "LIS-3" });
    expect(await forked.end()).toMatchObject({ status: "completed" });
    expect(intentsOf(await forked.ledger())).toContainEqual(
      expect.objectContaining({ kind: "denied", name: "book", code: "EFFECTS_FORBIDDEN" }),
    );
    const called = await t.fork(agent, "origin", {
      from: settledIn(turns, "book"),
      id: "off",
      effects: "forbidden",
    });
    await called.cancel("enough");
    const end = await called.end();
    expect(end).toMatchObject({ status: "cancelled" });
    expect(end?.standing).toHaveLength(1);
    expect(t.effects()).toHaveLength(before);
  });
});

describe("what a fork is asked with", () => {
  test("another model and other instructions are in every request after it, and the ledger proves it", async () => {
    await using t = testMesh(app);
    const turns = await origin(t);
    const n = settledIn(turns, "search");
    const forked = await t.fork(agent, "origin", {
      from: n,
      id: "bold",
      model: "bold",
      instructions: "Be bold.",
    });
    await forked.signal("more", { room: "LIS-9" });
    expect(await forked.end()).toMatchObject({ status: "completed", output: { answer: "Be bold." } });
    const own = await forked.ledger();
    const asked = intentsOf(own.slice(n)).flatMap((intent) => (intent.kind === "model" ? [intent.name] : []));
    expect(new Set(asked)).toEqual(new Set(["bold"]));
    const prompt = atOnce(promptOf(app, own, own.length));
    expect(prompt).toMatchObject({
      saga: "bold",
      model: "bold",
      proved: true,
      request: { model: "bold", saga: "bold" },
    });
    expect((prompt.request as { instructions: string }).instructions).toMatch(
      /^Be bold\.\n\nAct only by calls/,
    );
    const shared = atOnce(promptOf(app, own, n - 1));
    expect(shared).toMatchObject({ proved: true, request: { model: "plain", saga: "origin" } });
  });
});

test("a fork has what its origin had left of its budget, and reserves what it asks itself", async () => {
  const bounded = defineAgent({
    ...{
      name: "clerk",
      version: 1,
      description: "Books rooms.",
      model: "plain",
      instructions: "Book rooms.",
    },
    ...{ input: z.object({ city: z.string() }), output: z.object({ answer: z.string() }) },
    signals: { more: z.object({ room: z.string() }) },
    tools: [search, book],
    budget: { tokens: 500_000, steps: 6, wallClockMs: 86_400_000 },
  });
  await using t = testMesh(defineApp({ sagas: [bounded], models }));
  const turns = await (await t.start(bounded, { city: "LIS" }, { id: "origin" })).ledger();
  await t.advance("2d");
  const from = settledIn(turns, "search");
  const forked = await t.fork(bounded, "origin", { from, id: "bounded", model: "bold" });
  const own = await forked.ledger();
  const { state } = foldLedger(bounded.definition, own);
  const told = viewOf(own, { budgetOf: () => bounded.definition.budget }).budget;
  expect(told).toEqual(viewOf(own, { state }).budget);
  expect(state.budget?.late).toEqual([]);
  const left = foldLedger(bounded.definition, turns.slice(0, from)).state.budget?.deadline ?? 0;
  expect((state.budget?.deadline ?? 0) - left).toBeGreaterThan(2 * 86_400_000 - 1);
  await forked.signal("more", { room: "LIS-3" });
  expect(await forked.end()).toMatchObject({ status: "completed" });
});

describe("what was open where a fork leaves", () => {
  const ring = defineTool({
    ...{ name: "ring", description: "Rings.", effect: "once", onDoubt: "model" },
    ...{ input: z.object({}), output: z.object({ by: z.string().min(1) }) },
    perform: (_, { defer }) => defer({ withinMs: 86_400_000 }),
  });
  const child = defineSaga({
    ...{ name: "cleaner", version: 1, input: z.json(), output: z.json(), signals: { done: z.null() } },
    machine: setup({ types: { events: {} as SignalEvents<{ done: z.ZodNull }> } }).createMachine({
      id: "cleaner",
      initial: "cleaning",
      states: { cleaning: { on: { done: "clean" } }, clean: { type: "final" } },
      output: () => "clean",
    }),
  });
  const machine = setup({
    actors: toActors({
      book,
      ring,
      cleaner: child,
      ask: question({ to: [], answer: z.object({ ok: z.boolean() }) }),
      compensation,
    }),
  }).createMachine({
    id: "stay",
    initial: "booking",
    states: {
      booking: { invoke: { id: "book", src: "book", input: { room: "LIS-1" }, onDone: "cleaning" } },
      cleaning: { invoke: { id: "cleaner", src: "cleaner", input: {}, onDone: "asking" } },
      asking: { invoke: { id: "ask", src: "ask", input: { question: "Good?" }, onDone: "sleeping" } },
      sleeping: { after: { 259_200_000: "ringing" } },
      ringing: { invoke: { id: "ring", src: "ring", input: {}, onDone: "gone", onError: "gone" } },
      gone: { type: "final" },
    },
    output: () => "gone",
  });
  const stay = defineSaga({
    ...{ name: "stay", version: 1, input: z.json(), output: z.json(), signals: {} },
    machine,
  });
  const stays = defineApp({ sagas: [stay] });

  /** The whole story of one, and the turns after which each thing was open. */
  async function whole(t: TestMesh): Promise<{ turns: Turn[]; askedIn: (kind: string) => number }> {
    const saga = await t.start(stay, {}, { id: "stay" });
    const cleaner = (await t.list()).map(({ saga }) => saga).find((id) => id.startsWith("cleaner"));
    await t.anySaga(cleaner ?? "").signal("done", null);
    const [task] = await t.tasks();
    if (task !== undefined) await t.vote(task, { vote: "answer", answer: { ok: true } });
    await t.advance("73h");
    const turns = await saga.ledger();
    return {
      turns,
      askedIn: (kind) =>
        turns.find(({ steps }) => steps.some((step) => step.intents.some((one) => one.kind === kind)))
          ?.turn ?? 0,
    };
  }

  test("a child's result is the one its origin recorded, and no child is started again", async () => {
    await using t = testMesh(stays);
    const { askedIn } = await whole(t);
    const sagas = (await t.list()).length;
    const live = await t.fork(stay, "stay", { from: askedIn("saga"), id: "live", effects: "live" });
    expect(await t.list()).toHaveLength(sagas + 1);
    expect((await t.tasks()).map(({ saga, question: asks }) => [saga, asks])).toEqual([["live", "Good?"]]);
    expect(viewOf(await live.ledger())).toMatchObject({
      status: "running",
      fork: { saga: "stay", effects: "live" },
    });
  });

  test("a task is the fork's own to be answered, for as long as it had", async () => {
    await using t = testMesh(stays);
    const { askedIn } = await whole(t);
    await t.fork(stay, "stay", { from: askedIn("task"), id: "other" });
    const [task] = await t.tasks();
    expect(task).toMatchObject({ saga: "other" });
    await t.vote(task ?? { saga: "", intent: "" }, { vote: "answer", answer: { ok: true } });
    await t.advance("4d");
    expect(await t.saga(stay, "other").end()).toMatchObject({ status: "completed", output: "gone" });
  });

  test("a timer has the time left that it had", async () => {
    await using t = testMesh(stays);
    const { askedIn } = await whole(t);
    const other = await t.fork(stay, "stay", { from: askedIn("timer"), id: "other" });
    await t.advance("71h");
    expect(await other.end()).toBeUndefined();
    await t.advance("2h");
    expect(await other.end()).toMatchObject({ status: "completed" });
  });

  test("of an effect in flight a live fork is refused, unless its result is given; a simulated one goes on", async () => {
    await using t = testMesh(stays);
    const { turns } = await whole(t);
    const called = viewOf(turns).intents.find(
      ({ intent }) => intent.kind === "tool" && intent.name === "ring",
    );
    const from = called?.turn ?? 0;
    await t.fork(stay, "stay", { from, id: "refused", effects: "live" });
    expect(await t.letters()).toMatchObject([{ code: "FORK_NOT_LIVE" }]);
    expect((await t.list()).map(({ saga }) => saga)).not.toContain("refused");
    const given = { [called?.intent.id ?? ""]: { succeeded: { by: "hand" } } };
    const told = await t.fork(stay, "stay", { id: "told", effects: "live", toolResults: given });
    expect(await told.end()).toMatchObject({ status: "completed" });
    expect(by(await told.ledger()).at(-1)).toBe("test");
    const simulated = await t.fork(stay, "stay", { from, id: "simulated" });
    expect(await simulated.end()).toMatchObject({ status: "completed" });
    expect(by(await simulated.ledger()).at(-1)).toBe("simulated:sample");
    expect(t.effects(ring)).toHaveLength(1);
  });

  test("a live fork that is cancelled undoes what it inherited by its inherited key, and two of them ask for one undoing", async () => {
    await using t = testMesh(stays);
    const { askedIn, turns } = await whole(t);
    const [key] = keysOf(turns);
    for (const id of ["one", "two"])
      await (await t.fork(stay, "stay", { from: askedIn("task"), id, effects: "live" })).cancel("no");
    const undone = t.effects(free);
    expect(undone.map(({ input }) => input)).toEqual([{ key }, { key }]);
    expect(undone[0]?.key).toBe(undone[1]?.key);
    expect(undone[0]?.key).not.toBe(key);
    expect(await t.saga(stay, "one").end()).toMatchObject({ status: "cancelled", standing: [] });
  });

  test("a live fork of what its origin undid since is refused; the origin hears of no fork's cancel", async () => {
    await using t = testMesh(stays);
    const { askedIn } = await whole(t);
    const simulated = await t.fork(stay, "stay", { from: askedIn("task"), id: "simulated" });
    await simulated.cancel("no");
    expect(await simulated.end()).toMatchObject({ status: "cancelled", standing: [] });
    expect(t.effects(free)).toEqual([]);
    await t.saga(stay, "stay").cancel("no");
    await t.advance("2d");
    expect(t.effects(free)).toHaveLength(1);
    await t.fork(stay, "stay", { from: askedIn("task"), id: "refused", effects: "live" });
    expect(await t.letters()).toMatchObject([{ code: "FORK_NOT_LIVE" }]);
  });
});

describe("a fork of a fork", () => {
  test("has the keys of both, each of who decided it, and folds", async () => {
    await using t = testMesh(app);
    const turns = await origin(t);
    const first = await t.fork(agent, "origin", {
      from: settledIn(turns, "book"),
      id: "first",
      effects: "live",
    });
    await first.signal("more", { room: "LIS-3" });
    const own = await first.ledger();
    const second = await t.fork(agent, "first", {
      from: settledIn(own, "book", 1),
      id: "second",
      effects: "live",
    });
    const grand = await second.ledger();
    expect(await second.end()).toMatchObject({ status: "completed" });
    const heads = keysOf(grand).map((key) => key.slice(0, key.indexOf(".")));
    expect(heads).toEqual(["origin", "origin", "first"]);
    expect(foldLedger(agent.definition, grand).state.fork).toMatchObject({
      lineage: { saga: "first", before: [{ saga: "origin" }] },
    });
    expect(atOnce(promptOf(app, grand, grand.length)).proved).toBe(true);
    const early = await t.fork(agent, "first", { from: settledIn(own, "search"), id: "early" });
    await early.signal("more", { room: "LIS-3" });
    expect(await early.end()).toMatchObject({ status: "completed" });
    expect(keysOf(await early.ledger()).map((key) => key.slice(0, key.indexOf(".")))).toEqual([
      "origin",
      "early",
      "early",
    ]);
    expect(foldLedger(agent.definition, await early.ledger()).state.phase.kind).toBe("ended");
  });

  test("of a simulated one cannot be live: what it did never happened", async () => {
    await using t = testMesh(app);
    const turns = await origin(t);
    const first = await t.fork(agent, "origin", { from: settledIn(turns, "search"), id: "first" });
    const from = settledIn(await first.ledger(), "book");
    await t.fork(agent, "first", { from, id: "second", effects: "live" });
    expect(await t.letters()).toMatchObject([{ code: "FORK_NOT_LIVE" }]);
  });
});

describe("what is said in place of the record", () => {
  test("a model's output is carried out as if the model had said it; the turn follows from it", async () => {
    await using t = testMesh(app);
    const turns = await origin(t);
    const booked = viewOf(turns).intents.find(
      ({ intent }) => intent.kind === "tool" && intent.name === "book",
    );
    const replied = booked?.turn ?? 0; // The reply that asked for it was recorded there.
    const said = { calls: [{ tool: "book", input: { room: "LIS-2" } }] };
    const forked = await t.fork(agent, "origin", {
      modelOutputs: { [replied]: said },
      id: "said",
      effects: "live",
    });
    const own = await forked.ledger();
    expect(own[replied - 1]?.steps[0]?.event).toMatchObject({ type: "forked" });
    expect(own[replied - 1]?.steps[1]?.event).toMatchObject({ type: "result", by: "test" });
    expect(t.effects(book).at(-1)).toMatchObject({ input: { room: "LIS-2" } });
  });

  test("a tool's result takes the place of the recorded one, and a signal is heard before the model is asked", async () => {
    await using t = testMesh(app);
    const turns = await origin(t);
    const found = viewOf(turns).intents.find(
      ({ intent }) => intent.kind === "tool" && intent.name === "search",
    );
    const forked = await t.fork(agent, "origin", {
      toolResults: { [found?.intent.id ?? ""]: { succeeded: { rooms: [] } } },
      signals: [{ name: "more", data: { room: "LIS-8" } }],
      id: "told",
    });
    const own = await forked.ledger();
    const { request } = atOnce(promptOf(app, own, found?.settledTurn ?? 0));
    expect((request as unknown as ModelRequest).messages.slice(-2)).toMatchObject([
      { parts: [{ type: "result", output: { rooms: [] } }] },
      { parts: [{ type: "signal", name: "more" }] },
    ]);
  });
});

describe("a fork that cannot be", () => {
  const letterOf = async (t: TestMesh) => (await t.letters()).map(({ code, subject }) => [code, subject]);

  test("is refused by the client where the ledger tells: the code says what, the remedy which turn", async () => {
    await using t = testMesh(app);
    const turns = await origin(t);
    const booked = viewOf(turns).intents.find(
      ({ intent }) => intent.kind === "tool" && intent.name === "book",
    );
    const toolResults = { [booked?.intent.id ?? ""]: { succeeded: { receipt: "abc" } } };
    const fork = (options: object, of = "origin") => t.fork(agent, of, options);
    await expect(fork({ from: 1 }, "nobody")).rejects.toMatchObject({ code: "SAGA_UNKNOWN" });
    await expect(fork({ from: 99 })).rejects.toMatchObject({ code: "TURN_UNKNOWN" });
    await expect(fork({})).rejects.toMatchObject({ code: "INPUT_INVALID" });
    await expect(fork({ from: turns.length })).rejects.toMatchObject({ code: "SAGA_ENDED" });
    await expect(fork({ from: 1, toolResults })).rejects.toMatchObject({
      code: "NOT_OPEN_THEN",
      remedy: `Fork from turn ${(booked?.settledTurn ?? 0) - 1}.`,
    });
    await expect(fork({ toolResults: { "1-7": { failed: "no" } } })).rejects.toMatchObject({
      code: "INTENT_UNKNOWN",
    });
    await expect(fork({ modelOutputs: { 3: { calls: "x" as never } } })).rejects.toMatchObject({
      code: expect.stringMatching(/INPUT_INVALID|INTENT_UNKNOWN/) as string,
    });
    await expect(fork({ from: 2, id: "origin" })).rejects.toMatchObject({ code: "SAGA_ID_TAKEN" });
    expect((await t.list()).map(({ saga }) => saga)).toEqual(["origin"]);
  });

  test("is refused to the dead letters where only a host can tell, and leaves no ledger", async () => {
    await using t = testMesh(app);
    const turns = await origin(t);
    const booked = viewOf(turns).intents.find(
      ({ intent }) => intent.kind === "tool" && intent.name === "book",
    );
    const id = booked?.intent.id ?? "";
    await t.fork(agent, "origin", { from: 2, id: "a", model: "nobody" });
    await t.fork(agent, "origin", { id: "b", toolResults: { [id]: { succeeded: { receipt: 1 } } } });
    await t.fork(agent, "origin", { from: 2, id: "c", signals: [{ name: "unheard" }] });
    expect(await letterOf(t)).toEqual([
      ["MODEL_UNKNOWN", expect.stringContaining(".a.")],
      ["INPUT_INVALID", expect.stringContaining(".b.")],
      ["SIGNAL_UNKNOWN", expect.stringContaining(".c.")],
    ]);
    expect((await t.list()).map(({ saga }) => saga)).toEqual(["origin"]);
  });

  test("asked for twice is one fork; under its id no other is begun", async () => {
    await using t = testMesh(app);
    await origin(t);
    const one = await t.fork(agent, "origin", { from: 2, id: "same" });
    const { length } = await one.ledger();
    await t.fork(agent, "origin", { from: 2, id: "same" });
    expect(await one.ledger()).toHaveLength(length);
    await expect(t.fork(agent, "origin", { from: 2, id: "same", effects: "live" })).rejects.toMatchObject({
      code: "SAGA_ID_TAKEN",
    });
    await expect(t.start(agent, { city: "LIS" }, { id: "same" })).rejects.toMatchObject({
      code: "SAGA_ID_TAKEN",
    });
  });
});

test("a host that dies at any write of a fork doubles and loses nothing, and the copies are the same bytes", async () => {
  const quick = defineApp({
    sagas: [agent],
    models: { plain: scriptedModel("plain", plain) },
  });
  const report = await crashMatrix(quick, async (t) => {
    const turns = await origin(t, { ends: false });
    const n = settledIn(turns, "book");
    const forked = await t.fork(agent, "origin", { from: n, id: "fork", effects: "live" });
    await forked.signal("more", { room: "LIS-3" });
    const end = await forked.result();
    const own = await forked.ledger();
    const shared = own.slice(0, n).map(({ steps }) => steps.map(({ intents }) => intents));
    const same = turns.slice(0, n).map(({ steps }) => steps.map(({ intents }) => intents));
    expect(shared).toEqual(same);
    expect(foldLedger(agent.definition, own).state.phase.kind).toBe("ended");
    return [end.status, own[n]?.steps[0]?.event.type];
  });
  expect(report.rows.length).toBeGreaterThan(40);
  expect(report.faults, report.text).toEqual([]);
});
