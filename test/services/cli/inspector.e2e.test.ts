/**
 * Goal: a running saga, an ended one, one in a file and a replay are drawn by the Stately inspector, which changes nothing.
 * Method: the relay and the page's receiver that `@statelyai/inspect` publishes; a real server and host; commands run here.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadApp } from "../../../services/runtime/load-app.ts";
import { expectError } from "../../support/cli-said.ts";
import { type Ended, runHere, startCli } from "../../support/cli.ts";
import { type Relay, startRelay } from "../../support/inspector-relay.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";
import { openRealMesh, type RealMesh, until } from "../../support/real-mesh.ts";

const text = `
import { createMachine } from "xstate";
import { z } from "zod";
import { defineAgent, defineApp, defineSaga, defineTool, toActors } from "sagamesh";
import { scriptedModel } from "sagamesh/testing";
const ring = defineTool({
  name: "ring", description: "Rings.", effect: "read", placement: "host", input: z.object({}), output: z.object({ heard: z.boolean() }),
  perform: async () => ({ heard: true }),
});
const machine = createMachine({
  id: "door", initial: "shut",
  states: { shut: { on: { go: "open" } }, open: { invoke: { src: "ring", input: {}, onDone: "rung" } }, rung: { type: "final" } },
}).provide({ actors: toActors({ ring }) });
const door = defineSaga({ name: "door", version: 1, input: z.object({}), output: z.any(), signals: { go: z.object({}) }, machine });
const asker = defineAgent({
  name: "asker", version: 1, description: "Rings once.", model: "script", instructions: "Ring.",
  input: z.object({}), output: z.object({}), signals: {}, tools: [ring],
});
const script = scriptedModel("script", ({ step }) =>
  step === 1 ? { calls: [{ tool: "ring", input: {} }] } : { calls: [{ tool: "finish", input: { output: {} } }] });
export default defineApp({ sagas: [door, asker], models: { script } });
`;

let folder: string;
let file: string;
let server: TestServer;
let mesh: RealMesh;
let relay: Relay;
beforeAll(async () => {
  server = await startTestServer();
  // Inside the repository, where the package is found by its name.
  folder = await mkdtemp(fileURLToPath(new URL("../../apps/inspected-", import.meta.url)));
  file = join(folder, "app.ts");
  await writeFile(file, text);
  mesh = await openRealMesh(server.url);
  await mesh.host(await loadApp(file));
  relay = await startRelay();
});
afterAll(async () => {
  relay.stop();
  await mesh.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});
const on = (): string[] => ["--server", server.url, "--data", folder];
const cli = (...words: string[]): Promise<Ended> => runHere([...words, ...on()]);
const inspected = (...words: string[]): string[] => [
  ...words,
  "--app",
  file,
  "--inspect",
  relay.url,
  ...on(),
];
/** Of each message whom it is about, and where that is. */
const statesOf = (session: string) =>
  relay.told.flatMap((one) =>
    one.type === "@xstate.snapshot" && one.sessionId === session
      ? [(one.snapshot as { value?: unknown; status: string }).value]
      : [],
  );
const ended = (saga: string) =>
  until(`${saga} has ended`, async () => (await mesh.client.describe(saga)).status !== "running", 60_000);

test("a saga is drawn as it goes, its former turns first, and the same again after its end", async () => {
  const started = await cli("start", "door", "--input", "{}", "--id", "d1");
  expect(started.code, started.stderr).toBe(0);
  const tail = startCli(inspected("tail", "d1"));
  await until("its present state is drawn", () => Promise.resolve(statesOf("d1").length > 0), 60_000);
  await cli("signal", "d1", "go", "{}");
  const { code, stderr } = await tail.ended;
  expect(code, stderr).toBe(0);
  await until("all is told", () => Promise.resolve(statesOf("d1").includes("rung")), 60_000);
  const states = statesOf("d1");
  expect(states).toEqual(["shut", "open", "rung"]);
  const actors = relay.told.flatMap((one) => (one.type === "@xstate.actor" ? [one] : []));
  expect(actors.map(({ sessionId, parentId, rootId }) => [sessionId, parentId, rootId])).toEqual([
    ["d1", undefined, "d1"],
    ["d1/0.door.open", "d1", "d1"],
  ]);
  expect(JSON.parse(actors[0]?.definition ?? "")).toMatchObject({ id: "door", initial: "shut" });
  const before = (await mesh.turns("d1")).length;
  expect((await runHere(inspected("tail", "d1"))).code).toBe(0);
  await until("all is told again", () => Promise.resolve(statesOf("d1").length === 6), 60_000);
  expect(statesOf("d1").slice(3)).toEqual(states);
  expect((await mesh.turns("d1")).length).toBe(before);
});

test("a replay is drawn as a run of its own, and a saga of a file without a server", async () => {
  expect((await cli("start", "asker", "--input", "{}", "--id", "a1")).code).toBe(0);
  await ended("a1");
  const replayed = await runHere(inspected("replay", "a1", "--model", "recorded", "--free"));
  expect(replayed.code, replayed.stderr).toBe(0);
  const bundle = join(folder, "a1.jsonl.gz");
  expect((await cli("export", "a1", "--out", bundle)).code).toBe(0);
  const told = await runHere(["tail", bundle, "--app", file, "--inspect", relay.url]);
  expect(told.code, told.stderr).toBe(0);
  await until("both are told", () => Promise.resolve(statesOf("a1").length > 0), 60_000);
  await until(
    "the file is told",
    () => Promise.resolve(statesOf("a1").length >= statesOf("a1/replay").length),
    60_000,
  );
  expect(statesOf("a1/replay")).toEqual(statesOf("a1"));
});

test("what cannot be inspected is refused with the way out", async () => {
  const words = ["tail", "d1", "--app", file, ...on()];
  expectError(await runHere([...words, "--inspect", "ws://127.0.0.1:1"]), "INSPECTOR_UNREACHABLE", 1);
  expectError(await runHere([...words, "--inspect", "8080"]), "USAGE", 2);
  expectError(await runHere(["tail", "d1", "--inspect", relay.url, ...on()]), "USAGE", 2);
  expectError(await runHere(words), "USAGE", 2);
  expectError(await runHere(inspected("replay", "a1", "--model", "recorded")), "USAGE", 2);
});
