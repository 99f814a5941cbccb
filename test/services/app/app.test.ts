/**
 * Goal: what is wrong with an application is told at once and each fault once (AP1). Method: applications with several
 * faults each, loaded as a host and as a worker load them.
 */
import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { modelCall, toActors } from "../../../actors/machine/callable.ts";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { denyTools } from "../../../actors/policies/ready-made.ts";
import type { Policy } from "../../../actors/contract/policy.ts";
import { defineTool, implement } from "../../../actors/contract/tool.ts";
import { workingHours } from "../../../actors/policies/working-hours.ts";
import { isMeshError } from "../../../protocol/errors.ts";
import { type App, assertServable, defineApp } from "../../../services/app/app.ts";
import type { AppConfig } from "../../../services/app/app-config.ts";

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
      sagas: [clerkWith(one, other)],
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
      sagas: [clerkWith(one), { ...clerkWith(other), name: "second", definition: second }],
    });
    expect(app.faults).toEqual([
      'two tools are named "look": raise the version of the newer one, or name them apart: toolsOf("space", { ... })',
    ]);
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

describe("an application in plain JavaScript", () => {
  const faults = (config: unknown): readonly string[] => defineApp(config as AppConfig).faults; // Proof: what JavaScript may give.

  test("that lists agents beside sagas is told the one list to write", () => {
    const app = defineApp({ agents: [clerkWith()] } as AppConfig); // Proof: what JavaScript may give.
    expect(faultsOf(app, "host")).toEqual([
      'an application has no list "agents": write sagas: [...] with all it serves, agents too',
    ]);
    expect(app.startable).toEqual([]);
  });

  test("whose key is misspelt is told the nearest, or the keys there are", () => {
    expect(faults({ sagas: [], modles: {} })).toEqual([
      'an application has nothing named "modles"; did you mean "models"?',
    ]);
    expect(faults({ quite: 1 })).toEqual([
      expect.stringMatching(/^an application has nothing named "quite"; it has sagas, plans, .*models, /),
    ]);
  });

  test("that lists what is no definition is told which one it is, with its other faults", () => {
    const bad = clerkWith(look(), look());
    expect(faults({ sagas: [bad, undefined, {}], tools: look(), models: [] })).toEqual([
      "sagas[1] is not what defineSaga, defineAgent or defineWorkflow made; it is undefined",
      "sagas[2] is not what defineSaga, defineAgent or defineWorkflow made",
      "tools is a list: tools: [...]",
      "models is a table by name: models: { name: ... }",
      'clerk: two of its tools are named "look"',
    ]);
    expect(faults({ sagas: [], models: { m: undefined }, implementations: [{ body: {} }] })).toEqual([
      "models.m is undefined, not a model port, or what modelFallback made",
      "implementations[0] is not what implement made",
    ]);
    expect(faults(undefined)).toEqual(["defineApp takes one object: defineApp({ sagas: [...] })"]);
  });
});

describe("the mesh's policies", () => {
  const no = denyTools([{ name: "look", input: z.json() }]);
  const child = clerkWith(look());
  const boss = (policies: readonly Policy[] = []) =>
    defineAgent({
      ...{ name: "boss", version: 1, description: "Helps.", model: "nobody", instructions: "Help." },
      ...{ input: z.json(), output: z.json(), signals: {}, tools: [], agents: [child], policies },
    });
  const hashesOf = (app: App) => app.definitions.map(({ name, hash }) => `${name} ${hash}`);

  test("change the hash of every definition served, and are asked of each", () => {
    const [without, within] = [
      defineApp({ sagas: [boss()] }),
      defineApp({ sagas: [boss()], policies: [no] }),
    ];
    expect(within.definitions.map(({ name }) => name)).toEqual(["boss", "clerk"]);
    expect(new Set([...hashesOf(without), ...hashesOf(within)]).size).toBe(4);
    for (const definition of within.definitions) expect(definition.policies).toEqual([no]);
    const [one] = within.definitions;
    expect(within.latest("boss")).toBe(one);
    expect(one?.sagas.get("clerk")).toBe(within.latest("clerk"));
  });

  test("that were in force before are served to the sagas that began under them, and to no new one", () => {
    const agent = boss();
    const before = defineApp({ sagas: [agent] });
    const after = defineApp({ sagas: [agent], policies: [no], formerPolicies: [[]] });
    for (const definition of before.definitions) expect(after.definition(definition)).toBe(definition);
    expect(after.latest("boss")?.policies).toEqual([no]);
    expect(after.faults).toEqual([]);
  });

  test("with a fault are told with the application's", () => {
    const hours = workingHours({ zone: "Mars/Olympus", from: "09:00", to: "17:00" });
    expect(defineApp({ sagas: [child], policies: [hours] }).faults).toEqual([
      `the application: policy "${hours.name}": "Mars/Olympus" is no time zone`,
    ]);
  });

  test("a sub-agent under its parent's policies is served beside the same one as anybody may start it", () => {
    const app = defineApp({ sagas: [boss([no]), child] });
    expect(app.faults).toEqual([]);
    expect(app.definitions.map(({ name }) => name)).toEqual(["boss", "clerk", "clerk"]);
    expect(app.startable.map(({ name }) => name)).toEqual(["boss", "clerk"]);
    const heir = app.latest("boss")?.sagas.get("clerk");
    expect(heir?.policies).toEqual([no]);
    expect(app.definition(heir!)).toBe(heir);
    expect(app.latest("clerk")).toBe(child.definition);
  });

  test("two definitions of one name and version are still a fault", () => {
    const other = clerkWith();
    expect(defineApp({ sagas: [boss([no]), other] }).faults).toEqual([
      'two definitions are named "clerk" version 1',
    ]);
  });
});
