/**
 * Goal: a saga that its hosts cannot take says so wherever a person looks, with the cause and what helps, and says it no more
 * once it goes on.
 * Method: a real server; a saga whose machine decides otherwise than it did, and one whose start reads chance; each command's
 * answer beside a saga that is well; then a host with the right code.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMachine } from "xstate";
import { z } from "zod";
import { defineSaga } from "../../../actors/saga/define.ts";
import { DoctorDocument } from "../../../protocol/documents/doctor.ts";
import { InspectDocument } from "../../../protocol/documents/inspect.ts";
import { SagaRow } from "../../../protocol/documents/saga.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { defineApp } from "../../../services/app/app.ts";
import { document, documents, expectError } from "../../support/cli-said.ts";
import { type Ended, runHere } from "../../support/cli.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";
import { openRealMesh, type RealMesh, until } from "../../support/real-mesh.ts";
import { waitingFor } from "../../support/waiting-saga.ts";

const right = waitingFor(86_400_000);
const wrong = waitingFor(3_600_000);
const odd = defineSaga({
  ...{ name: "odd", version: 1, input: z.null(), output: z.any() },
  machine: createMachine({ id: "odd", context: () => ({ id: crypto.randomUUID() }) }),
});

let server: TestServer;
let mesh: RealMesh;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-parked-"));
  server = await startTestServer();
  mesh = await openRealMesh(server.url);
});
afterAll(async () => {
  await mesh.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});
const cli = (...words: string[]): Promise<Ended> =>
  runHere([...words, "--server", server.url, "--data", folder]);
const isParked = async (saga: string) => (await mesh.client.describe(saga)).parked !== undefined;

test("a parked saga says so in ls, inspect, doctor and the answer of signal, until it goes on", async () => {
  const before = await mesh.host(defineApp({ sagas: [right] }));
  for (const id of ["s1", "well"]) {
    await mesh.client.start(right, null, { id });
    await mesh.client.anySaga(id).signal("go", {});
  }
  const turns = async () => (await mesh.client.list()).map((row) => row.turns);
  await until("both sleep", async () => (await turns()).join() === "2,2", 60_000);
  await before.stop(0);
  await mesh.ports.snapshots.drop(parseSagaId("s1")); // Else nothing of it is decided again.
  const host = await mesh.host(defineApp({ sagas: [wrong, odd] }), { foldsTwice: true });
  await mesh.client.anySaga("s1").signal("note", {});
  await mesh.client.start(odd, null, { id: "o1" });
  await until("s1 is parked", () => isParked("s1"), 60_000);
  const listed = async () =>
    documents(SagaRow, await cli("ls", "--json")).map(({ saga, parked }) => `${saga} ${parked?.code}`);
  await until("ls says so", async () => (await listed()).includes("s1 FOLD_DIVERGED"), 60_000);
  expect(await listed()).toContain("well undefined");
  expect((await cli("ls")).stdout).toMatch(/^s1 .*running, parked .*FOLD_DIVERGED, see inspect/m);
  const told = document(InspectDocument, await cli("inspect", "s1", "--json")).parked;
  expect(told).toMatchObject({ code: "FOLD_DIVERGED", remedy: expect.stringContaining("migrate") as string });
  expect((await cli("inspect", "s1")).stdout).toMatch(/^parked {3}with FOLD_DIVERGED, found .*turn 2/m);
  for (const words of [
    ["signal", "s1", "note", "{}"],
    ["signal", "s1", "pause"],
  ])
    expect((await cli(...words)).stdout).toMatch(
      /is stored for s1; it is parked with FOLD_DIVERGED: .*migrate/,
    );

  await until(
    "the start is parked",
    async () => (await cli("inspect", "o1")).stderr.includes("parked"),
    60_000,
  );
  const start = await cli("inspect", "o1");
  expectError(start, "SAGA_NOT_BEGUN", 1);
  expect(start.stderr).toMatch(/parked with MACHINE_IMPURE.*crypto\.randomUUID\(\)/s);
  const doctor = document(DoctorDocument, await cli("doctor", "--json"));
  expect(doctor.parked?.some.map(({ saga, code }) => [saga, code]).sort()).toEqual([
    ["o1", "MACHINE_IMPURE"],
    ["s1", "FOLD_DIVERGED"],
  ]);
  expect(doctor.findings.filter(({ code }) => code === "SAGA_PARKED")).toHaveLength(2);

  await host.stop(0);
  await mesh.host(defineApp({ sagas: [right] }));
  await mesh.client.anySaga("s1").signal("note", {});
  await until("it goes on", async () => !(await isParked("s1")), 60_000);
  expect((await cli("signal", "well", "note", "{}")).stdout).toBe("signal note is stored for well\n");
  const after = documents(SagaRow, await cli("ls", "--json"));
  expect(after.filter(({ parked }) => parked !== undefined)).toEqual([]);
});
