/**
 * Goal: a worker performs what was asked, or does not: whatever workers there are, a call is performed under the contract
 * that its ledger names.
 * Method: hosts and workers of several application files on one mesh, on a real server; random mixes of calls and
 * workers on a memory mesh, where every performed attempt is held against its ledger.
 */
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { contractDigest } from "../../../actors/contract/contract-digest.ts";
import { defineTool, implement, type Implementation, type Tool } from "../../../actors/contract/tool.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { scriptedModel } from "../../../services/models/scripted.ts";
import { silentLog } from "../../../services/process/log.ts";
import { systemChance, systemClock } from "../../../services/runtime/system.ts";
import { pause, resume } from "../../../services/throttle/pause.ts";
import { readView } from "../../../services/views/view.ts";
import { startWorker } from "../../../services/worker/worker.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
  until,
} from "../../support/real-mesh.ts";
import { outcomesIn } from "../../support/scripted-agent.ts";

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

const base = { name: "post", description: "Posts.", effect: "idempotent" } as const;
const posted = z.object({ id: z.string() });
const unpostOf = (version: number, output: z.ZodType) =>
  defineTool({
    ...{ name: "unpost", description: "Takes a post back.", effect: "idempotent", version },
    ...{ input: z.object({ key: z.string() }), output },
  });
const unpost1 = unpostOf(1, z.object({}));
const unpost2 = unpostOf(2, z.object({ at: z.string() }));
const post1 = defineTool({
  ...base,
  input: z.object({ text: z.string() }),
  output: posted,
  compensation: { tool: unpost1, input: ({ key }) => ({ key }) },
});
/** Today's: it must be told to whom. */
const post2 = defineTool({
  ...{ ...base, version: 2, output: posted },
  input: z.object({ text: z.string(), to: z.string() }),
  compensation: { tool: unpost2, input: ({ key }) => ({ key }) },
});

/** An agent that posts once and ends, or posts and then waits for a note. */
const posting = (version: number, tool: Tool, then: "ends" | "waits" = "ends") =>
  defineAgent({
    ...{ name: "poster", version, description: "Posts.", instructions: "Post.", model: `m${version}` },
    ...{ input: z.object({}), output: z.json(), signals: { note: z.string() }, tools: [tool] },
    ...(then === "waits" ? { description: "Posts and waits." } : {}),
  });
const v1 = posting(1, post1);
const v2 = posting(2, post2);
const calls: Record<number, Json> = { 1: { text: "a" }, 2: { text: "a", to: "ana" } };
const modelOf = (version: number, then: "ends" | "waits" = "ends") =>
  scriptedModel(`m${version}`, (request) => {
    if (request.step === 1) return { calls: [{ tool: "post", input: calls[version]! }] };
    if (then === "waits" && request.step === 2)
      return { calls: [{ tool: "wait", input: { signals: ["note"] } }] };
    return { calls: [{ tool: "finish", input: { output: outcomesIn(request) as unknown as Json } }] };
  });
const models = { m1: modelOf(1), m2: modelOf(2) };

/** A body that notes what it is given. */
function noting(tool: Tool, as: string, output: Json = { id: as }) {
  const given: { as: string; input: unknown; key: string }[] = [];
  const perform = async (input: unknown, { key }: { key: string }) => {
    given.push({ as, input, key });
    return output as never;
  };
  return { given, body: implement(tool, { perform }) };
}
const file = (...implementations: Implementation[]) => defineApp({ implementations });
const start = (version: number, id: string) =>
  mesh.client.start(version === 1 ? v1 : v2, {}, { id, version });
const isOpen = (id: string) => async () =>
  (await mesh.view(id)).intents.some(
    ({ intent, outcome }) => intent.kind === "tool" && outcome === undefined,
  );

