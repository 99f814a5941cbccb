/**
 * Goal: a workflow runs on a real mesh, and its state at any turn is shown in three dimensions from its ledger.
 * Method: the example through the command line, `up` and `inspect` as processes of their own on a real server.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { StateDocument } from "../../protocol/documents/state.ts";
import { runCli, type RunningCli, startCli } from "../support/cli.ts";
import { startTestServer, type TestServer } from "../support/nats-server.ts";

const app = "test/examples/three-bookings.ts";
let server: TestServer;
let up: RunningCli;
const env = () => ({ NATS_URL: server.url });

beforeAll(async () => {
  server = await startTestServer();
  up = startCli(["up", "--app", app, "--json"], { env: env() });
  await up.says('"role":"up"');
});
afterAll(async () => {
  up.process.kill("SIGTERM");
  await up.ended;
  await server.stop();
});

const state = async (dimension: string, ...more: string[]) => {
  const args = ["inspect", "offsite-1", "--state", dimension, "--app", app, "--json", ...more];
  const { stdout, stderr, code } = await runCli(args, { env: env() });
  expect(code, stderr).toBe(0);
  return StateDocument.parse(JSON.parse(stdout));
};

test("three bookings whose third is too small are undone, and the ledger says so in three dimensions", async () => {
  const input = JSON.stringify({ people: 12, city: "BER" });
  const ended = await runCli(["start", "offsite", "--input", input, "--id", "offsite-1", "--wait"], {
    env: env(),
  });
  expect(ended.stdout + ended.stderr).toContain("the largest hall left has 10 places");
  expect(ended.code).toBe(1);

  const dependency = await state("dependency");
  expect(dependency).toMatchObject({
    nodes: [
      { node: "flight", status: "undone" },
      { node: "rooms", status: "undone" },
      { node: "hall", status: "failed", evidence: [{ node: "flight" }, { node: "rooms" }] },
    ],
    edges: [
      { from: "flight", to: "hall", satisfied: "no" },
      { from: "rooms", to: "hall", satisfied: "no" },
    ],
    effects: [],
  });
  const operation = await state("operation");
  if (operation.dimension !== "operation") throw new Error("another dimension");
  expect(operation.transactions.map(({ name, recovery }) => `${name} ${recovery}`).sort()).toEqual([
    "flight undone",
    "hall none",
    "release none",
    "release none",
    "rooms undone",
  ]);

  const application = await state("application");
  if (application.dimension !== "application") throw new Error("another dimension");
  expect(application.entities).toEqual({});
  const both = application.checkpoints.at(-1);
  const then = await state("application", "--at", String(both?.turn));
  expect(then).toMatchObject({
    turn: both?.turn,
    entities: {
      flight: { id: expect.stringMatching(/^flight-/) },
      rooms: { id: expect.stringMatching(/^rooms-/) },
    },
  });
  const before = await state("operation", "--at", String(both?.turn));
  expect(before).toMatchObject({
    transactions: [
      { node: "flight", recovery: "registered", compensation: { name: "release" } },
      { node: "rooms", recovery: "registered", compensation: { name: "release" } },
      { node: "hall", outcome: "open", recovery: "none" },
    ],
  });
  const { stdout } = await runCli(["inspect", "offsite-1", "--state", "dependency", "--app", app], {
    env: env(),
  });
  expect(stdout).toContain("flight -> hall");
  const wrong = await runCli(["inspect", "offsite-1", "--state", "mood", "--app", app], { env: env() });
  expect(wrong.code).toBe(2);
}, 90_000);
