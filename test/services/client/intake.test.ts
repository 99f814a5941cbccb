/**
 * What is taken from outside while what is left to store in is kept for what runs.
 * Method: the memory mesh, a host, and a client that is told what hosts would say.
 */
import { defineApp, defineSaga, defineTool, toActors } from "sagamesh";
import { expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { isMeshError, MeshError } from "../../../protocol/errors.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { silentLog } from "../../../services/process/log.ts";

const approval = { by: [], withinMs: 60_000, otherwise: "deny" } as const;
const pay = defineTool({
  ...{ name: "pay", description: "Pays.", effect: "idempotent", placement: "host", approval },
  ...{ input: z.object({}), output: z.object({}), perform: async () => ({}) },
} as const);
const machine = setup({ actors: toActors({ pay }) }).createMachine({
  initial: "open",
  states: {
    open: { on: { go: "paying" } },
    paying: { invoke: { src: "pay", input: {}, onDone: "done" } },
    done: { type: "final" },
  },
  output: {},
});
const paying = defineSaga({
  ...{ name: "paying", version: 1, input: z.object({}), output: z.object({}), signals: { go: z.object({}) } },
  machine,
});

test("starts, forks and declared signals are refused, and votes, cancels and what steers a saga are not", async () => {
  const { clock, spawn } = createMemoryMesh({ seed: 1 });
  let isKept = false;
  const refusal = async () => (isKept ? new MeshError("STORAGE_RESERVED", "little is left") : undefined);
  const outside = spawn("ana");
  const client = createClient(
    { ...outside, ports: { ...outside.ports, intake: { refusal } }, from: "ana" },
    async () => undefined,
  );
  const options = { ...spawn("host"), log: silentLog, callbackBase: "sagamesh:", incarnation: "h" };
  await clock.until(startHost(options, defineApp({ sagas: [paying] })));
  const coded = async (work: Promise<unknown>): Promise<string> => {
    const ended = work.then(
      () => "taken",
      (error: unknown) => (isMeshError(error) ? error.code : Promise.reject(error)),
    );
    return clock.until(ended);
  };
  const start = (id: string) => client.start(paying, {}, { id });
  const one = await clock.until(start("one"));
  await clock.until(start("other"));
  await clock.until(one.signal("go", {}));
  await clock.advance(1_000);
  const [task] = await clock.until(client.tasks());

  isKept = true;
  expect(await coded(start("new"))).toBe("STORAGE_RESERVED");
  expect(await coded(client.fork(paying, "one", { from: 1, id: "forked" }))).toBe("STORAGE_RESERVED");
  const other = client.saga(paying, "other");
  expect(await coded(other.signal("go", {}))).toBe("STORAGE_RESERVED");
  expect(await coded(start("one"))).toBe("taken"); // The same start of a saga that has begun.
  expect(await coded(other.signal("pause", {}))).toBe("taken");
  expect(await coded(other.signal("resume", {}))).toBe("taken");
  expect(await coded(other.cancel("enough"))).toBe("taken");
  expect(await coded(client.vote(task!, { vote: "approve" }))).toBe("taken");
  expect(await clock.until(one.result())).toMatchObject({ status: "completed" });
  expect(await clock.until(other.result())).toMatchObject({ status: "cancelled" });

  isKept = false;
  expect(await coded(start("new"))).toBe("taken");
});