describe("a worker of yesterday beside a call of today's", () => {
  test("leaves it to a worker of today's, for which it waits", async () => {
    const [old, now] = [noting(post1, "old"), noting(post2, "now")];
    await mesh.host(defineApp({ sagas: [v1, v2], models }));
    await mesh.worker(file(old.body));
    const today = await start(2, "s2");
    expect(await (await start(1, "s1")).result()).toMatchObject({ status: "completed" });
    await until("the call is open", isOpen("s2"));
    expect(old.given).toMatchObject([{ input: { text: "a" } }]);
    await mesh.worker(file(now.body));
    expect(await today.result()).toMatchObject({ output: [{ outcome: "succeeded", output: { id: "now" } }] });
    expect(now.given).toMatchObject([{ input: { text: "a", to: "ana" } }]);
    expect(old.given).toHaveLength(1);
  });

  test("undoes what was done under yesterday's contract, and no worker of today's does", async () => {
    const old = [noting(post1, "old"), noting(unpost1, "old", {})] as const;
    const now = [noting(post2, "now"), noting(unpost2, "now", { at: "noon" })] as const;
    const waiting = posting(1, post1, "waits");
    await mesh.host(defineApp({ sagas: [waiting, v2], models: { ...models, m1: modelOf(1, "waits") } }));
    const gone = await mesh.worker(file(...old.map(({ body }) => body)));
    const saga = await mesh.client.start(waiting, {}, { id: "s1", version: 1 });
    await until("it has posted", () => old[0].given.length === 1);
    await until("its worker has said so", async () => !(await isOpen("s1")()));
    await gone.stop(0);
    await mesh.worker(file(...now.map(({ body }) => body)));
    await saga.cancel("wrong text");
    await until("the undoing is open", isOpen("s1"));
    expect(await (await start(2, "s2")).result()).toMatchObject({ status: "completed" });
    expect(now[1].given).toEqual([]);
    await mesh.worker(file(...old.map(({ body }) => body)));
    expect(await saga.result()).toMatchObject({ status: "cancelled", standing: [] });
    expect(old[1].given).toMatchObject([{ input: { key: old[0].given[0]?.key } }]);
    expect(now[1].given).toEqual([]);
  });

  test("is paused with every contract of the tool, one that comes later too", async () => {
    const operator = { ports: mesh.ports, clock: systemClock, chance: systemChance, from: "ops" };
    const [old, now] = [noting(post1, "old"), noting(post2, "now")];
    const free = defineTool({ ...post1, name: "free", compensation: "point_of_no_return" } as never);
    const idle = defineAgent({
      ...{ name: "idle", version: 1, description: "Idles.", instructions: "Idle.", model: "m3" },
      ...{ input: z.object({}), output: z.json(), signals: {}, tools: [free] },
    });
    const m3 = scriptedModel("m3", ({ step }) =>
      step === 1
        ? { calls: [{ tool: "free", input: { text: "a" } }] }
        : { calls: [{ tool: "finish", input: { output: 1 } }] },
    );
    await mesh.host(defineApp({ sagas: [v1, v2, idle], models: { ...models, m3 } }));
    await mesh.worker(file(old.body));
    await pause(operator, { kind: "tool", name: "post" }, "the board is full");
    await mesh.worker(file(now.body));
    const ends = [await start(1, "s1"), await start(2, "s2")];
    for (const id of ["s1", "s2"]) await until(`the call of ${id} is open`, isOpen(id));
    const other = noting(free, "free");
    await mesh.worker(file(other.body));
    for (const n of [1, 2, 3]) await (await mesh.client.start(idle, {}, { id: `free${n}` })).result();
    expect(other.given).toHaveLength(3); // Of a tool that is not paused, and asked for later.
    expect([...old.given, ...now.given]).toEqual([]);
    await resume(operator, { kind: "tool", name: "post" });
    for (const end of ends) expect(await end.result()).toMatchObject({ status: "completed" });
    expect([old.given.length, now.given.length]).toEqual([1, 1]);
  });
});

