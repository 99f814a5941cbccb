/**
 * Goal: a saga that stands because what is open of it was lost with a queue is named with what is open and since when, and
 * no saga that merely waits is.
 * Method: a real server, of which WORK is emptied by hand; the doctor looks as if minutes had passed.
 */
import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { defineAgent, defineApp, defineTool } from "sagamesh";
import { scriptedModel } from "sagamesh/testing";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { limits } from "../../../../protocol/limits.ts";
import type * as examining from "../../../../services/nats/examine.ts";
import { runHere } from "../../../support/cli.ts";
import { codes, doctor, saying } from "../../../support/doctor.ts";
import { ownOfFile } from "../../../support/own-file.ts";
import { openRealMesh, until } from "../../../support/real-mesh.ts";

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

const own = ownOfFile("orphaned", 1);

const ring = defineTool({
  ...{ name: "ring", description: "Rings.", effect: "once", compensation: "point_of_no_return" },
  ...{ input: z.object({}), output: z.object({}) },
  perform: async () => ({}),
});
const porter = defineAgent({
  ...{ name: "porter", version: 1, description: "Rings or waits.", model: "script", instructions: "Ring." },
  ...{ input: z.object({ waits: z.boolean() }), output: z.json(), signals: {}, tools: [ring] },
});
const script = scriptedModel("script", ({ messages, step }) => {
  const [first] = messages;
  const waits = first?.role === "user" && JSON.stringify(first.parts).includes("true");
  if (step > 1) return { calls: [{ tool: "finish", input: { output: null } }] };
  if (waits) return { calls: [{ tool: "wait", input: { forMs: 86_400_000 } }] };
  return { calls: [{ tool: "ring", input: {} }] };
});
const app = defineApp({ sagas: [porter], models: { script } });

const aMinute = 60_000;

test("is named with what is open, as a warning while the hosts' audit has its time, then as wrong, and no more once it goes on", async () => {
  const mesh = await openRealMesh(own.server.nextUrl());
  try {
    await mesh.host(app);
    await mesh.client.start(porter, { waits: false }, { id: "lost" });
    await mesh.client.start(porter, { waits: true }, { id: "waits" });
    const { streams } = await jetstreamManager(mesh.nc);
    const calls = async () => (await streams.info("WORK")).state.messages;
    await until(
      "both have decided",
      async () => (await mesh.view("waits")).turns > 1 && (await calls()) === 1,
    );

    later.ms = 5 * aMinute;
    expect(codes(await doctor(mesh.url), "fine")).toContain("ORPHANS"); // It waits for a worker, in WORK.
    await streams.purge("WORK");
    const early = await doctor(mesh.url);
    expect(codes(early, "warning")).toContain("ORPHANED");
    expect(early.orphaned).toMatchObject({ sagas: 1, notLookedAt: 0, some: [{ saga: "lost" }] });
    expect(saying(early, "ORPHANED")).toMatch(/^1 saga stands, .*: lost for 5 min \(\S+ tool ring\)$/);

    later.ms = 3 * limits.auditEveryMs + aMinute;
    const late = await doctor(mesh.url);
    expect(codes(late, "wrong")).toContain("ORPHANED");
    expect(late.findings.find(({ code }) => code === "ORPHANED")?.remedy).toContain("nudge --all");

    await mesh.worker(app);
    expect((await runHere(["nudge", "lost", "--server", mesh.url])).code).toBe(0);
    await until("it goes on", async () => (await mesh.view("lost")).status === "completed");
    expect(codes(await doctor(mesh.url), "fine")).toContain("ORPHANS");
  } finally {
    await mesh.close();
  }
});
