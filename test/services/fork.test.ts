/**
 * Forks: what is shared is done once, what follows is the fork's own, and nothing outside is touched unless that is
 * asked for.
 *
 * Method: an agent and machines of this file on test meshes, whose outside counts what it is asked for.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { foldLedger } from "../../actors/replay.ts";
import { toActors, modelCall, question } from "../../actors/callable.ts";
import type { ModelRequest } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import { promptOf } from "../../services/client/prompt.ts";
import { viewOf } from "../../services/client/view.ts";
import {
  compensation,
  defineAgent,
  defineApp,
  defineSaga,
  defineTool,
  type SignalEvents,
} from "../../services/index.ts";
import { crashMatrix, scriptedModel, testMesh, type TestMesh } from "../../services/testing/index.ts";
import { call, finish } from "../support/workbench.ts";

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
const app = defineApp({ agents: [agent], models });

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
    const sims = async (id: string) => by(await t.ledger(id)).filter((one) => one.startsWith("simulated"));
    expect(await sims("same")).toEqual([`simulated:${first?.intent.id}`, `simulated:${second?.intent.id}`]);
    expect(await sims("other")).toEqual(["simulated:sample", "simulated:sample"]);
    expect(keysOf(await t.ledger("same")).at(-1)).toMatch(/^same\./);
    const outputs = viewOf(await t.ledger("same")).intents.flatMap(({ output }) =>
      output === undefined ? [] : [output],
    );
    expect(outputs).toContainEqual(first?.output);
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
    const prompt = promptOf(app, own, own.length);
    expect(prompt).toMatchObject({
      saga: "bold",
      model: "bold",
      proved: true,
      request: { model: "bold", saga: "bold" },
    });
    expect((prompt.request as { instructions: string }).instructions).toMatch(
      /^Be bold\.\n\nAct only by calls/,
    );
    const shared = promptOf(app, own, n - 1);
    expect(shared).toMatchObject({ proved: true, request: { model: "plain", saga: "origin" } });
  });
});
