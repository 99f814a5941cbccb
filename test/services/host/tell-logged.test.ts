/**
 * Goal: what a machine logs by XState's `log` is a line of its host's log.
 * Method: a host on a mesh in memory, whose log is kept.
 */
import { defineApp, defineSaga } from "sagamesh";
import { expect, test } from "vitest";
import { createMachine, log } from "xstate";
import { z } from "zod";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";

test("what a machine logs is said once in the host's log, with its label and without secrets", async () => {
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
  const own = { ports, clock, chance, log: told, incarnation: "h-1", callbackBase: "sagamesh:" };
  const host = await mesh.clock.until(startHost(own, defineApp({ sagas: [saga] })));
  const client = createClient({ ...mesh.spawn("client"), from: "test" }, () => Promise.resolve());
  const handle = await mesh.clock.until(client.start(saga, null, { id: "l1" }));
  await mesh.clock.run({ until: mesh.clock.now() + 5_000 });
  expect((await mesh.clock.until(handle.result())).status).toBe("completed");
  const logged = lines.filter(({ message }) => message === "saga logged").map(({ fields }) => fields);
  expect(logged).toEqual(
    ["as it is", 'seen: {"n":1}', "password=[redacted]"].map((text) => ({
      sagaId: "l1",
      definition: expect.stringMatching(/^logs@1#\w{8}$/) as string,
      logged: text,
    })),
  );
  await mesh.clock.until(host.stop(0));
});
