/**
 * Whatever of an application's code runs in a host where it cannot be interrupted is told of, under its saga, as it runs:
 * what is never told of can hold the loop without a name.
 *
 * Method: a saga and an agent whose every function notes what is told while it runs; on one host, and folded again on the next.
 */
import { expect, test } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { defineAgent, defineApp, defineSaga, defineTool, type SignalEvents } from "sagamesh";
import { scriptedModel } from "sagamesh/testing";
import { definePolicy } from "../../../actors/contract/policy.ts";
import { parseSagaId } from "../../../protocol/ids.ts";
import { createClient } from "../../../services/client/mesh.ts";
import { startHost } from "../../../services/host/host.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { type Hold, holdMemory, readHold, tellHolds } from "../../../services/process/holding.ts";
import { silentLog } from "../../../services/process/log.ts";

const nothing = z.object({});
const ids = { machine: "of-machine", agent: "of-agent" };

/** An application that notes, for each of its functions, what its loop was told to be held by; `""`: by nothing. */
function notingApp(memory: () => SharedArrayBuffer) {
  const noted = new Map<string, Set<string>>();
  const note = <T>(where: string, value: T): T => {
    const hold: Hold | undefined = readHold(memory());
    const said = hold === undefined ? "" : `${hold.key}: ${hold.what}`;
    noted.set(where, (noted.get(where) ?? new Set()).add(said));
    return value;
  };
  const checked = (where: string) => nothing.refine(() => note(where, true));
  const signals = { look: checked("signal schema"), finish: nothing };
  const saga = defineSaga({
    ...{ name: "machine", version: 1, input: checked("input schema"), output: nothing, signals },
    machine: setup({
      types: { events: {} as SignalEvents<typeof signals>, context: {} as { seen: number } },
      guards: { looks: () => note("guard", true) },
      actions: { see: assign({ seen: ({ context }) => note("assign", context.seen + 1) }) },
    }).createMachine({
      context: () => note("context", { seen: 0 }),
      initial: "waiting",
      states: {
        waiting: { on: { look: { guard: "looks", actions: "see" }, finish: "done" } },
        done: { type: "final" },
      },
      output: () => note("output", {}),
    }),
  });
  const look = defineTool({
    ...{ name: "look", description: "Looks.", effect: "read", placement: "host" },
    ...{ input: nothing, output: nothing, perform: async () => ({}) },
  });
  const agent = defineAgent({
    ...{ name: "agent", version: 1, description: "Waits.", input: nothing, output: nothing, model: "m" },
    ...{
      instructions: "Wait.",
      prompt: () => note("prompt", "go"),
      tools: [look],
      signals: { hint: nothing },
    },
    memory: {
      schema: z.object({ hints: z.int() }),
      initial: { hints: 0 },
      signals: { hint: (known) => note("memory", { hints: known.hints + 1 }) },
    },
    policies: [definePolicy({ name: "watched", judge: () => note("policy", undefined) })],
  });
  const m = scriptedModel("m", ({ step }) =>
    step < 3
      ? { calls: [{ tool: step === 1 ? "look" : "wait", input: {} }] }
      : { calls: [{ tool: "finish", input: { output: {} } }] },
  );
  return { saga, agent, noted, app: defineApp({ sagas: [saga, agent], models: { m } }) };
}

test("every function of an application that decides is told of under its saga, on the next host that folds it too", async () => {
  const mesh = createMemoryMesh({ seed: 3, partitions: 2 });
  let memory = holdMemory();
  const { noted, app } = notingApp(() => memory);
  const { saga, agent } = notingApp(holdMemory); // The client's own.
  const host = async (name: string) => {
    memory = holdMemory();
    const options = { ...mesh.spawn(name), log: silentLog, incarnation: name, callbackBase: "sagamesh:" };
    return mesh.clock.until(startHost({ ...options, holding: tellHolds(memory) }, app));
  };
  const client = createClient({ ...mesh.spawn("client"), from: "tester" }, async () => undefined);
  const first = await host("first");
  const machine = await mesh.clock.until(client.start(saga, {}, { id: ids.machine }));
  const waiting = await mesh.clock.until(client.start(agent, {}, { id: ids.agent }));
  await mesh.clock.until(machine.signal("look", {}));
  await mesh.clock.advance(20_000);
  await mesh.clock.until(first.stop(1_000));
  const before = new Map([...noted].map(([where, said]) => [where, [...said]]));
  for (const { id } of [machine, waiting]) mesh.server.shelves.dropSnapshots(parseSagaId(id));
  noted.clear();
  const second = await host("second");
  await mesh.clock.until(waiting.signal("hint", {}));
  await mesh.clock.until(machine.signal("finish", {}));
  await mesh.clock.advance(20_000);
  await mesh.clock.until(second.stop(1_000));
  for (const said of [before, noted])
    for (const [where, holds] of said)
      for (const hold of holds) expect(`${where} ${hold}`).toMatch(/saga\.of-(machine|agent): ./);
  expect([...new Set([...before.keys(), ...noted.keys()])].sort()).toEqual(
    [
      "assign",
      "context",
      "guard",
      "input schema",
      "memory",
      "output",
      "policy",
      "prompt",
      "signal schema",
    ].sort(),
  );
  expect([...(noted.get("guard") ?? [])].join()).toContain("the turns of its ledger");
});
