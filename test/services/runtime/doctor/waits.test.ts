/**
 * Goal: a saga that only a signal moves on is named once it has waited for long, and no other is.
 * Method: agents wait in each of the ways there are, on a real server; the doctor looks as if an hour had passed.
 */
import type { NatsConnection } from "@nats-io/nats-core";
import { defineAgent, defineApp } from "sagamesh";
import { scriptedModel } from "sagamesh/testing";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { limits } from "../../../../protocol/limits.ts";
import type * as examining from "../../../../services/nats/examine.ts";
import { runHere } from "../../../support/cli.ts";
import { codes, doctor, saying } from "../../../support/doctor.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
  until,
} from "../../../support/real-mesh.ts";

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

const Note = z.object({ text: z.string() });
const waiter = defineAgent({
  name: "waiter",
  version: 1,
  description: "Waits.",
  model: "waits",
  instructions: "Wait, then finish.",
  input: z.object({ signals: z.array(z.string()).optional(), forMs: z.number().optional() }),
  output: z.string(),
  signals: { note: Note, hurry: Note },
  tools: [],
});
const waits = scriptedModel("waits", ({ step, messages }) => {
  const [first] = messages;
  const part = first?.role === "user" ? first.parts[0] : undefined;
  const input = JSON.parse(part?.type === "text" ? part.text : "{}") as {
    signals?: string[];
    forMs?: number;
  };
  return step === 1
    ? { calls: [{ tool: "wait", input }] }
    : { calls: [{ tool: "finish", input: { output: "went on" } }] };
});

let server: AccountServer;
let mesh: RealMesh;
beforeAll(async () => {
  server = await startAccountServer();
  mesh = await openRealMesh(server.nextUrl());
  await mesh.host(defineApp({ sagas: [waiter], models: { waits } }));
  for (const id of ["a", "b", "c", "d"]) await mesh.client.start(waiter, { signals: ["note"] }, { id });
  await mesh.client.start(waiter, {}, { id: "any" });
  await mesh.client.start(waiter, { signals: ["note"], forMs: 86_400_000 }, { id: "timed" });
  const held = await mesh.client.start(waiter, { signals: ["note"] }, { id: "held" });
  const over = await mesh.client.start(waiter, { signals: ["note"] }, { id: "over" });
  const rests = async () =>
    (await mesh.client.list()).filter(({ waitsFor }) => waitsFor.some((what) => what.includes("signal")))
      .length;
  await until("all wait", async () => (await rests()) === 8);
  await over.signal("note", { text: "now" });
  await held.signal("pause", {});
  await until("one has ended", async () => (await mesh.view("over")).status === "completed");
  await until("one is held", async () => (await mesh.view("held")).turns === 3);
});
beforeEach(() => void (later.ms = limits.signalAwaitedMs + 60_000));
afterAll(async () => {
  await mesh.close();
  await server.stop();
});

test("sagas that have waited for an hour without a deadline are named, by what they wait for", async () => {
  const document = await doctor(mesh.url);
  expect(codes(document, "warning")).toContain("SIGNAL_AWAITED");
  expect(document.waits).toHaveLength(2);
  expect(document.waits).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ signals: ["note"], sagas: 4, some: ["a", "b", "c"] }),
      expect.objectContaining({ signals: ["note", "hurry"], sagas: 1, some: ["any"] }),
    ]),
  );
  expect(document.waits?.every(({ longestMs }) => longestMs > limits.signalAwaitedMs)).toBe(true);
  const said = saying(document, "SIGNAL_AWAITED").split("\n");
  expect(said).toEqual(
    expect.arrayContaining([
      expect.stringMatching(
        /^4 sagas of waiter@1#\w{8} wait for signal note, without a deadline, for up to 61 min: a, b, c, …$/,
      ),
      expect.stringMatching(
        /^1 saga of waiter@1#\w{8} waits for signal note or hurry, without a deadline, .*: any$/,
      ),
    ]),
  );
});

test("the remedy is what can be done: send it, end the saga, or let the wait have a time", async () => {
  const { findings } = await doctor(mesh.url);
  const found = findings.find(({ what }) => what.startsWith("4 sagas"));
  expect(found?.remedy).toMatch(
    /`sagamesh signal SAGA note JSON`.*`sagamesh cancel SAGA`.*`forMs` of an agent's wait/,
  );
});

test("such a wait is nothing wrong, and not all is well", async () => {
  const { code, stdout } = await runHere(["doctor", "--server", mesh.url]);
  expect(stdout).toMatch(/^warning {2}\[SIGNAL_AWAITED\] 4 sagas of waiter/m);
  expect(stdout).not.toContain("all is well");
  expect(code).toBe(0);
});

test("a saga that is paused, has a time or has ended is not named", async () => {
  const { waits: found = [] } = await doctor(mesh.url);
  const sagas = found.flatMap(({ some }) => some);
  for (const saga of ["held", "timed", "over"]) expect(sagas).not.toContain(saga);
  expect(found.reduce((sum, one) => sum + one.sagas, 0)).toBe(5);
});

test("before an hour is over nothing is said of a wait", async () => {
  later.ms = 0;
  const document = await doctor(mesh.url);
  expect(document.waits).toEqual([]);
  expect(codes(document, "warning")).not.toContain("SIGNAL_AWAITED");
  expect(codes(document, "fine")).toContain("WAITS");
});
