/**
 * Goal: a saga that stands because a key that nobody named has signed a turn of it says so wherever a person looks, with the key
 * and what helps, and goes on once the person has said whose it is.
 * Method: a real server whose turns must be signed; a turn that chains, signed by a key of its own; each command's answer beside a
 * saga that is well.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, headers as natsHeaders } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DoctorDocument } from "../../../protocol/documents/doctor.ts";
import { SagaRow } from "../../../protocol/documents/saga.ts";
import { UnreadableDocument } from "../../../protocol/documents/unreadable.ts";
import { headers as names, subjects } from "../../../protocol/subjects.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { changeTrust, trustKeyOf } from "../../../services/client/trust.ts";
import { startHost } from "../../../services/host/host.ts";
import { silentLog } from "../../../services/process/log.ts";
import { type ClientMesh, openClientMesh } from "../../../services/runtime/mesh.ts";
import { checkSignature } from "../../../services/runtime/signing.ts";
import { newIncarnation, systemChance } from "../../../services/runtime/system.ts";
import { sagaId } from "../../contract/mesh-under-test.ts";
import { document, documents, expectError } from "../../support/cli-said.ts";
import { runHere } from "../../support/cli.ts";
import { clerk, clerkApp, forge, newSigner, signalled } from "../../support/forger.ts";
import { startTestServer } from "../../support/nats-server.ts";
import { until } from "../../support/real-mesh.ts";

let server: Awaited<ReturnType<typeof startTestServer>>;
let operator: ClientMesh;
let folder: string;
const closing: (() => Promise<unknown>)[] = [];
const open = async (): Promise<ClientMesh> => {
  const mesh = await openClientMesh({ servers: server.url, name: "test", report: () => undefined });
  closing.push(() => mesh.close());
  return mesh;
};

beforeAll(async () => {
  server = await startTestServer();
  folder = await mkdtemp(join(tmpdir(), "sagamesh-unknown-signer-"));
  operator = await open();
}, 60_000);
afterAll(async () => {
  for (const close of closing.reverse()) await close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});
const cli = (...words: string[]) => runHere([...words, "--server", server.url, "--data", folder]);

test("a saga with a turn by a key that was never named says so in ls, inspect, doctor and what signal answers, until it is told", async () => {
  const signer = newSigner();
  const { ports, clock } = await open();
  const host = await startHost(
    {
      ...{ ports, clock, chance: systemChance, log: silentLog, incarnation: newIncarnation("host") },
      ...{ callbackBase: "sagamesh:", signer, checkSignature },
    },
    clerkApp,
  );
  closing.push(() => host.stop(1_000));
  const deps = { ...operator, from: "operator" };
  const client = createClient(deps, async () => undefined);
  await trustKeyOf(deps, signer.publicKey, "host");
  await changeTrust(deps, { type: "require" }, { isMeant: true });
  for (const id of ["s1", "well"]) await client.start(clerk, {}, { id });
  /** A row for each saga; the last line says which could not be read. */
  const rows = async () =>
    documents(SagaRow.or(UnreadableDocument), await cli("ls", "--json")).flatMap((line) =>
      "unreadable" in line ? [] : [line],
    );
  await until("both began", async () => (await rows()).length === 2, 60_000);

  const stranger = newSigner();
  const { data, headers } = (await forge(operator, sagaId("s1"), signalled("note"), stranger)).message;
  const nc = await connect({ servers: server.url });
  closing.push(() => nc.close());
  const told = natsHeaders();
  for (const [name, value] of Object.entries(headers)) told.set(name, value);
  told.set(names.expectedSeq, String((await operator.ports.ledger.last(sagaId("s1")))?.seq));
  await nc.request(subjects.ledger(sagaId("s1")), data, { headers: told, timeout: 30_000 });
  await client.anySaga("s1").signal("note", {});

  const shown = async () => (await rows()).map(({ saga, parked }) => `${saga} ${parked?.code}`).sort();
  await until("ls says so", async () => (await shown()).includes("s1 SIGNER_UNKNOWN"), 60_000);
  expect(await shown()).toContain("well undefined");
  expect((await cli("ls")).stdout).toMatch(/^s1 .*unreadable .*SIGNER_UNKNOWN/m);
  const wayOut = `sagamesh trust add ${stranger.publicKey}`;
  for (const word of ["inspect", "why"]) {
    const said = await cli(word, "s1");
    expectError(said, "SIGNER_UNKNOWN", 1);
    expect(said.stderr).toContain(wayOut);
  }
  const stored = (await cli("signal", "s1", "note", "{}")).stdout;
  expect(stored).toContain("is stored for s1; it is parked with SIGNER_UNKNOWN: ");
  expect(stored).toContain(wayOut);
  const doctor = document(DoctorDocument, await cli("doctor", "--json"));
  expect(doctor.parked?.some.map(({ saga, code }) => `${saga} ${code}`)).toEqual(["s1 SIGNER_UNKNOWN"]);
  expect(doctor.findings.filter(({ code }) => code === "SAGA_PARKED")).toHaveLength(1);

  expect((await cli("trust", "remove", stranger.publicKey, "--yes")).code).toBe(0);
  expect((await cli("signal", "s1", "close", "{}")).code).toBe(0);
  const ended = async () => (await rows()).find(({ saga }) => saga === "s1")?.status === "completed";
  await until("it goes on and ends", ended, 60_000);
  expect((await rows()).map(({ parked }) => parked)).toEqual([undefined, undefined]);
}, 240_000);
