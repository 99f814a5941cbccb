/**
 * Goal: what is wrong with a definition is told when it is loaded, all of it at once, and its hash covers what a
 * saga's decisions depend on. Method: definitions with every fault we know.
 */
import { describe, expect, test } from "vitest";
import { assign, createMachine, setup } from "xstate";
import { z } from "zod";
import { question, toActors } from "../../../actors/machine/callable.ts";
import { defineAgent } from "../../../actors/agent/define.ts";
import { defineSaga } from "../../../actors/saga/define.ts";
import type { SagaDefinition } from "../../../actors/contract/definition.ts";
import { callsAtMost } from "../../../actors/policies/ready-made.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { agentOf, calling, hold, look, Of, release, sequence } from "../../support/workbench.ts";

const faultsOf = (saga: SagaDefinition): string => saga.definition.faults.join("\n");
const read = { description: "", effect: "read", input: Of, output: z.json() } as const;

describe("a definition", () => {
  test("that is right has no faults", () => {
    for (const saga of [agentOf(), calling(hold), sequence(hold, look)])
      expect(saga.definition.faults).toEqual([]);
  });

  test("tells all its faults at once", () => {
    const undo = defineTool({ ...read, name: "undo_read" });
    const bad = defineTool({
      ...read,
      name: "9 lives",
      effect: "probe",
      placement: "host",
      concurrencyMax: 2,
      timeoutMs: 0,
      retry: { attemptsMax: 0, backoffMs: 0 },
      compensation: { tool: undo, input: () => ({ of: "" }) },
      perform: async () => null,
    });
    const faults = faultsOf(
      defineAgent({
        name: "no name",
        version: 0,
        description: "",
        model: "m",
        instructions: "",
        input: z.json(),
        output: z.json(),
        signals: { cancel: z.null(), "a.b": z.null() },
        tools: [
          bad,
          look,
          { ...look },
          defineTool({ ...read, name: "finish" }),
          defineTool({ ...read, name: "dated", input: z.date() }),
        ],
        agents: [{ ...calling(look), name: "look" }],
      }),
    );
    for (const fault of [
      '"no name" is not a name',
      "version must be 1 or more",
      'the signal "cancel" is reserved',
      '"a.b" is not a signal\'s name',
      '"9 lives" is not a tool\'s name',
      'concurrencyMax holds over the mesh, so it needs placement "worker"',
      "timeoutMs must be more than 0",
      "tool 9 lives: retry.attemptsMax is 0",
      'effect "probe" needs a probe',
      'its compensation "undo_read" is "read"',
      'the tool name "finish" is reserved',
      'two of its calls are named "look"',
      'two of its tools are named "look"',
      'the input of "dated" cannot be shown to a model',
    ])
      expect(faults).toContain(fault);
  });

  test("of a tool that compensates its doubts needs a compensation", () => {
    expect(
      faultsOf(
        agentOf({ tools: [defineTool({ ...read, name: "a", effect: "once", onDoubt: "compensate" })] }),
      ),
    ).toContain('onDoubt "compensate" needs a compensation');
  });

  test("of a question with no time or a wrong default is faulty", () => {
    const asking = setup({
      actors: toActors({
        ask: question({ to: [], answer: z.number(), withinMs: 0, otherwise: "x" as never }),
      }),
    }).createMachine({});
    const faults = faultsOf(
      defineSaga({ name: "a", version: 1, input: z.json(), output: z.json(), signals: {}, machine: asking }),
    );
    expect(faults).toMatch(/withinMs is 0[^]*default of a question/);
  });

  test("finds the compensation of a compensation", () => {
    expect([...sequence(hold).definition.tools.keys()]).toEqual(["hold", "release"]);
    expect(release.compensation).toBeUndefined();
  });

  test("refuses what a ledger cannot record in a machine, and says whose machine it is", () => {
    const machine = createMachine({ entry: () => undefined, invoke: { src: "nobody" } });
    const faults = faultsOf(
      defineSaga({ name: "odd", version: 1, input: z.json(), output: z.json(), signals: {}, machine }),
    );
    expect(faults).toMatch(/^odd: .*side effect[^]*^odd: .*"nobody" is not declared/m);
  });

  test("tells once of two tools with one name", () => {
    expect(faultsOf(agentOf({ tools: [look, { ...look }] }))).toBe(
      'helper: two of its tools are named "look"',
    );
  });
});

describe("a definition's hash", () => {
  const hash = (saga: SagaDefinition): string => saga.definition.hash;

  test("is the same for the same definition", () => {
    expect(hash(agentOf())).toBe(hash(agentOf()));
    expect(hash(calling(hold))).toBe(hash(calling(hold)));
  });

  const kinds: readonly (readonly [string, SagaDefinition])[] = [
    ["an agent", agentOf()],
    ["another prompt", agentOf({ instructions: "Help more." })],
    ["another schema", agentOf({ output: z.object({ answer: z.number() }) })],
    ["other signals", agentOf({ signals: {} })],
    ["other tools", agentOf({ tools: [look] })],
    ["a tool with another timeout", agentOf({ tools: [{ ...look, timeoutMs: 1 }] })],
    ["a budget", agentOf({ budget: { steps: 1 } })],
    ["a policy", agentOf({ policies: [callsAtMost(look, 1)] })],
    ["a policy with another bound", agentOf({ policies: [callsAtMost(look, 2)] })],
    ["a tool with a policy", agentOf({ tools: [{ ...look, policies: [callsAtMost(look, 1)] }] })],
    ["a machine with a policy", calling(hold, { policies: [callsAtMost(look, 1)] })],
    ["another version", agentOf({ version: 2 })],
    ["another model", agentOf({ model: "other" })],
    ["a machine", calling(hold)],
    ["a machine with another tool", calling(look)],
    ["another machine", sequence(hold)],
    ["a longer machine", sequence(hold, hold)],
  ];

  test.each(kinds)("of %s is no other's", (name, saga) => {
    const alike = kinds.filter(([, other]) => hash(other) === hash(saga)).map(([other]) => other);
    expect(alike).toEqual([name]);
  });
});

test("defining a saga leaves the machine as it was", () => {
  const machine = setup({}).createMachine({ context: { n: 0 }, on: { go: { actions: assign({ n: 1 }) } } });
  const { options } = machine;
  defineSaga({ name: "a", version: 1, input: z.json(), output: z.json(), signals: {}, machine });
  expect(machine.options).toBe(options);
});