describe("one application file with two versions of a tool", () => {
  test("binds each to the definitions that name it, and each body to its own contract", async () => {
    const [old, now] = [noting(post1, "old"), noting(post2, "now")];
    const app = defineApp({ sagas: [v1, v2], models, implementations: [old.body, now.body] });
    expect(app.faults).toEqual([]);
    await mesh.host(app);
    await mesh.worker(app);
    const ends = await Promise.all([1, 2, 1, 2].map(async (v, n) => (await start(v, `s${n}`)).result()));
    expect(ends.every(({ status }) => status === "completed")).toBe(true);
    expect(old.given.map(({ input }) => input)).toEqual([calls[1], calls[1]]);
    expect(now.given.map(({ input }) => input)).toEqual([calls[2], calls[2]]);
    const recorded = (await mesh.turns("s1")).flatMap(({ steps }) => steps.flatMap(({ intents }) => intents));
    expect(recorded.filter(({ kind }) => kind === "tool")).toMatchObject([
      { contract: contractDigest(post2) },
    ]);
  });

  test("keeps one bound for both", async () => {
    let [running, most] = [0, 0];
    const bounded = (tool: Tool) =>
      implement(
        { ...tool, concurrencyMax: 2 },
        {
          perform: async () => {
            most = Math.max(most, ++running);
            await systemClock.sleep(40);
            running -= 1;
            return { id: "1" };
          },
        },
      );
    await mesh.host(defineApp({ sagas: [v1, v2], models }));
    await mesh.worker(file(bounded(post1)));
    await mesh.worker(file(bounded(post2)));
    const started = await Promise.all(Array.from({ length: 12 }, (_, n) => start((n % 2) + 1, `s${n}`)));
    for (const saga of started) expect(await saga.result()).toMatchObject({ status: "completed" });
    expect(most).toBe(2);
  });
});

describe("a body that accepts an older contract", () => {
  const accepting = (
    map: (old: { text: string }) => { text: string; to: string },
    output: Json = { id: "now" },
  ) => {
    const given: unknown[] = [];
    const body = implement(post2, {
      perform: async (input) => {
        given.push(input);
        return output as { id: string };
      },
      accepts: [{ contract: post1, input: map }],
    });
    return { given, body };
  };
  const outcomeOf = async (body: Implementation) => {
    await mesh.host(defineApp({ sagas: [v1], models: { m1: modelOf(1) } }));
    await mesh.worker(file(body));
    return (await start(1, "s1")).result();
  };

  test("is given what its function makes of the older input, and the saga hears of it as ever", async () => {
    const { given, body } = accepting(({ text }) => ({ text: `${text}!`, to: "all" }));
    expect(await outcomeOf(body)).toMatchObject({
      output: [{ outcome: "succeeded", output: { id: "now" } }],
    });
    expect(given).toEqual([{ text: "a!", to: "all" }]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no such post");
      },
      /does not become one of post@2.*no such post/,
    ],
    ["makes what its own contract refuses", () => ({ text: "a" }) as never, /does not become one of post@2/],
  ])("whose function %s has performed nothing, and says so with a code", async (_, map, reason) => {
    const { given, body } = accepting(map);
    expect(await outcomeOf(body)).toMatchObject({
      output: [{ outcome: "failed", code: "CALL_INVALID", reason: expect.stringMatching(reason) }],
    });
    expect(given).toEqual([]);
  });

  test("whose output the older contract does not take ends the call as one that cannot be read", async () => {
    const { given, body } = accepting(({ text }) => ({ text, to: "all" }), { number: 7 });
    expect(await outcomeOf(body)).toMatchObject({ output: [{ outcome: "failed", code: "BAD_RESULT" }] });
    expect(given).toHaveLength(1);
  });

  test("leaves the older contract to a body of its own, where the file has one", async () => {
    const [old, { given, body }] = [noting(post1, "old"), accepting(({ text }) => ({ text, to: "all" }))];
    await mesh.host(defineApp({ sagas: [v1], models: { m1: modelOf(1) } }));
    await mesh.worker(file(body, old.body));
    await (await start(1, "s1")).result();
    expect([old.given.length, given.length]).toEqual([1, 0]);
  });

  test.each([
    ["another tool", unpost1, /^tool post@2 accepts "unpost", which is another tool$/],
    [
      "another class",
      defineTool({ ...post1, effect: "read" } as never),
      /accepts post, which is "read" and not "idempotent"/,
    ],
    ["its own contract", post2, /accepts its own contract$/],
  ])("cannot accept %s", (_, contract, fault) => {
    const perform = async () => ({ id: "1" });
    const body = implement(post2, { perform, accepts: [{ contract, input: (old) => old as never }] });
    expect(file(body).faults).toMatchObject([expect.stringMatching(fault)]);
  });
});

