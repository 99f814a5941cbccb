/**
 * Goal: a console whose credentials may only read shows all and does nothing: every act is refused by its code, soon, and nothing of it
 * is stored.
 * Method: a real server with a user who may publish nothing to sagas; the console's own server on that user's connection.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../actors/contract/tool.ts";
import { defineApp } from "../../../services/app/app.ts";
import { createGuard } from "../../../services/console/guard.ts";
import { consoleOn } from "../../../services/console/parts.ts";
import { type Console, startConsole } from "../../../services/console/server.ts";
import { silentLog } from "../../../services/process/log.ts";
import { type ClientMesh, openClientMesh } from "../../../services/runtime/mesh.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";
import { openRealMesh, type RealMesh } from "../../support/real-mesh.ts";
import { Of, sequence } from "../../support/workbench.ts";

const looked = defineTool({
  ...{ name: "looked", description: "Looks.", effect: "read", input: Of, output: z.json() },
  ...{ placement: "host", perform: async () => "seen" },
});
const rests = sequence(looked);

let server: TestServer;
let mesh: RealMesh;
let reader: ClientMesh;
let console: Console;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(`${tmpdir()}/sagamesh-credentials-`);
  const permissions = `{ publish: { deny: ["saga.>", "inbox.>", "work.>", "dead.>"] } }`;
  server = await startTestServer({
    extraConfig:
      `no_auth_user: owner\naccounts { A: { jetstream: enabled, users: [` +
      `{ user: owner, password: secret }, { user: reader, password: secret, permissions: ${permissions} }] } }`,
  });
  const as = (user: string) => server.url.replace("//", `//${user}:secret@`);
  mesh = await openRealMesh(as("owner"));
  await mesh.host(defineApp({ sagas: [rests] }));
  await mesh.client.start(rests, {}, { id: "rests-1" });
  await vi.waitUntil(async () => (await mesh.client.list())[0]?.saga === "rests-1", { timeout: 30_000 });
  reader = await openClientMesh({
    ...{ servers: as("reader"), mustExist: true, reading: true, name: "console", report: () => undefined },
  });
  const { ports, clock, chance } = reader;
  console = await startConsole({
    host: "127.0.0.1",
    port: 0,
    guard: createGuard({}),
    page: async () => folder,
  });
  const found = { columns: [], rows: [["rests-1", "sequence", "running", 1]], isCut: false };
  console.open(
    consoleOn(
      { ports, clock, chance, from: "tester" },
      { from: "tester", server: "", version: "" },
      silentLog,
      {
        app: undefined,
        examine: () => Promise.reject(new Error("no doctor here")),
        tables: { dialect: "sqlite", ask: async () => [found] },
        archives: { folder, signer: () => undefined },
        remembering: async () => undefined,
      },
    ),
  );
});
afterAll(async () => {
  await console?.close(0);
  await reader?.close();
  await mesh?.close();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const ask = async (path: string, body?: unknown) => {
  const response = await fetch(`${console.url}/api${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { "x-sagamesh-console": "1" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, said: (await response.json()) as Record<string, unknown> };
};

test("shows a saga, and refuses to tell it anything, one alone and with others", async () => {
  // Of a saga that rests: it has looked, and waits for a word.
  await expect.poll(async () => (await ask("/sagas/rests-1")).said["turns"], { timeout: 30_000 }).toBe(2);
  const before = await ask("/sagas/rests-1");
  expect(before).toMatchObject({ status: 200, said: { status: "running" } });
  const signal = { name: "cancel", data: {}, id: "12345678" };
  expect(await ask("/sagas/rests-1/signals", signal)).toMatchObject({
    ...{ status: 403, said: { error: { code: "SERVER_REFUSED" } } },
  });
  expect(await ask("/bulk/cancel?filter=id%3Drests-1")).toMatchObject({
    said: { rows: [{ saga: "rests-1", is: "would" }] },
  });
  expect(await ask("/bulk/cancel", { items: [{ saga: "rests-1" }] })).toMatchObject({
    status: 202,
    said: { rows: [{ is: "refused", because: expect.stringContaining("SERVER_REFUSED") as string }] },
  });
  expect(await ask("/sagas/rests-1")).toEqual(before);
}, 60_000);
