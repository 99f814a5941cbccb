/**
 * The `nats` command line against a running mesh: what a person at a terminal can do without any of our code.
 *
 * Method: the real command line, found or built once; skipped with a word where it can be neither.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineApp } from "../../../services/app/app.ts";
import { scriptedModel } from "../../../services/models/scripted.ts";
import { runCommand } from "../../../services/nats/server/command.ts";
import { ensureNatsCli, type NatsCli } from "../../support/nats-cli.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
  until,
} from "../../support/real-mesh.ts";
import { Turn } from "../../../protocol/turn.ts";

const agent = defineAgent({
  name: "listener",
  version: 1,
  description: "Listens.",
  model: "script",
  instructions: "Listen.",
  input: z.object({ topic: z.string() }),
  output: z.object({ heard: z.json() }),
  signals: { note: z.object({ text: z.string() }) },
  tools: [],
});
const model = scriptedModel("script", ({ messages }) => {
  const heard = messages
    .flatMap((message) => (message.role === "user" ? message.parts : []))
    .find((part) => part.type === "signal");
  if (heard?.type !== "signal") return { calls: [{ tool: "wait", input: { signals: ["note"] } }] };
  return { calls: [{ tool: "finish", input: { output: { heard: heard.data } } }] };
});
const app = defineApp({ sagas: [agent], models: { script: model } });

let cli: NatsCli;
let server: AccountServer;
let mesh: RealMesh;
let home: string;
beforeAll(async () => {
  cli = await ensureNatsCli();
  server = await startAccountServer(2);
  home = await mkdtemp(join(tmpdir(), "sagamesh-cli-"));
  mesh = await openRealMesh(server.nextUrl());
  await mesh.host(app);
}, 10 * 60_000);
afterAll(async () => {
  await mesh.close();
  await server.stop();
  await rm(home, { recursive: true, force: true });
});

beforeEach((context) => {
  if ("missing" in cli) context.skip(cli.missing);
});

/** The command's words and its environment: no context of the person who runs the tests. */
const command = (args: readonly string[]) => ({
  file: "path" in cli ? cli.path : "nats",
  args: ["--server", mesh.url, ...args],
  env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home, NATS_CONTEXT: "", NATS_URL: "" },
});
const nats = (...args: string[]) => runCommand({ ...command(args), timeoutMs: 10_000 });

describe("the nats command line", () => {
  test.each([
    ["JSON", "by-json", '{"text":"Tuesday only"}'],
    ["plain text", "by-text", "Tuesday only"],
  ])("signals a running saga by %s", async (_, id, body) => {
    const saga = await mesh.client.start(agent, { topic: "days" }, { id });
    await until("it runs", async () => (await mesh.head(id)) > 0);
    await nats("pub", `saga.${id}.signal.note`, body);
    expect(await saga.result()).toMatchObject({
      status: "completed",
      output: { heard: { text: "Tuesday only" } },
    });
  });

  test("reads a saga's last turn, whose headers tell the story without its body", async () => {
    const saga = await mesh.client.start(agent, { topic: "days" }, { id: "read" });
    await saga.signal("note", { text: "enough" });
    await saga.result();
    const turns = await mesh.turns("read");
    const shown = await nats("stream", "get", "LEDGER", "--last-for", "saga.read.ledger");
    expect(shown).toMatch(/^ *Saga-Id: read$/m);
    expect(shown).toMatch(/^ *Saga-Agent: listener$/m);
    expect(shown).toMatch(new RegExp(`^ *Saga-Turn: ${turns.length}$`, "m"));
    const body = shown.split("\n").find((line) => line.startsWith("{"));
    expect(Turn.parse(JSON.parse(body ?? "null"))).toEqual(turns.at(-1));
  });

  test("shows a saga's whole conversation by one subject", async () => {
    const { file, args, env } = command(["sub", "saga.shown.>", "--raw"]);
    const watching = spawn(file, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    const exited = once(watching, "exit");
    let text = "";
    watching.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
    const linesOf = (said: string) => said.split("\n").filter((line) => line !== "" && line !== "hello");
    // It says nothing once it listens, so it is spoken to, on a subject that no stream keeps, until it hears.
    await until("it listens", () => {
      mesh.nc.publish("saga.shown.hello", "hello");
      return text.includes("hello");
    });
    await nats("pub", "saga.shown.start", '{"name":"listener","input":{"topic":"days"}}');
    await until("it waits", async () => (await mesh.head("shown")) > 0);
    await nats("pub", "saga.shown.signal.note", "enough");
    const isTurn = (line: string) => line.startsWith('{"v":3');
    await until("it shows two turns", () => linesOf(text).filter(isTurn).length >= 2);
    watching.kill();
    await exited;
    const types = linesOf(text).map((line) => (isTurn(line) ? "turn" : line));
    expect(types[0]).toBe('{"name":"listener","input":{"topic":"days"}}');
    expect(types).toContain("enough");
  });

  test("starts a saga, and cancels it with a reason", async () => {
    await nats("pub", "saga.by-hand.start", '{"name":"listener","input":{"topic":"days"}}');
    await until("it runs", async () => (await mesh.head("by-hand")) > 0);
    await nats("pub", "saga.by-hand.signal.cancel", '{"reason":"budget"}');
    const end = await mesh.client.saga(agent, "by-hand").result();
    expect(end).toMatchObject({ status: "cancelled", reason: "budget" });
  });
});
