/**
 * A fork as a person makes one: by the command, on a real server, with hosts that are processes, one of which is
 * killed while it copies.
 *
 * Method: the origin's ledger is written turn by turn, as a host would have, so it is long without taking long.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { encodeJson } from "../../protocol/codec.ts";
import { chainHash, spanOf } from "../../protocol/digest.ts";
import { EndDocument, SagaRow } from "../../protocol/documents/saga.ts";
import { ForkedDocument } from "../../protocol/documents/stored.ts";
import { InspectDocument } from "../../protocol/documents/inspect.ts";
import { VerifyDocument } from "../../protocol/documents/verify.ts";
import { parseSagaId } from "../../protocol/ids.ts";
import { toStored } from "../../protocol/turn.ts";
import { given, replied, signalled, started } from "../../services/testing/given.ts";
import { desk } from "../apps/desk-contract.ts";
import { type Ended, runHere, startCli } from "../support/cli.ts";
import { type AccountServer, openRealMesh, type RealMesh, startAccountServer } from "../support/real-mesh.ts";

const app = "test/apps/desk.ts";
const origin = parseSagaId("errand-1");
const shared = 150;
let server: AccountServer;
let mesh: RealMesh;

beforeAll(async () => {
  server = await startAccountServer(1);
  mesh = await openRealMesh(server.nextUrl());
}, 60_000);
afterAll(async () => {
  await mesh.close();
  await server.stop();
});

/** A ledger of the desk's in which somebody writes a note again and again while it waits. */
async function writeOrigin(): Promise<void> {
  const wait = { calls: [{ tool: "wait", input: { signals: ["hurry"] } }] };
  const notes = Array.from({ length: shared - 2 }, (_, k) => signalled("note", { text: `note ${k}` }));
  const { turns } = given(desk, started({ errand: "wait", to: "LIS" }), replied(wait), ...notes);
  let [prev, expectedSeq] = ["", 0];
  for (const turn of turns) {
    const data = encodeJson(toStored({ ...turn, saga: origin, prev }));
    prev = chainHash(data);
    const fields = {
      "Saga-Id": origin,
      "Saga-Turn": String(turn.turn),
      traceparent: `00-x-${spanOf(prev)}-01`,
    };
    ({ seq: expectedSeq } = await mesh.ports.ledger.append(origin, { data, headers: fields, expectedSeq }));
  }
}

const cli = (...words: string[]): Promise<Ended> => runHere([...words, "--json", "--server", mesh.url]);
const host = async () => {
  const running = startCli(["host", "--app", app, "--server", mesh.url]);
  await running.says("serves desk@1");
  return running;
};

test("a host killed in the middle of copying leaves a fork that the next one finishes; every command shows where it comes from", async () => {
  await writeOrigin();
  const first = await host();
  const hurry = 'hurry={"by":"ana","minutes":5}';
  const from = ["--from", String(shared)];
  const asked = cli("fork", origin, ...from, "--id", "fork-1", "--signal", hurry, "--wait");
  const id = parseSagaId("fork-1");
  for await (const { seq } of mesh.ports.ledger.follow({ saga: id, signal: AbortSignal.timeout(30_000) }))
    if (seq > 0) break;
  first.process.kill("SIGKILL");
  await first.ended;
  const copied = (await mesh.turns(id)).length;
  expect(copied).toBeLessThan(shared);
  expect(copied).toBeGreaterThan(0);

  const second = await host();
  const ended = await asked;
  expect(ended).toMatchObject({ code: 0 });
  expect(EndDocument.parse(JSON.parse(ended.stdout))).toMatchObject({ saga: "fork-1", status: "completed" });
  const [verified, inspected, rows, minted, refused] = await Promise.all([
    cli("verify", "fork-1", "--app", app),
    cli("inspect", "fork-1"),
    cli("ls"),
    cli("fork", origin, "--from", "2"),
    cli("fork", origin, "--from", "2", "--model", "nobody"),
  ]);
  expect(VerifyDocument.parse(JSON.parse(verified.stdout))).toMatchObject({ ok: true, folded: true });
  const fork = { saga: origin, turn: shared, effects: "simulated" };
  expect(InspectDocument.parse(JSON.parse(inspected.stdout))).toMatchObject({ fork, status: "completed" });
  const listed = rows.stdout
    .trim()
    .split("\n")
    .map((line) => SagaRow.parse(JSON.parse(line)));
  expect(listed.find(({ saga }) => saga === "fork-1")?.fork).toEqual(fork);
  expect(listed.find(({ saga }) => saga === origin)?.fork).toBeUndefined();
  expect(ForkedDocument.parse(JSON.parse(minted.stdout))).toMatchObject({
    saga: expect.stringMatching(/^errand-1-fork-/) as string,
    fork: { saga: origin, turn: 2 },
  });
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toContain("MODEL_UNKNOWN");
  second.process.kill("SIGTERM");
  await second.ended;
}, 60_000);
