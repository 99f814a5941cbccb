/**
 * Goal: what plain JavaScript gives to a `define` function wrongly is told by its name when the application is loaded,
 * and nothing else happens. Method: configurations with every key there is; each dropped, misspelt, and of every wrong
 * kind, at any depth; and what defineApp makes of it.
 */
import { describe, expect, test } from "vitest";
import { createMachine } from "xstate";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { selectiveContext } from "../../../actors/contract/context-policy.ts";
import { definePolicy } from "../../../actors/contract/policy.ts";
import { defineTool, implement } from "../../../actors/contract/tool.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import { defineValidator } from "../../../actors/validators/validator.ts";
import { defineWorkflow } from "../../../actors/workflow/define.ts";
import { isMeshError } from "../../../protocol/errors.ts";
import { assertServable, defineApp } from "../../../services/app/app.ts";
import { scriptedModel } from "../../../services/models/scripted.ts";
import { agentOf, look, release } from "../../support/workbench.ts";

type Config = Readonly<Record<string, unknown>>;

const perform = async () => null;
const policy = definePolicy({ name: "never", judge: () => undefined });
const validator = defineValidator({
  name: "sound",
  type: "syntactic",
  version: 1,
  description: "",
  check: () => undefined,
} as never);
const terms = {
  by: ["ann"],
  withinMs: 1_000,
  otherwise: "deny",
  quorum: 1,
  remindEveryMs: 60_000,
  notify: { tool: look },
};
const common = { name: "whole", version: 1, description: "It does.", input: z.json(), output: z.json() };

const tool: Config = {
  ...common,
  ...{ effect: "probe", placement: "worker", timeoutMs: 1_000, retry: { attemptsMax: 3, backoffMs: 1 } },
  ...{
    onDoubt: "ask",
    concurrencyMax: 1,
    perSecondMax: 1,
    approval: terms,
    uses: [look],
    policies: [policy],
  },
  normalize: (input: unknown) => input,
  compensation: { tool: release, input: () => ({ key: "k" }) },
  perform,
  probe: async () => ({ outcome: "unknown" }),
};
const agent: Config = {
  ...common,
  ...{ model: "m", instructions: "Help.", prompt: () => "x", signals: { hint: z.null() }, tools: [look] },
  ...{ agents: [], sends: [{ name: "desk", signals: { note: z.null() } }], handsOffTo: [agentOf()] },
  ...{ whenFlagged: "show", whenCancelled: "undo", references: false, moves: "pinned", uses: [look] },
  ask: { to: ["ann"], withinMs: 1_000, escalate: { to: [] }, otherwise: "no" },
  ...{ budget: { steps: 3, atLimit: "end" }, outputTokensMax: 5, policies: [policy], repairsMax: 1 },
  memory: {
    schema: z.object({ a: z.int() }),
    initial: { a: 1 },
    on: { look: (memory: unknown) => memory },
    signals: {},
  },
  context: selectiveContext({ keep: 4, pin: ["hint"] }),
};
const saga: Config = {
  ...common,
  ...{
    signals: { hint: z.null() },
    whenEarly: "keep",
    policies: [policy],
    budget: { toolCalls: 1 },
    moves: "pinned",
  },
  machine: createMachine({}),
};
const node = {
  ...{ run: release, description: "", input: () => ({ key: "k" }), after: [], join: "all", log: z.json() },
  compensation: { run: release, input: () => ({ key: "k" }) },
  validators: { before: [validator] },
};
const workflow: Config = {
  ...common,
  ...{ nodes: { one: node, two: { ...node, after: ["one"], when: { node: "one" } } }, result: () => null },
  ...{ edges: [{ from: "one", to: "two" }], predicates: { big: () => true }, signals: { hint: z.null() } },
  ...{
    on: { hint: () => [] },
    onFailure: "replan",
    replansMax: 1,
    atEnd: "undo",
    replanner: agentOf(),
    uses: [look],
  },
  ...{ openForMs: 1_000, policies: [policy], budget: { toolCalls: 9 }, content: { of: 1 }, moves: "pinned" },
  ...{ validators: { output: [validator] }, augment: { units: { cents: 1 } }, whenUndecided: "reject" },
  ...{ ask: { to: [] }, pinned: { goals: ["a"] } },
};
const app: Config = {
  ...{
    sagas: [agentOf()],
    plans: [],
    tools: [look],
    validators: [validator],
    predicates: { big: () => true },
  },
  ...{ implementations: [implement(release, { perform } as never)], policies: [policy] },
  models: { scripted: scriptedModel("m", () => ({ calls: [] })) },
  ...{ modelLimits: { scripted: { concurrencyMax: 1 } }, formerPolicies: [[]], prices: {} },
};

