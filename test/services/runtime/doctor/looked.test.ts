/**
 * Goal: doctor says by the rows of the listing what it says by all ledgers, reads no more for the sagas that have ended, stops where
 * sagas that wait are very many, and looks at all ledgers, saying so, wherever the rows cannot be gone by.
 * Method: a real server with sagas of every kind that doctor has something to say of, asked both ways; the requests for turns that
 * the server gets are counted. The bounds are shown on the mesh in memory, where thousands of rows cost little.
 */
import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { defineAgent, defineApp, defineTool } from "sagamesh";
import { scriptedModel } from "sagamesh/testing";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { decode, encodeJson } from "../../../../protocol/codec.ts";
import { chainHash } from "../../../../protocol/digest.ts";
import { encodeRow, rowKey } from "../../../../protocol/documents/listing.ts";
import type { DoctorDocument } from "../../../../protocol/documents/doctor.ts";
import { parseSagaId } from "../../../../protocol/ids.ts";
import type { Json } from "../../../../protocol/json.ts";
import { limits } from "../../../../protocol/limits.ts";
import { headers, subjects } from "../../../../protocol/subjects.ts";
import { createMemoryMesh } from "../../../../services/memory/mesh.ts";
import type * as examining from "../../../../services/nats/examine.ts";
import { glancedAtMax, lookedAtMax, quietAmong } from "../../../../services/runtime/examine-which.ts";
import { codes, doctor, saying } from "../../../support/doctor.ts";
import { ownOfFile } from "../../../support/own-file.ts";
import { openRealMesh, type RealMesh, until } from "../../../support/real-mesh.ts";
import { calling, Of } from "../../../support/workbench.ts";

/** How much later it is for the doctor than it is, in milliseconds. */
const later = vi.hoisted(() => ({ ms: 0 }));
vi.mock("../../../../services/nats/examine.ts", async (importActual) => {
  const actual = await importActual<typeof examining>();
  const examineMesh = async (nc: NatsConnection) => {
    const examined = await actual.examineMesh(nc);
    return { ...examined, now: examined.now + later.ms };
  };
  return { ...actual, examineMesh };
});

const own = ownOfFile("looked", 3);

const quick = defineTool({
  ...{ name: "quick", description: "Does it.", effect: "idempotent", compensation: "point_of_no_return" },
  ...{ input: Of, output: z.object({}), placement: "host" },
  perform: async () => ({}),
});
const ring = defineTool({
  ...{ name: "ring", description: "Rings.", effect: "once", compensation: "point_of_no_return" },
  ...{ input: z.object({}), output: z.object({}) },
  perform: async () => ({}),
});
const porter = defineAgent({
  ...{ name: "porter", version: 1, description: "Rings or waits.", model: "script", instructions: "Ring." },
  ...{
    input: z.object({ rings: z.boolean() }),
    output: z.json(),
    signals: { go: z.object({}) },
    tools: [ring],
  },
});
const script = scriptedModel("script", ({ messages }) => {
  if (JSON.stringify(messages[0]).includes("true")) return { calls: [{ tool: "ring", input: {} }] };
  return { calls: [{ tool: "wait", input: { signals: ["go"] } }] };
});
const resting = calling(quick);
const app = defineApp({ sagas: [porter, resting], models: { script } });

const isWhole = (mesh: RealMesh) =>
  until("the rows are whole", async () => (await doctor(mesh.url)).looked?.by === "rows");

/** What is said of sagas, but for how long: another moment's is another number. */
const said = ({ waits, orphaned, ahead, parked, unreadable, foreign, deployments }: DoctorDocument) => ({
  waits: waits?.map((one) => ({ ...one, longestMs: 0 })),
  orphaned: orphaned && { ...orphaned, some: orphaned.some.map((one) => ({ ...one, standsMs: 0 })) },
  ...{ ahead, parked, unreadable, foreign, deployments },
});

