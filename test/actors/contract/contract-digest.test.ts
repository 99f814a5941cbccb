/**
 * Contract digest: that two tools have one exactly if a worker of the one may perform a call of the other.
 *
 * Method: one tool, and what its author may change of it, a member at a time; the same schemas declared in other orders;
 * stories in which the fold records what it calls.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { contractDigest } from "../../../actors/contract/contract-digest.ts";
import { contractOf } from "../../../actors/contract/tool-contract.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import type { Intent } from "../../../protocol/intent.ts";
import { failed, given, replied, signalled, started, succeeded } from "../../../services/testing/given.ts";
import { agentOf, call, hold, release } from "../../support/workbench.ts";

const release1 = defineTool({
  ...{ name: "release", description: "Undoes.", effect: "idempotent" },
  ...{ input: z.object({ key: z.string() }), output: z.object({}) },
});
const base = {
  name: "hold",
  description: "Holds.",
  effect: "idempotent",
  input: z.object({ of: z.string(), places: z.int().optional(), how: z.enum(["soft", "firm"]) }),
  output: z.object({ id: z.string() }),
  compensation: { tool: release1, input: ({ key }: { key: string }) => ({ key }) },
} as const;
const digest = (change: object = {}) => contractDigest(defineTool({ ...base, ...change }));
const undoneBy = (change: object) => ({
  compensation: { tool: defineTool({ ...release1, ...change } as never), input: () => ({}) },
});

describe("the digest of a contract", () => {
  test.each([
    ["its name", { name: "keep" }],
    ["its version", { version: 2 }],
    ["its effect class", { effect: "once" }],
    ["a new required member of its input", { input: base.input.extend({ by: z.string() }) }],
    ["a new optional member of its input", { input: base.input.extend({ by: z.string().optional() }) }],
    ["a bound on a member", { input: base.input.extend({ of: z.string().max(5) }) }],
    ["another default", { input: base.input.extend({ of: z.string().default("x") }) }],
    ["its output", { output: z.object({ id: z.int() }) }],
    ["that nothing undoes it", { compensation: "point_of_no_return" }],
    ["that it says nothing of undoing", { compensation: undefined }],
    ["what undoes it", undoneBy({ name: "free" })],
    ["the input of what undoes it", undoneBy({ input: z.object({ key: z.string(), why: z.string() }) })],
    ["the version of what undoes it", undoneBy({ version: 2 })],
  ])("is another one with %s", (_, change) => {
    expect(digest(change)).not.toBe(digest());
  });

  test.each([
    ["another description", { description: "Keeps a place." }],
    ["words on its input", { input: base.input.describe("What to hold.") }],
    ["words on a member", { input: base.input.extend({ of: z.string().describe("Whom for.") }) }],
    [
      "titles and examples",
      { input: base.input.extend({ of: z.string().meta({ title: "T", examples: ["a"] }) }) },
    ],
    ["another timeout", { timeoutMs: 5 }],
    ["another retry", { retry: { attemptsMax: 1, backoffMs: 1 } }],
    ["a bound over the mesh", { concurrencyMax: 2, perSecondMax: 3 }],
    ["another placement", { placement: "host" }],
    ["an approval", { approval: { by: ["ann"] } }],
    ["a body", { perform: async () => ({ id: "1" }) }],
    ["other words of what undoes it", undoneBy({ description: "Frees." })],
    [
      "members in another order",
      { input: base.input.pick({ how: true }).extend(base.input.omit({ how: true }).shape) },
    ],
    ["an enum in another order", { input: base.input.extend({ how: z.enum(["firm", "soft"]) }) }],
  ])("is the same with %s", (_, change) => {
    expect(digest(change)).toBe(digest());
  });

  test("tells members apart that are called like the words of a schema", () => {
    const input = (...names: string[]) => ({
      input: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))),
    });
    const all = ["description", "title", "examples", "required", "enum", "properties", "const", "default"];
    const digests = all.map((name) => digest(input(name)));
    expect(new Set([...digests, digest(input())]).size).toBe(all.length + 1);
    expect(digest({ input: z.object({ of: z.string().default("a") }) })).not.toBe(
      digest({ input: z.object({ of: z.string().default("b") }) }),
    );
  });

  test("depends on no order in which a schema was declared", () => {
    const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 6, unit: "grapheme-ascii" }), {
      minLength: 2,
      maxLength: 6,
    });
    fc.assert(
      fc.property(names, fc.infiniteStream(fc.nat()), (members, orders) => {
        const shape = (order: readonly string[]) =>
          z.object(Object.fromEntries(order.map((name) => [name, z.enum(order as [string])])));
        const other = members.toSorted(() => (orders.next().value! % 2 === 0 ? 1 : -1));
        expect(digest({ input: shape(other) })).toBe(digest({ input: shape(members) }));
        expect(digest({ input: shape(members.slice(1)) })).not.toBe(digest({ input: shape(members) }));
      }),
      { numRuns: 50 },
    );
  });

  test("is known of two tools that undo each other", () => {
    const input = { of: "x", how: "soft" } as const;
    const one = defineTool({ ...base, compensation: undefined });
    const other = { ...release1, compensation: { tool: one, input: () => input } };
    Object.assign(one, { compensation: { tool: other, input: () => ({}) } });
    expect(contractDigest(one)).not.toBe(contractDigest(other));
  });

  test("stands in the document that the registry has of the tool, with that of what undoes it", () => {
    expect(contractOf(hold)).toMatchObject({
      ...{ version: 1, contract: contractDigest(hold), compensation: "release" },
      undoneBy: contractDigest(release),
    });
  });
});

describe("what the fold records of a call", () => {
  const tools = (intents: readonly Intent[]) => intents.filter((one) => one.kind === "tool");
  const holding = given(agentOf(), started({ of: "x" }), replied({ calls: [call("hold")] }));

  test("is the contract of its definition's tool, for what undoes it as well", () => {
    expect(tools(holding.intents)).toMatchObject([{ name: "hold", contract: contractDigest(hold) }]);
    const undoing = holding.when(succeeded("hold", { id: "1" })).when(signalled("cancel"));
    expect(tools(undoing.intents)).toMatchObject([{ name: "release", contract: contractDigest(release) }]);
  });

  test("stays with the call over its attempts", () => {
    const again = holding.when(failed("hold", { code: "E", reason: "busy", retry: true }));
    expect(Object.values(again.state.open).map(({ intent }) => intent)).toMatchObject([
      { kind: "tool", contract: contractDigest(hold) },
    ]);
  });
});
