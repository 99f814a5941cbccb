/**
 * Goal: an operator is told what is foreign on ledgers, and nothing of it is removed without --yes.
 * Method: the command against a real server, with two ledgers that a stranger published on.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { DoctorDocument } from "../../../../protocol/documents/doctor.ts";
import { RepairDocument } from "../../../../protocol/documents/repair.ts";
import { encodeJson } from "../../../../protocol/codec.ts";
import { chainHash } from "../../../../protocol/digest.ts";
import { subjects } from "../../../../protocol/subjects.ts";
import { sagaId } from "../../../contract/mesh-under-test.ts";
import { runHere } from "../../../support/cli.ts";
import { startTestServer, type TestServer } from "../../../support/nats-server.ts";
import { openRealMesh, type RealMesh } from "../../../support/real-mesh.ts";

let server: TestServer;
let mesh: RealMesh;
beforeAll(async () => {
  server = await startTestServer();
  mesh = await openRealMesh(server.url);
  for (const [name, isForged] of [
    ["hurt", false],
    ["forged", true],
  ] as const) {
    const saga = sagaId(name);
    const step = { event: { type: "start", definition: { name: "x", version: 1, hash: "h" }, input: null } };
    const turn = { v: 3, saga, turn: 1, at: 1, host: "h", steps: [{ ...step, intents: [] }], prev: "" };
    const data = encodeJson(turn);
    const { seq } = await mesh.ports.ledger.append(saga, { data, headers: {}, expectedSeq: 0 });
    const forged = encodeJson({ ...turn, turn: 2, prev: chainHash(Buffer.from("another")) });
    if (isForged) await mesh.ports.ledger.append(saga, { data: forged, headers: {}, expectedSeq: seq });
    else mesh.nc.publish(subjects.ledger(saga), "\u001b[2Jjunk");
  }
  await mesh.nc.flush();
}, 30_000);
afterAll(async () => {
  await mesh.close();
  await server.stop();
});

const repair = (...words: string[]) => runHere(["repair", ...words, "--server", server.url]);
const counts = async (saga: string) =>
  (await mesh.ports.ledger.list()).find((one) => one.saga === saga)?.turns;

test("doctor, verify and inspect tell of what is no turn, and that repair removes it", async () => {
  const doctor = await runHere(["doctor", "--json", "--server", server.url]);
  const { foreign, findings } = DoctorDocument.parse(JSON.parse(doctor.stdout));
  expect(foreign).toEqual({
    messages: 2,
    sagas: 2,
    some: expect.arrayContaining(["hurt", "forged"]) as string[],
  });
  const told = findings.find(({ code }) => code === "FOREIGN_MESSAGES");
  expect(told).toMatchObject({
    severity: "warning",
    remedy: expect.stringContaining("repair --all") as string,
  });
  const verify = await runHere(["verify", "hurt", "--server", server.url]);
  expect(verify.stdout).toContain("1 message that is no turn");
  const inspect = await runHere(["inspect", "hurt", "--server", server.url]);
  expect(inspect.stderr).toContain("1 message on its ledger is no turn: `sagamesh repair hurt` lists it");
  expect((await runHere(["verify", "--all", "--server", server.url])).stdout).toContain(
    "1 with messages that are no turns",
  );
});

test("repair lists what is no turn and removes nothing, then with --yes removes it", async () => {
  const listed = await repair("hurt");
  expect(listed).toMatchObject({ code: 0, stderr: "" });
  expect(listed.stdout).toContain("hurt: 1 turn, and 1 message that is none");
  expect(listed.stdout).toContain("1 message would be removed; --yes does it");
  expect(listed.stdout).not.toContain("\u001b");
  expect(await counts("hurt")).toBe(2);
  const done = await repair("hurt", "--yes", "--json");
  expect(RepairDocument.parse(JSON.parse(done.stdout))).toMatchObject({ removed: 1, rewritten: 1, turns: 1 });
  expect(done.code).toBe(0);
  expect(await counts("hurt")).toBe(1);
});

test("repair keeps what a host may have written, exits with 1, and takes it by its name", async () => {
  const all = await repair("--all", "--yes");
  expect(all.code).toBe(1);
  expect(all.stdout).toContain("looked at 2 sagas: 1 message kept");
  expect(all.stdout).not.toContain("hurt");
  const seq = String(await mesh.head("forged"));
  expect(await repair("forged", "--also", seq)).toMatchObject({ code: 0 });
  expect(await counts("forged")).toBe(2);
  expect(await repair("forged", "--also", seq, "--yes")).toMatchObject({ code: 0 });
  expect(await counts("forged")).toBe(1);
  expect((await repair("--all")).stdout).toContain("looked at 2 sagas: nothing but turns");
});

test.each([
  [["hurt", "--all"], "--all goes without a saga"],
  [[], "SAGA is missing"],
  [["--all", "--also", "7"], "--also goes with one saga"],
  [["hurt", "--also", "seven"], "expected the sequence of a message"],
])("repair %j is bad usage", async (words, what) => {
  const { code, stderr } = await repair(...words);
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(what) as string });
});

test("repair of an id that nothing stands under is SAGA_UNKNOWN", async () => {
  expect((await repair("nobody")).stderr).toContain("[SAGA_UNKNOWN]");
});
