/**
 * Goal: a worker whose contract nothing asks for is told from one that is needed, so that a worker of another application
 * file than the hosts' is found.
 * Method: hosts and workers of tools with one name and two contracts, on a real server; each test has an account of its own.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { contractDigest } from "../../../actors/contract/contract-digest.ts";
import { defineTool, implement, type Tool } from "../../../actors/contract/tool.ts";
import { defineApp } from "../../../services/app/app.ts";
import { scriptedModel } from "../../../services/models/scripted.ts";
import { codes, doctor, lookUntil, saying } from "../../support/doctor.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
} from "../../support/real-mesh.ts";

let server: AccountServer;
let mesh: RealMesh;
beforeAll(async () => {
  server = await startAccountServer(4);
});
afterAll(() => server.stop());
beforeEach(async () => {
  mesh = await openRealMesh(server.nextUrl());
});
afterEach(() => mesh.close());

const post = (version: number) =>
  defineTool({
    ...{ name: "post", description: "Posts.", effect: "idempotent", version },
    ...{ input: z.object({}), output: z.object({}), compensation: "point_of_no_return" },
  });
const [old, now] = [post(1), post(2)];
const agentOf = (tool: Tool) =>
  defineAgent({
    ...{
      name: "poster",
      version: tool.version ?? 1,
      description: "Posts.",
      instructions: "Post.",
      model: "m",
    },
    ...{ input: z.object({}), output: z.json(), signals: {}, tools: [tool] },
  });
const models = { m: scriptedModel("m", () => ({ calls: [{ tool: "finish", input: { output: 1 } }] })) };
const hosting = (...tools: Tool[]) => defineApp({ sagas: tools.map(agentOf), models });
const working = (...tools: Tool[]) =>
  defineApp({ implementations: tools.map((tool) => implement(tool, { perform: async () => ({}) })) });
const shortOf = (tool: Tool) => `#${contractDigest(tool).slice(0, 8)}`;

test("a worker's contract that no served definition calls is named, and the one that is called is not", async () => {
  await mesh.host(hosting(old, now));
  await mesh.worker(working(old, now));
  const asked = await lookUntil(mesh.url, ({ tools }) => tools.filter(({ workers }) => workers).length === 2);
  expect(asked.tools.map((row) => row.asked)).toEqual([true, true]);
  expect(codes(asked, "warning")).not.toContain("CONTRACT_UNASKED");
});

test("of a tool that the hosts have in another version, the worker's is named", async () => {
  await mesh.host(hosting(now));
  await mesh.worker(working(old, now));
  await lookUntil(mesh.url, ({ tools }) => tools.filter(({ workers }) => workers).length === 2);
  const document = await doctor(mesh.url);
  const said = saying(document, "CONTRACT_UNASKED");
  expect(said.split("\n")).toHaveLength(1);
  expect(said).toContain(shortOf(old));
  expect(said).not.toContain(shortOf(now));
  const { remedy = "" } = document.findings.find(({ code }) => code === "CONTRACT_UNASKED") ?? {};
  expect(remedy).toContain("application file");
});