/** What a whole application says is wrong, made of one thing of each kind. */
const kinds: readonly (readonly [
  string,
  Config,
  readonly string[],
  (config: Config) => readonly string[],
])[] = [
  [
    "defineTool",
    tool,
    ["name", "description", "effect", "input", "output"],
    (config) => defineApp({ tools: [defineTool(config as never)] }).faults,
  ],
  [
    "implement",
    { perform, probe: perform },
    ["perform"],
    (config) => defineApp({ implementations: [implement(look, config as never)] }).faults,
  ],
  [
    "defineAgent",
    agent,
    ["name", "version", "description", "model", "instructions", "input", "output", "tools"],
    (config) => defineApp({ sagas: [defineAgent(config as never)] }).faults,
  ],
  [
    "defineSaga",
    saga,
    ["name", "version", "input", "output", "machine"],
    (config) => defineApp({ sagas: [defineSaga(config as never)] }).faults,
  ],
  [
    "defineWorkflow",
    workflow,
    ["name", "version", "input", "nodes"],
    (config) => defineApp({ sagas: [defineWorkflow(config as never)] }).faults,
  ],
  ["defineApp", app, [], (config) => defineApp(config).faults],
];

const fn = () => 1;
const wrong: readonly unknown[] = [
  7,
  -1,
  Number.NaN,
  "2s",
  true,
  null,
  [],
  [7],
  [undefined],
  {},
  { strange: 1 },
  fn,
  Symbol("s"),
];
const kindOf = (value: unknown) => (Array.isArray(value) ? "list" : value === null ? "null" : typeof value);
const isJson = (value: unknown) => z.json().safeParse(value).success;
/** What of the wrong values may be right after all where this value is. */
const mayBe = (key: string, value: unknown, other: unknown): boolean =>
  (kindOf(value) === kindOf(other) && !["number"].includes(kindOf(value)) && !isWrongOfItsKind(key, other)) ||
  (["approval", "openForMs"].includes(key) && other === fn) ||
  (key === "openForMs" && kindOf(other) === "number" && other === 7) ||
  (kindOf(value) === "number" && other === 7) ||
  (key === "content" && isJson(other));
/** Of the same kind and yet none: a list or an object whose members are. */
const isWrongOfItsKind = (key: string, other: unknown): boolean =>
  (Array.isArray(other) && other.length > 0 && !["plans", "after", "goals"].includes(key)) ||
  (kindOf(other) === "object" &&
    "strange" in (other as object) &&
    !["prices", "predicates", "models"].includes(key));

describe.each(kinds)("%s", (name, whole, required, faultsOf) => {
  test("takes every key there is", () => {
    expect(faultsOf(whole)).toEqual([]);
  });

  test.each(Object.keys(whole))("tells of %s that it is missing exactly if it must be there", (key) => {
    const { [key]: _gone, ...rest } = whole;
    const told = faultsOf(rest).filter((fault) => fault.includes(`${key} is missing`));
    expect(told).toHaveLength(required.includes(key) ? 1 : 0);
    expect(faultsOf({ ...rest, [key]: undefined })).toEqual(faultsOf(rest));
  });

  test.each(Object.keys(whole))("tells of %s that it is of a wrong kind, and never throws", (key) => {
    let tried = 0;
    for (const other of wrong) {
      if (mayBe(key, whole[key], other)) continue;
      tried += 1;
      const faults = faultsOf({ ...whole, [key]: other });
      const named = key === "ask" ? /\bask\b|a question/ : new RegExp(key); // Terms are told as what they are of.
      expect(
        faults.some((fault) => named.test(fault)),
        `${key}: ${kindOf(other)} ${faults.join()}`,
      ).toBe(true);
    }
    expect(tried).toBeGreaterThan(2);
  });

  test.each(Object.keys(whole))("tells of a misspelt %s what was meant", (key) => {
    const { [key]: value, ...rest } = whole;
    const misspelt = `${key}x`;
    expect(faultsOf({ ...rest, [misspelt]: value }).join("\n")).toMatch(
      new RegExp(`(there is no|has nothing named) "${misspelt}"; did you mean "${key}"`),
    );
  });

  test("tells whatever it is given in the place of a configuration", () => {
    for (const other of [...wrong, undefined]) {
      if (name === "defineApp" && kindOf(other) === "object" && !("strange" in (other as object))) continue;
      expect(faultsOf(other as never).length).toBeGreaterThan(0);
    }
  });
});

