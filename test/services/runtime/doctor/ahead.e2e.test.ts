/**
 * Goal: a saga whose ledger lacks turns that its snapshot or a host's note knows of is named, with both numbers; so is one
 * whose whole ledger is gone; and no other is.
 * Method: a real server; a snapshot and a note of more turns are written beside the ledgers of sagas that sleep; the doctor
 * looks as if minutes had passed.
 */
import type { NatsConnection } from "@nats-io/nats-core";
import { defineAgent, defineApp } from "sagamesh";
import { scriptedModel } from "sagamesh/testing";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { parseSagaId } from "../../../../protocol/ids.ts";
import { loadSaga } from "../../../../services/host/load.ts";
import { writeSnapshot } from "../../../../services/host/snapshots.ts";
import { beyondName } from "../../../../services/ledger/beyond.ts";
import type * as examining from "../../../../services/nats/examine.ts";
import { silentLog } from "../../../../services/process/log.ts";
import { systemClock } from "../../../../services/runtime/system.ts";
import { codes, doctor, saying } from "../../../support/doctor.ts";
import { ownOfFile } from "../../../support/own-file.ts";
import { openRealMesh, until } from "../../../support/real-mesh.ts";

vi.mock("../../../../services/nats/examine.ts", async (importActual) => {
  const actual = await importActual<typeof examining>();
  const examineMesh = async (nc: NatsConnection) => {
    const examined = await actual.examineMesh(nc);
    return { ...examined, now: examined.now + 300_000 };
  };
  return { ...actual, examineMesh };
});

const own = ownOfFile("ahead", 1);
const sleeper = defineAgent({
  ...{ name: "sleeper", version: 1, description: "Waits.", model: "script", instructions: "Wait." },
  ...{ input: z.object({}), output: z.json(), signals: { go: z.object({}) }, tools: [] },
});
const script = scriptedModel("script", () => ({ calls: [{ tool: "wait", input: { signals: ["go"] } }] }));
const app = defineApp({ sagas: [sleeper], models: { script } });
const [cut, noted, whole, gone] = [
  parseSagaId("cut"),
  parseSagaId("noted"),
  parseSagaId("whole"),
  parseSagaId("gone"),
];

test("what a snapshot or a note knows beyond a ledger is told with both numbers, and what is whole is not", async () => {
  const mesh = await openRealMesh(own.server.nextUrl());
  try {
    const { ports } = mesh;
    const host = await mesh.host(app);
    for (const id of [cut, noted, whole]) await mesh.client.start(sleeper, {}, { id });
    const turns = async (saga: string) => (await mesh.view(saga).catch(() => undefined))?.turns ?? 0;
    await until(
      "all sleep",
      async () => Math.min(...(await Promise.all([cut, noted, whole].map(turns)))) > 1,
    );
    await host.stop(0);
    const deps = { ports, clock: systemClock, log: silentLog };
    const keep = async (saga: typeof cut, more: number) => {
      const loaded = await loadSaga(deps, app, saga);
      if (loaded === undefined || !("state" in loaded)) throw new Error("it is there");
      const { definition, state, head } = loaded;
      await writeSnapshot(deps, definition, state, { ...head, turn: head.turn + more });
      return head.turn;
    };
    await keep(whole, 0);
    expect(codes(await doctor(mesh.url), "fine")).toContain("LEDGERS");

    const note = { turn: 9, hash: "h", endsWith: 2, by: "host h-1", at: 1, calls: [] };
    await ports.snapshots.put(noted, Buffer.from(JSON.stringify(note)), beyondName);
    const mild = await doctor(mesh.url);
    expect(codes(mild, "warning")).toContain("LEDGER_SHORT");
    expect(mild.ahead).toMatchObject({ sagas: 1, some: [{ saga: "noted", knows: 9, noted: true }] });

    const has = await keep(cut, 3);
    await ports.snapshots.put(gone, Buffer.from("unreadable"));
    const found = await doctor(mesh.url);
    expect(codes(found, "wrong")).toContain("LEDGER_SHORT");
    expect(found.ahead?.sagas).toBe(3);
    expect(saying(found, "LEDGER_SHORT")).toContain(
      `cut (it has ${has} turns, and its snapshot knows ${has + 3})`,
    );
    expect(saying(found, "LEDGER_SHORT")).toContain("gone (its ledger is gone");
    expect(saying(found, "LEDGER_SHORT")).not.toContain("whole");
  } finally {
    await mesh.close();
  }
});
