/**
 * Plan catalogue: what a plan names, looked up, and what JSON Schema says of a part of a value.
 *
 * PC1 A schema is only held against a plan where it says something for certain: what cannot be judged passes, and the
 *     runtime's own schemas judge it when it runs.
 */
import { z } from "zod";
import { type Json, toJson } from "../../protocol/json.ts";
import type {
  DraftEdge,
  DraftNode,
  PlanCatalogue,
  PlanFaultCode,
  PlanFinding,
} from "../../protocol/documents/plan.ts";
import type { SagaDefinition } from "../contract/definition.ts";
import type { Tool } from "../contract/tool.ts";

type Schema = Readonly<Record<string, Json>>;
export type Offer = PlanCatalogue["tools"][number] | PlanCatalogue["agents"][number];

export const fault = (code: PlanFaultCode, at: string, says: string): PlanFinding => ({ code, at, says });

export const offerOf = ({ tools, agents }: PlanCatalogue, name: string): Offer | undefined =>
  tools.find((one) => one.name === name) ?? agents.find((one) => one.name === name);

export const isToolOffer = (offer: Offer): offer is PlanCatalogue["tools"][number] => "effect" in offer;

/** What a node or edge says, as a schema: of what it runs, or of the agent that the plan made for it. */
export function outputOf(catalogue: PlanCatalogue, { run, agent }: DraftNode | DraftEdge): Json | undefined {
  if (run !== undefined) return offerOf(catalogue, run)?.output;
  return agent !== undefined && "output" in agent ? toJson(agent.output) : undefined;
}

/** All that a plan may name, as data: what a planner is shown. */
export const catalogueOf = (parts: {
  readonly tools: Iterable<Tool>;
  readonly sagas: Iterable<SagaDefinition>;
  readonly models: Iterable<string>;
  readonly predicates: Iterable<string>;
  readonly validators: Iterable<SagaDefinition>;
}): PlanCatalogue => ({
  tools: [...parts.tools].map(({ name, description, effect, input, output, compensation }) => ({
    ...{ name, description, effect },
    ...(compensation === undefined
      ? {}
      : { undoneBy: typeof compensation === "string" ? compensation : compensation.tool.name }),
    ...{ input: shown(input, "input"), output: shown(output, "output") },
  })),
  agents: [...parts.sagas].map(({ definition: { kind }, name, description, input, output }) => ({
    ...{ kind: kind.name, name, description },
    ...{ input: shown(input, "input"), output: shown(output, "output") },
  })),
  models: [...parts.models],
  predicates: [...parts.predicates],
  validators: [...parts.validators].map(({ name, description }) => ({ name, description })),
});

/** What is said by an output is what its schema makes: its defaults are there, and what it does not name is not. */
function shown(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _dialect, ...rest } = toJson(
    z.toJSONSchema(schema, { io, unrepresentable: "any" }),
  ) as Record<string, Json>;
  return rest;
}

export const asSchema = (schema: Json | undefined): Schema | undefined =>
  typeof schema === "object" && schema !== null && !Array.isArray(schema) ? schema : undefined;

/** What a schema says of the part at a pointer: undefined where it cannot be said; whether some values lack it. */
export type SchemaPart = { readonly schema: Json | undefined; readonly mayLack: boolean } | "nothing";

export function partOf(schema: Json | undefined, pointer: string): SchemaPart {
  let [here, mayLack] = [schema, false];
  for (const token of pointer.split("/").slice(1)) {
    const next = memberOf(asSchema(here), token.replaceAll("~1", "/").replaceAll("~0", "~"));
    if (next === "nothing") return next;
    here = next.schema;
    mayLack ||= next.mayLack;
  }
  return { schema: here, mayLack };
}

function memberOf(schema: Schema | undefined, key: string): SchemaPart {
  if (schema === undefined) return { schema: undefined, mayLack: false }; // PC1
  const { properties, additionalProperties = false, items, minItems, type } = schema;
  const members = asSchema(properties);
  if (members !== undefined) {
    const member = Object.hasOwn(members, key) ? members[key] : undefined;
    if (member === undefined)
      return additionalProperties === false ? "nothing" : { schema: undefined, mayLack: false };
    // What has a default is there once it was read.
    const mayLack = !requiredOf(schema).includes(key) && asSchema(member)?.["default"] === undefined;
    return { schema: member, mayLack };
  }
  if (type === "array") {
    if (!/^(0|[1-9]\d*)$/.test(key)) return "nothing";
    return { schema: items, mayLack: items !== undefined && Number(key) >= Number(minItems ?? 0) };
  }
  const isOther = typeof type === "string" && type !== "object";
  return isOther ? "nothing" : { schema: undefined, mayLack: false };
}

export const requiredOf = (schema: Json | undefined): string[] => {
  const required = asSchema(schema)?.["required"];
  return Array.isArray(required) ? required.filter((key) => typeof key === "string") : [];
};

export const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(", ");