describe("a fault deeper down", () => {
  const faultsOfTool = (change: object) =>
    defineApp({ tools: [defineTool({ ...tool, ...change } as never)] }).faults;
  const faultsOfAgent = (change: object) =>
    defineApp({ sagas: [defineAgent({ ...agent, ...change } as never)] }).faults;
  test.each([
    [
      faultsOfTool({ retry: { attempts: 3, backoffMs: 1 } }),
      'there is no "retry.attempts"; did you mean "attemptsMax"?',
    ],
    [faultsOfTool({ retry: { attempts: 3, backoffMs: 1 } }), "retry.attemptsMax is missing: expected number"],
    [faultsOfTool({ timeoutMs: "2s" }), 'tool whole: timeoutMs is "2s": expected number'],
    [
      faultsOfTool({ effect: "onec" }),
      'tool whole: effect is "onec": expected one of "read"|"idempotent"|"probe"|"once"',
    ],
    [
      faultsOfTool({ approval: { ...terms, withinMS: 5 } }),
      'Unknown member "withinMS"; did you mean "withinMs"?',
    ],
    [faultsOfTool({ compensation: { tool: release, inputs: fn } }), "compensation is"],
    [faultsOfAgent({ ask: { to: [], within: 5 } }), 'Unknown member "within"; did you mean "withinMs"?'],
    [faultsOfAgent({ ask: { to: [], escalate: { to: [], quorums: 2 } } }), 'Unknown member "quorums"'],
    [faultsOfAgent({ budget: { tokns: 5 } }), 'a budget has no "tokns"; did you mean "tokens"?'],
    [
      faultsOfAgent({ memory: { schema: z.json(), initials: 1 } }),
      'there is no "memory.initials"; did you mean "initial"?',
    ],
    [faultsOfAgent({ context: { kind: "windw", messages: 9 } }), "context policy"],
    [faultsOfAgent({ signals: { hint: "null" } }), 'signals.hint is "null": expected a schema of zod 4'],
    [faultsOfAgent({ tools: [look, undefined] }), "tools.1 is missing: expected what defineTool made"],
  ])("%#: %j holds %j", (faults, fault) => {
    expect(faults.join("\n")).toContain(fault);
  });
});

test("an application in plain JavaScript is refused with all of it, each with its tool's name", () => {
  const made = defineApp({
    sagas: [agentOf({ tools: [defineTool({ name: "pay", description: "" } as never), look] })],
    implementations: [implement(undefined as never, { perfrom: perform } as never)],
  });
  const error = attempted(() => {
    assertServable(made, "host");
  });
  expect(isMeshError(error, "APP_INVALID")).toBe(true);
  for (const fault of [
    "tool pay: effect is missing",
    "tool pay: input is missing",
    "tool pay: output is missing",
    "implement: its first argument is not what defineTool made",
    'implement(what is no tool): there is no "perfrom"; did you mean "perform"?',
  ])
    expect((error as Error).message).toContain(fault);
});

function attempted(run: () => void): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
}

test("what takes no signals of its own need not say so, and is the same definition", () => {
  const machine = createMachine({ initial: "a", states: { a: {} } });
  const whole = { ...common, ...{ model: "scripted", instructions: "Help.", tools: [] } };
  for (const [without, empty] of [
    [defineSaga({ ...common, machine }), defineSaga({ ...common, machine, signals: {} })],
    [defineAgent(whole), defineAgent({ ...whole, signals: {} })],
  ] as const) {
    expect(without.signals).toEqual({});
    expect(without.definition.hash).toBe(empty.definition.hash);
  }
});
