/**
 * The client against a real server, with a host and a worker in this process: what a call resolves for is
 * in the ledger, and what cannot be is refused with a code.
 */
import { jetstreamManager } from "@nats-io/jetstream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import desk from "../../apps/desk.ts";
import { desk as agent } from "../../apps/desk-contract.ts";
import { streams } from "../../../protocol/subjects.ts";
import { connectNats } from "../../../services/nats/connection.ts";
import { createClient, type Mesh } from "../../../services/client/mesh.ts";
import { readView } from "../../../services/views/view.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import { startHost } from "../../../services/host/host.ts";
import { silentLog } from "../../../services/process/log.ts";
import { startWorker } from "../../../services/worker/worker.ts";
import { openMesh, type OpenMesh } from "../../../services/runtime/mesh.ts";
import { newIncarnation, systemChance, systemClock } from "../../../services/runtime/system.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";

let server: TestServer;
let open: OpenMesh;
let mesh: Mesh;
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startTestServer();
  open = await openMesh({ servers: server.url, name: "client test", report: () => undefined });
  const deps = {
    ports: open.ports,
    clock: systemClock,
    chance: systemChance,
    log: silentLog,
    callbackBase: "https://example.org/callbacks/",
  };
  const host = await startHost({ ...deps, incarnation: newIncarnation("host") }, desk);
  const worker = await startWorker({ ...deps, incarnation: newIncarnation("worker") }, desk);
  mesh = createClient({ ...deps, from: "ana" }, async () => undefined);
  stops.push(
    () => host.stop(1_000),
    () => worker.stop(1_000),
    () => open.close(),
    () => server.stop(),
  );
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

const start = (id: string, errand: "book" | "airline" | "airline_twice" | "upgrade" | "wait" | "pay") =>
  mesh.start(agent, { errand, to: "rome" }, { id });
const view = (id: string) => readView(open.ports, id as SagaId);

async function until<T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  for (const giveUpAt = Date.now() + 15_000; ; await systemClock.sleep(20)) {
    const value = await read().catch(() => undefined);
    if (value !== undefined && holds(value)) return value;
    if (Date.now() > giveUpAt) throw new Error(`it never held: ${JSON.stringify(value)}`);
  }
}
const deferredOf = (id: string, attempt = 1) =>
  until(
    () => view(id),
    ({ intents }) => intents.some((one) => one.deferred && one.attempt === attempt),
  );

test("a hundred that wait for an end cost the server no consumer, and hear of it", async () => {
  const saga = await start("waited-for", "wait");
  const over = new AbortController();
  const waiting = Array.from({ length: 100 }, () => saga.result({ signal: over.signal }));
  await until(
    () => view("waited-for"),
    ({ turns }) => turns > 0,
  );
  const nc = await connectNats({ servers: [server.url], name: "looking" });
  const jsm = await jetstreamManager(nc);
  expect((await jsm.streams.info(streams.ledger)).state.consumer_count).toBe(0);
  await nc.close();
  await saga.cancel("enough");
  const ends = await Promise.all(waiting);
  expect(ends.every(({ status }) => status === "cancelled")).toBe(true);
});

describe("starting", () => {
  test("a saga runs to its output, which is the definition's", async () => {
    const saga = await start("client-1", "book");
    expect(await saga.result()).toEqual({ status: "completed", output: { done: "after 2" }, standing: [] });
  });

  test("a minted id begins with the definition's name", async () => {
    const saga = await mesh.start(agent, { errand: "pay", to: "rome" });
    expect(saga.id).toMatch(/^desk-/);
    expect((await saga.result()).status).toBe("completed");
  });

  test("the same id and input is the same saga; with another input it is taken", async () => {
    await (await start("client-2", "book")).result();
    await (await start("client-2", "book")).result();
    expect((await view("client-2")).intents.filter(({ intent }) => intent.kind === "model")).toHaveLength(2);
    await expect(start("client-2", "pay")).rejects.toThrow(/SAGA_ID_TAKEN/);
  });

  test("an input that does not fit, and an id that is none, are refused before anything is sent", async () => {
    await expect(
      mesh.start(agent, { errand: "fly" as "book", to: "rome" }, { id: "client-3" }),
    ).rejects.toThrow(/INPUT_INVALID/);
    await expect(start("client.3", "book")).rejects.toThrow(/BAD_ID/);
    expect(await open.ports.ledger.last("client-3" as SagaId)).toBeUndefined();
  });
});

