/**
 * Goal: what is wrong with an application is told at once and each fault once (A1). Method: applications with several
 * faults each, loaded as a host and as a worker load them.
 */
import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { modelCall, toActors } from "../../actors/callable.ts";
import { defineAgent, defineSaga } from "../../actors/define.ts";
import { defineTool, implement } from "../../actors/tool.ts";
import { isMeshError } from "../../protocol/errors.ts";
import { type App, assertServable, defineApp } from "../../services/app.ts";

const look = (placement: "host" | "worker" = "worker") =>
  defineTool({
    ...{ name: "look", description: "Looks.", effect: "read", placement },
    ...{ input: z.object({}), output: z.json() },
  });
const clerkWith = (...tools: ReturnType<typeof look>[]) =>
  defineAgent({
    ...{ name: "clerk", version: 1, description: "Helps.", model: "nobody", instructions: "Help." },
    ...{ input: z.json(), output: z.json(), signals: {}, tools },
  });

function faultsOf(app: App, role: "host" | "worker"): string[] {
  try {
    assertServable(app, role);
    return [];
  } catch (error) {
    if (!isMeshError(error, "APP_INVALID")) throw error;
    const [title = "", ...faults] = error.message.split("\n");
    expect(title).toContain(`${faults.length} fault${faults.length === 1 ? "" : "s"}:`);
    return faults.map((line) => line.replace("  - ", ""));
  }
}

describe("an application", () => {
  test("P8: whose agent names a model nobody serves is told so together with its other faults", () => {
    const [one, other] = [look(), look()];
    const perform = async () => null;
    const app = defineApp({
      agents: [clerkWith(one, other)],
      implementations: [implement(one, { perform }), implement(other, { perform })],
    });
    expect(faultsOf(app, "host")).toEqual([
      'clerk: two of its tools are named "look"',
      'agent clerk: no model port is named "nobody"; add it under models',
    ]);
    expect(faultsOf(app, "worker")).toEqual(['clerk: two of its tools are named "look"']);
  });

  test("two of whose sagas mean different tools by one name is told so, once", () => {
    const [one, other] = [look(), look()];
    const second = { ...clerkWith(other).definition, name: "second" };
    const app = defineApp({
      agents: [clerkWith(one), { ...clerkWith(other), name: "second", definition: second }],
    });
    expect(app.faults).toEqual(['two tools are named "look"']);
  });

  test("whose machine asks a model nobody serves is refused before it asks", () => {
    const machine = setup({
      actors: toActors({ think: modelCall({ model: "nobody", instructions: "Think." }) }),
    }).createMachine({ invoke: { src: "think", input: { prompt: "?" } } });
    const thinker = defineSaga({
      ...{ name: "thinker", version: 1, input: z.json(), output: z.json(), signals: {}, machine },
    });
    expect(faultsOf(defineApp({ sagas: [thinker] }), "host")).toEqual([
      'saga thinker: no model port is named "nobody"; add it under models',
    ]);
  });
});
