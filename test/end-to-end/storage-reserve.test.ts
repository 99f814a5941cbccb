/**
 * Little is left to store in: it is said long before nothing is left, and what is left is kept for what runs.
 *
 * Method: a real server whose account may hold 4 MB, filled by a stream of somebody else's; a host as programs start it,
 * which alone looks at the limit; a client that hears of it from the host.
 */
import { jetstreamManager } from "@nats-io/jetstream";
import { defineApp, defineSaga, defineTool, toActors } from "sagamesh";
import { expect, onTestFinished, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { isMeshError } from "../../protocol/errors.ts";
import { connect } from "../../services/runtime/connect.ts";
import { startHost } from "../../services/runtime/start.ts";
import { codes, lookUntil, saying } from "../support/doctor.ts";
import { startTestServer } from "../support/nats-server.ts";
import { openRealMesh, until } from "../support/real-mesh.ts";

const approval = { by: [], withinMs: 3_600_000, otherwise: "deny" } as const;
const note = defineTool({
  ...{ name: "note", description: "Notes.", effect: "idempotent", placement: "host", approval },
  ...{ compensation: "point_of_no_return" },
  ...{ input: z.object({}), output: z.object({}), perform: async () => ({}) },
} as const);
const machine = setup({ actors: toActors({ note }) }).createMachine({
  initial: "noting",
  states: { noting: { invoke: { src: "note", input: {}, onDone: "done" } }, done: { type: "final" } },
  output: {},
});
const noting = defineSaga({
  ...{
    name: "noting",
    version: 1,
    input: z.object({}),
    output: z.object({}),
    signals: { go: z.object({}) },
  },
  machine,
});

const minute = 60_000;
const all = 4 * 1024 * 1024;

test("hosts say that little is left, refuse what is new and let what runs end, until there is room again", async () => {
  const server = await startTestServer({
    extraConfig: `accounts { S: { jetstream: { max_file: ${all} }, users: [{ user: s, password: s }] } }`,
  });
  onTestFinished(() => server.stop());
  const url = server.url.replace("//", "//s:s@");
  const own = await openRealMesh(url); // Makes the mesh, and has a connection of its own.
  onTestFinished(() => own.close());
  const host = await startHost({ app: defineApp({ sagas: [noting] }), servers: url, healthPort: 0 });
  onTestFinished(() => host.stop({ graceMs: 0 }));
  await using mesh = await connect({ servers: url });
  const running = await mesh.start(noting, {}, { id: "running" });
  const cancelled = await mesh.start(noting, {}, { id: "cancelled" });
  await until("both ask", async () => (await mesh.tasks()).length === 2, minute);

  const jsm = await jetstreamManager(own.nc);
  await jsm.streams.add({ name: "FILLER", subjects: ["filler"] });
  /** Until so many bytes are left, and not many fewer. */
  const fillUpTo = async (leftBytes: number) => {
    for (;;) {
      const room = all - (await jsm.getAccountInfo()).storage - leftBytes;
      if (room < 20_000) return;
      await own.nc.request("filler", new Uint8Array(Math.min(room - 10_000, 500_000)));
    }
  };
  await fillUpTo(600_000);
  const low = await lookUntil(url, (one) => codes(one, "warning").includes("STORAGE_LOW"));
  expect(saying(low, "STORAGE_LOW")).toMatch(/the account's storage has \d+ KB left of 4\.2 MB/);
  expect(await codeOf(mesh.start(noting, {}, { id: "while-low" }))).toBe("none");

  await fillUpTo(150_000);
  const look = await lookUntil(url, (one) => codes(one).includes("STORAGE_LOW"));
  expect(saying(look, "STORAGE_LOW")).toContain("hosts refuse starts");
  expect(look.storage).toContainEqual(
    expect.objectContaining({ of: "the account's storage", level: "reserved" }),
  );
  await using late = await connect({ servers: url }); // It has asked nobody yet.
  expect(await codeOf(late.start(noting, {}))).toBe("STORAGE_RESERVED");
  expect(await codeOf(late.saga(noting, "running").signal("go", {}))).toBe("STORAGE_RESERVED");
  const metrics = await (await fetch(`${host.healthUrl}/metrics`)).text();
  expect(metrics).toMatch(/^sagamesh_storage_left_bytes\{of="the account's storage"\} \d+$/m);
  await cancelled.cancel("enough");
  expect(await cancelled.result()).toMatchObject({ status: "cancelled" });
  const [task] = await mesh.tasks();
  expect(task?.saga).toBe("running");
  await mesh.vote(task!, { vote: "approve" });
  expect(await running.result()).toMatchObject({ status: "completed" });

  await jsm.streams.delete("FILLER");
  await until(
    "starts are taken again",
    async () => (await codeOf(mesh.start(noting, {}))) === "none",
    minute,
  );
  expect(codes(await lookUntil(url, (one) => codes(one).length === 0))).toEqual([]);
}, 120_000);

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (error: unknown) => (isMeshError(error) ? error.code : Promise.reject(error)),
  );
