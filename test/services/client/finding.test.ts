/**
 * Goal: a doubt that certain people are asked about is settled by them alone, whichever way it is said, and only once as
 * many as its terms name have found the same.
 * Method: a test mesh with a tool that dies in the middle, and the call behind `settle` in the name of one person or another.
 */
import { expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { defineTool } from "../../../actors/contract/tool.ts";
import { toActors } from "../../../actors/machine/callable.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import type { Json } from "../../../protocol/json.ts";
import { parseIntentId, parseSagaId } from "../../../protocol/ids.ts";
import { defineApp } from "../../../services/app/app.ts";
import { type Finding, readFinding, settleCall, unsettledCall } from "../../../services/client/finding.ts";
import { readRegistry } from "../../../services/client/registry.ts";
import { readView } from "../../../services/views/view.ts";
import { openTestMesh } from "../../../services/testing/test-mesh.ts";
import type { MemoryMesh } from "../../../services/memory/mesh.ts";
import { codeOf } from "../../contract/mesh-under-test.ts";

const told: string[] = [];
const tell = defineTool({
  name: "tell",
  description: "Tells people.",
  effect: "idempotent",
  input: z.looseObject({ task: z.looseObject({ about: z.string(), to: z.array(z.string()) }) }),
  output: z.object({}),
  perform: async ({ task }) => {
    told.push(`${task.about} for ${task.to.join()}`);
    return {};
  },
});
const charge = defineTool({
  name: "charge",
  description: "Charges.",
  effect: "once",
  onDoubt: { ask: { to: ["ann", "bob"], quorum: 2, notify: { tool: tell } } },
  input: z.object({}),
  output: z.object({ receipt: z.string() }),
  perform: () => Promise.reject(new Error("the line is cut")),
});
const paying = defineSaga({
  name: "paying",
  version: 1,
  input: z.object({}),
  output: z.object({ receipt: z.string() }),
  signals: {},
  machine: setup({
    types: { output: {} as { receipt: string } },
    actors: toActors({ charge }),
  }).createMachine({
    initial: "charging",
    states: {
      charging: { invoke: { src: "charge", input: {}, onDone: "done" } },
      done: { type: "final" },
    },
    output: { receipt: "r1" },
  }),
});

test("a doubt with terms tells those it is for, and counts nobody else, nor one of them alone", async () => {
  let memory: MemoryMesh | undefined;
  await using t = openTestMesh(
    defineApp({ sagas: [paying] }),
    {},
    { opened: (mesh: MemoryMesh) => void (memory = mesh) },
  );
  const saga = await t.start(paying, {}, { id: "p1" });
  await t.settled();
  await t.advance("5m");
  expect(told).toEqual(["doubt for ann,bob"]);
  const mesh = memory!;
  const { clock } = mesh;
  const id = parseSagaId("p1");
  const deps = { ...mesh.spawn("person"), from: "somebody" };
  const settle = async (by: string, finding: Finding) => {
    const view = await readView(deps.ports, id);
    const call = unsettledCall(view, parseIntentId("1-0"), finding);
    await settleCall(deps, await readRegistry(deps.ports.registry), { saga: id, ...call }, finding, { by });
  };
  const yes = readFinding({ outcome: "happened", output: { receipt: "r1" } })!;
  expect(await clock.until(codeOf(settle("mallory", yes)))).toBe("VOTER_NOT_ASKED");
  expect(await clock.until(codeOf(settle("ann", { succeeded: { receipt: 7 } })))).toBe("INPUT_INVALID");
  expect(await clock.until(codeOf(settle("ann", yes)))).toBe("none");
  await t.advance("1m");
  expect(await saga.end()).toBeUndefined();
  expect(await clock.until(codeOf(settle("bob", yes)))).toBe("none");
  expect(await saga.result()).toMatchObject({ status: "completed", output: { receipt: "r1" } });
  expect(await t.letters()).toEqual([]);
});

test("a finding is read in all its forms, and nothing else is one", () => {
  expect(readFinding({ outcome: "happened", output: 1 })).toEqual({ succeeded: 1 });
  expect(readFinding({ succeeded: 1 })).toEqual({ succeeded: 1 });
  expect(readFinding({ outcome: "did_not_happen", reason: "why" })).toEqual({ failed: "why" });
  expect(readFinding({ failed: "why" })).toEqual({ failed: "why" });
  const others: Json[] = ["happened", { outcome: "maybe" }, { succeeded: 1, failed: "x" }, { failed: 1 }, 7];
  for (const other of others) expect(readFinding(other)).toBeUndefined();
});
