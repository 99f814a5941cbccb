/**
 * Goal: a registry that forgot what is served is told again by a host that runs, and one that knows it is asked for no more
 * than that.
 * Method: two registries, of which one was told before; what is put into each is counted.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../actors/contract/tool.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { setup } from "xstate";
import { defineApp } from "../../../services/app/app.ts";
import { register, registerAgain } from "../../../services/host/register.ts";
import { systemClock } from "../../../services/runtime/system.ts";
import type { Ports } from "../../../services/wire/ports.ts";
import { toActors } from "../../../actors/machine/callable.ts";

const book = defineTool({
  ...{ name: "book", description: "Books.", effect: "idempotent" },
  ...{ input: z.object({}), output: z.object({}) },
  perform: async () => ({}),
});
const machine = setup({ actors: toActors({ book }) }).createMachine({
  id: "trip",
  initial: "a",
  states: { a: {} },
});
const saga = defineSaga({
  ...{ name: "trip", version: 1, description: "A trip.", machine, signals: {} },
  ...{ input: z.object({}), output: z.object({}) },
});
const app = defineApp({ sagas: [saga] });

/** A registry that has nothing, and what was put there. */
function emptyRegistry() {
  const entries = new Map<string, Uint8Array>();
  let puts = 0;
  const registry: Ports["registry"] = {
    put: async (key, data) => {
      puts += 1;
      if (!entries.has(key)) entries.set(key, data);
    },
    list: async () => [...entries].map(([key, data]) => ({ key, data })),
    read: async (key) => {
      const data = entries.get(key);
      return data && { data, revision: 1 };
    },
    write: async () => 1,
  };
  return { ports: { registry }, clock: systemClock, keys: () => [...entries.keys()], puts: () => puts };
}

test("a registry that forgot is told all again, and one that did not is only read", async () => {
  const [told, forgetful] = [emptyRegistry(), emptyRegistry()];
  await register(told, app);
  await registerAgain(forgetful, app);
  expect(forgetful.keys()).toEqual(told.keys());
  expect(told.keys().map((key) => key.split(".")[1])).toEqual(["trip", "book"]);
  await registerAgain(told, app);
  expect(told.puts()).toBe(2);
});
