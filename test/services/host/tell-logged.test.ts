/**
 * Goal: what a machine logs by XState's `log` is a line of its host's log, unless another takes it.
 * Method: a host on a mesh in memory, whose log is kept.
 */
import { defineApp, defineSaga } from "sagamesh";
import { expect, test } from "vitest";
import { createMachine, log } from "xstate";
import { z } from "zod";
import { createClient } from "../../../services/client/mesh.ts";
import { type HostTelling, startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";

/** Runs a saga that logs three things; its host's log, and what it tells beside it. */
async function linesOf(telling: HostTelling): Promise<{ fields: object; message: string }[]> {
  const machine = createMachine({
    context: { n: 1 },
    entry: [log("as it is"), log(({ context }) => context, "seen"), log("password=hunter2")],
    initial: "waiting",
    states: { waiting: { after: { 1_000: "done" } }, done: { type: "final" } },
  });
  const saga = defineSaga({ name: "logs", version: 1, input: z.json(), output: z.any(), machine });
  const mesh = createMemoryMesh({ seed: 1 });
  const { ports, clock, chance } = mesh.spawn("host");
  const lines: { fields: object; message: string }[] = [];
  const told = { ...silentLog, info: (fields: object, message: string) => lines.push({ fields, message }) };
  const own = { ports, clock, chance, log: told, incarnation: "h-1", callbackBase: "sagamesh:", ...telling };
  const host = await mesh.clock.until(startHost(own, defineApp({ sagas: [saga] })));
  const client = createClient({ ...mesh.spawn("client"), from: "test" }, () => Promise.resolve());
  const handle = await mesh.clock.until(client.start(saga, null, { id: "l1" }));
  await mesh.clock.run({ until: mesh.clock.now() + 5_000 });
  expect((await mesh.clock.until(handle.result())).status).toBe("completed");
  await mesh.clock.until(host.stop(0));
  return lines.filter(({ message }) => message === "saga logged");
}
const said = ["as it is", 'seen: {"n":1}', "password=[redacted]"];

test("what a machine logs is said once in the host's log, with its label and without secrets", async () => {
  const definition = expect.stringMatching(/^logs@1#\w{8}$/) as string;
  expect((await linesOf({})).map(({ fields }) => fields)).toEqual(
    said.map((logged) => ({ sagaId: "l1", definition, logged })),
  );
});

test("who takes what machines log is told it in the log's place", async () => {
  const taken: unknown[] = [];
  const lines = await linesOf({
    onLogged: ({ saga, definition: { name, version }, text }) => taken.push([saga, name, version, text]),
  });
  expect(taken).toEqual(said.map((text) => ["l1", "logs", 1, text]));
  expect(lines).toEqual([]);
});