describe("signals", () => {
  test("the same signal sent twice is one", async () => {
    const saga = await start("client-4", "wait");
    await until(
      () => view("client-4"),
      ({ turns }) => turns === 2,
    );
    await saga.signal("note", { text: "Tuesday" }, { id: "note-1" });
    await saga.signal("note", { text: "Tuesday" }, { id: "note-1" });
    await saga.result();
    const events: string[] = [];
    for await (const turn of saga.entries())
      for (const { event } of turn.steps) if (event.type === "signal") events.push(event.id);
    expect(events).toEqual(["note-1"]);
  });

  test("a signal that is not declared or does not fit is refused here", async () => {
    const saga = mesh.saga(agent, "client-4");
    await expect(saga.signal("nothing" as "note", { text: "x" })).rejects.toThrow(/SIGNAL_UNKNOWN/);
    await expect(saga.signal("note", { text: 3 as unknown as string })).rejects.toThrow(/INPUT_INVALID/);
  });

  test("cancel ends a saga that waits, with the reason", async () => {
    const saga = await start("client-5", "airline");
    await deferredOf("client-5");
    await saga.cancel("no budget");
    expect(await saga.result()).toMatchObject({ status: "cancelled", reason: "no budget" });
  });
});

describe("answers from outside", () => {
  test.each([
    ["its token", "client-6.2-0"],
    ["its callback URL", "https://example.org/callbacks/client-7.2-0"],
  ])("a deferred call is settled by %s", async (_, token) => {
    const id = /client-\d/.exec(token)?.[0] ?? "";
    const saga = await start(id, "airline");
    await deferredOf(id);
    await mesh.settle(token, { succeeded: { answer: "window" } });
    expect((await saga.result()).status).toBe("completed");
    expect((await view(id)).intents.find(({ intent }) => intent.id === "2-0")).toMatchObject({
      outcome: "succeeded",
      by: "ana",
    });
  });

  test("a failure from outside counts for the attempt that is open, not for the first", async () => {
    const saga = await start("client-8", "airline_twice");
    await deferredOf("client-8", 2);
    await mesh.settle("client-8.2-0", { failed: "they hung up" });
    expect((await saga.result()).status).toBe("completed");
    expect((await view("client-8")).intents.find(({ intent }) => intent.id === "2-0")).toMatchObject({
      outcome: "failed",
      attempt: 2,
      reason: "they hung up",
    });
  });

  test("a token of nothing is refused", async () => {
    await expect(mesh.settle("nonsense", { succeeded: {} })).rejects.toThrow(/BAD_ID/);
    await expect(mesh.settle("nobody.2-0", { succeeded: {} })).rejects.toThrow(/SAGA_UNKNOWN/);
    await expect(mesh.settle("client-6.9-9", { succeeded: {} })).rejects.toThrow(/INTENT_UNKNOWN/);
  });
});

describe("tasks", () => {
  test("an open task is listed with its deadline until somebody votes", async () => {
    const saga = await start("client-9", "upgrade");
    const [task] = await until(
      async () => (await mesh.tasks()).filter((one) => one.saga === "client-9"),
      (tasks) => tasks.length === 1,
    );
    expect(task).toMatchObject({ agent: "desk", about: "approval", to: ["ana"], input: { to: "rome" } });
    expect(task?.dueAt).toBeGreaterThan(Date.now());
    await mesh.vote({ saga: "client-9", intent: task?.intent ?? "" }, { vote: "approve", by: "ana" });
    expect((await saga.result()).status).toBe("completed");
    expect((await mesh.tasks()).filter((one) => one.saga === "client-9")).toEqual([]);
  });
});

describe("following", () => {
  test("entries of an ended saga are all its turns, in order, and the loop ends", async () => {
    const saga = await start("client-10", "book");
    await saga.result();
    const turns: number[] = [];
    for await (const { turn } of saga.entries()) turns.push(turn);
    expect(turns).toEqual(Array.from({ length: (await view("client-10")).turns }, (_, index) => index + 1));
  });

  test("waiting for an end can be called off", async () => {
    const saga = await start("client-11", "wait");
    const waiting = saga.result({ signal: AbortSignal.timeout(300) });
    await expect(waiting).rejects.toThrow(/TimeoutError|aborted/i);
  });
});