test("whatever workers and calls there are, each attempt is performed under the contract that its ledger names", async () => {
  const versions = [1, 2, 3, 4];
  const tools = versions.map((version) =>
    defineTool({ ...base, version, input: z.object({ v: z.literal(version) }), output: posted }),
  );
  const agents = tools.map((tool, n) =>
    defineAgent({
      ...{ name: "poster", version: n + 1, description: "Posts.", instructions: "Post.", model: `m${n + 1}` },
      ...{ input: z.object({}), output: z.json(), signals: {}, tools: [tool] },
    }),
  );
  const scripts = Object.fromEntries(
    versions.map((v) => [
      `m${v}`,
      scriptedModel(`m${v}`, (request) =>
        request.step === 1
          ? { calls: [{ tool: "post", input: { v } }] }
          : { calls: [{ tool: "finish", input: { output: outcomesIn(request) as unknown as Json } }] },
      ),
    ]),
  );
  const subset = fc.subarray([0, 1, 2, 3], { minLength: 1 });
  const mix = fc.record({
    first: fc.array(subset, { maxLength: 3 }),
    sagas: fc.array(fc.nat(3), { minLength: 1, maxLength: 8 }),
    seed: fc.nat(1_000),
  });
  await fc.assert(
    fc.asyncProperty(mix, async ({ first, sagas, seed }) => {
      const memory = createMemoryMesh({ seed });
      const spawn = (name: string) => ({
        ...memory.spawn(name),
        ...{ log: silentLog, callbackBase: "sagamesh:", incarnation: name },
      });
      const performed: { key: string; contract: string }[] = [];
      const worker = (has: readonly number[], name: string) =>
        memory.clock.until(
          startWorker(
            spawn(name),
            file(
              ...has.map((n) =>
                implement(tools[n]!, {
                  perform: async (_, { key }) => {
                    performed.push({ key, contract: contractDigest(tools[n]!) });
                    return { id: "1" };
                  },
                }),
              ),
            ),
          ),
        );
      const host = await memory.clock.until(
        startHost(spawn("h"), defineApp({ sagas: agents, models: scripts })),
      );
      const reader = memory.spawn("c");
      const client = createClient({ ...reader, from: "c" }, async () => undefined);
      const workers = await Promise.all(first.map((has, n) => worker(has, `w${n}`)));
      const handles = [];
      for (const [n, v] of sagas.entries())
        handles.push(await memory.clock.until(client.start(agents[v]!, {}, { id: `s${n}`, version: v + 1 })));
      await memory.clock.advance(5_000);
      const served = new Set(first.flat());
      expect(performed).toHaveLength(sagas.filter((v) => served.has(v)).length);
      workers.push(await worker([0, 1, 2, 3], "last"));
      for (const handle of handles)
        expect(await memory.clock.until(handle.result())).toMatchObject({ status: "completed" });
      for (const [n] of sagas.entries()) {
        const { intents } = await memory.clock.until(readView(reader.ports, parseSagaId(`s${n}`)));
        const [recorded] = intents.flatMap(({ intent }) => (intent.kind === "tool" ? [intent] : []));
        expect(performed.filter(({ key }) => key === recorded?.key)).toEqual([
          { key: recorded?.key, contract: recorded?.contract },
        ]);
      }
      await memory.clock.until(Promise.all([host.stop(0), ...workers.map((one) => one.stop(0))]));
    }),
    { numRuns: 15 },
  );
});