test("what is said by the rows is what is said by all ledgers", async () => {
  const mesh = await openRealMesh(own.server.nextUrl());
  try {
    const host = await mesh.host(app);
    const waiting = ["waits-1", "waits-2", "later", "junk"];
    for (const id of waiting) await mesh.client.start(porter, { rings: false }, { id });
    await mesh.client.start(porter, { rings: true }, { id: "lost" });
    await mesh.client.start(resting, { of: "x" }, { id: "over" });
    const { streams } = await jetstreamManager(mesh.nc);
    const turns = async (id: string) => (await mesh.view(id).catch(() => undefined))?.turns ?? 0;
    await until("all wait", async () => (await Promise.all(waiting.map(turns))).every((n) => n > 1));
    await until("it is called", async () => (await streams.info("WORK")).state.messages === 1);
    await streams.purge("WORK");
    mesh.nc.publish(subjects.ledger(parseSagaId("junk")), "junk");
    const last = await mesh.ports.ledger.last(parseSagaId("later"));
    if (last === undefined) throw new Error("it has begun");
    const turn = decode(last.data, last.headers[headers.contentType]) as Readonly<Record<string, Json>>;
    const next = { ...turn, v: 99, turn: Number(turn["turn"]) + 1, prev: chainHash(last.data) };
    mesh.nc.publish(subjects.ledger(parseSagaId("later")), JSON.stringify(next));
    await mesh.nc.flush();
    await isWhole(mesh);

    later.ms = limits.signalAwaitedMs + 60_000;
    const byRows = await doctor(mesh.url);
    const deep = await doctor(mesh.url, { deep: true });
    expect(byRows.looked).toEqual({ by: "rows", sagas: waiting.length + 1, more: false });
    expect(deep.looked).toEqual({ by: "ledgers", sagas: waiting.length + 2, more: false });
    expect(said(byRows)).toEqual(said(deep));
    expect(codes(byRows, "wrong")).toEqual(expect.arrayContaining(["ORPHANED", "UNREADABLE_SAGAS"]));
    expect(codes(byRows, "warning")).toEqual(expect.arrayContaining(["SIGNAL_AWAITED", "FOREIGN_MESSAGES"]));
    expect(byRows.waits).toMatchObject([{ sagas: 3 }]);
    expect(byRows.foreign).toEqual({ messages: 1, sagas: 1, some: ["junk"] });

    await host.stop(0);
    const begun = parseSagaId("unlisted");
    const start = { type: "start", definition: { name: "x", version: 1, hash: "h" }, input: null };
    const first = { v: 3, saga: begun, turn: 1, at: 1, host: "h", prev: "" };
    const data = encodeJson({ ...first, steps: [{ event: start as Json, intents: [], closed: [] }] });
    await mesh.ports.ledger.append(begun, { data, headers: {}, expectedSeq: 0 });
    const fallen = await doctor(mesh.url);
    expect(fallen.looked).toMatchObject({
      ...{ by: "ledgers", sagas: waiting.length + 3, more: false },
      why: "the listing of sagas is being caught up with the ledgers",
    });
    expect(saying(fallen, "LOOKED")).toContain("being caught up");
    expect(fallen.waits).toEqual(
      expect.arrayContaining([expect.objectContaining({ sagas: 3, signals: ["go"] })]),
    );
  } finally {
    later.ms = 0;
    await mesh.close();
  }
});

test("for a thousand sagas that have ended no more turns are read than for ten", async () => {
  const mesh = await openRealMesh(own.server.nextUrl());
  try {
    await mesh.host(app);
    await mesh.client.start(porter, { rings: false }, { id: "waits" });
    const end = async (from: number, to: number) => {
      for (let next = from; next < to; next += 90)
        await Promise.all(
          Array.from({ length: Math.min(90, to - next) }, (_, k) =>
            mesh.client.start(resting, { of: "x" }, { id: `over-${next + k}` }),
          ),
        );
      const running = async () => (await mesh.client.list({ running: true })).length;
      await until("all but one have ended", async () => (await running()) === 1, 60_000);
    };
    const read = async () => {
      await isWhole(mesh);
      const asked: string[] = [];
      const counting = mesh.nc.subscribe("$JS.API.>", {
        callback: (_error, { subject }) => {
          if (/\.(MSG|DIRECT)\.GET\.LEDGER/.test(subject)) asked.push(subject);
        },
      });
      await mesh.nc.flush();
      const { looked } = await doctor(mesh.url);
      await mesh.nc.flush();
      counting.unsubscribe();
      return { looked, asked: asked.length };
    };
    later.ms = 5 * 60_000;
    await end(0, 10);
    const few = await read();
    expect(few).toMatchObject({ looked: { by: "rows", sagas: 1 } });
    expect(few.asked).toBeGreaterThan(0);
    await end(10, 1_000);
    expect(await read()).toEqual(few);
  } finally {
    later.ms = 0;
    await mesh.close();
  }
}, 120_000);

test("of very many sagas that rest a thousand are looked at, and of very many that move few thousand are glanced at", async () => {
  const mesh = createMemoryMesh({ seed: 3 });
  const { ports } = mesh.spawn("look");
  const { listing, ledger } = ports;
  if (listing === undefined) throw new Error("a mesh in memory has one");
  const list = async (name: string, count: number) => {
    for (let n = 0; n < count; n++) {
      const saga = parseSagaId(`${name}-${n}`);
      const key = rowKey({ status: "running", asks: false, name, saga });
      await mesh.clock.until(listing.put(key, encodeRow({ turn: 1, at: 1 }), saga));
    }
  };
  const begin = async (name: string, count: number) => {
    for (let n = 0; n < count; n++) {
      const saga = parseSagaId(`${name}-${n}`);
      const event: Json = { type: "start", definition: { name, version: 1, hash: "h" }, input: null };
      const turn = { v: 3, saga, turn: 1, at: 1, host: "h", prev: "", steps: [{ event, intents: [] }] };
      await mesh.clock.until(ledger.append(saga, { data: encodeJson(turn), headers: {}, expectedSeq: 0 }));
    }
  };
  const look = (quietSince: number) => mesh.clock.until(quietAmong(listing, { ledger }, quietSince));
  await list("rests", 1_500);
  await begin("rests", 1_500);
  const resting = await look(Number.POSITIVE_INFINITY);
  expect(resting).toMatchObject({ more: true, gone: [] });
  expect(resting.sagas.length).toBeGreaterThanOrEqual(lookedAtMax);
  expect(resting.sagas.length).toBeLessThan(1_500);
  expect(resting.sagas[0]).toBe("rests-0"); // Those that were listed first.
  expect(await look(0)).toMatchObject({ more: false, sagas: [] });
  await list("gone", glancedAtMax);
  const all = await look(0);
  expect(all).toMatchObject({ more: true, sagas: [] });
  expect(all.gone.length).toBeGreaterThan(glancedAtMax - 2_000);
});
