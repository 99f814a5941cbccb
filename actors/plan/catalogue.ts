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
import { jsonSchema } from "../values/schema.ts";
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
    ...{ input: shown(input), output: shown(output) },
  })),
  agents: [...parts.sagas].map(({ definition: { kind }, name, description, input, output }) => ({
    ...{ kind: kind.name, name, description, input: shown(input), output: shown(output) },
  })),
  models: [...parts.models],
  predicates: [...parts.predicates],
  validators: [...parts.validators].map(({ name, description }) => ({ name, description })),
});

function shown(schema: z.ZodType): Json {
  const { $schema: _dialect, ...rest } = toJson(jsonSchema(schema)) as Record<string, Json>;
  return rest;
}

export const asSchema = (schema: Json | undefined): Schema | undefined =>
  typeof schema === "object" && schema !== null && !Array.isArray(schema) ? schema : undefined;

/** What a schema says of the part at a pointer: undefined where it cannot be said. */
export type SchemaPart = { readonly schema: Json | undefined } | "nothing";

export function partOf(schema: Json | undefined, pointer: string): SchemaPart {
  let here: Json | undefined = schema;
  for (const token of pointer.split("/").slice(1)) {
    const next = memberOf(asSchema(here), token.replaceAll("~1", "/").replaceAll("~0", "~"));
    if (next === "nothing") return next;
    here = next.schema;
  }
  return { schema: here };
}

function memberOf(schema: Schema | undefined, key: string): SchemaPart {
  if (schema === undefined) return { schema: undefined };
  const { properties, additionalProperties = false, items, type } = schema;
  const members = asSchema(properties);
  if (members !== undefined) {
    if (Object.hasOwn(members, key)) return { schema: members[key] };
    return additionalProperties === false ? "nothing" : { schema: undefined };
  }
  if (type === "array") return /^(0|[1-9]\d*)$/.test(key) ? { schema: items } : "nothing";
  return typeof type === "string" && type !== "object" ? "nothing" : { schema: undefined };
}

/** Why what fits one schema never fits another, or undefined (PC1). */
export function misfitOf(source: Json | undefined, target: Json | undefined): string | undefined {
  const [from, to] = [asSchema(source), asSchema(target)];
  if (from === undefined || to === undefined) return undefined;
  const [is, wanted] = [from["type"], to["type"]];
  if (typeof is === "string" && typeof wanted === "string" && is !== wanted)
    if (!(is === "integer" && wanted === "number") && !(is === "number" && wanted === "integer"))
      return `it is ${withArticle(is)} and ${withArticle(wanted)} is wanted`;
  const missing = requiredOf(to).filter((key) => memberOf(from, key) === "nothing");
  if (missing.length > 0) return `it has no ${quoted(missing)}`;
  for (const [key, wants] of Object.entries(asSchema(to["properties"]) ?? {})) {
    const part = memberOf(from, key);
    const inner = part === "nothing" ? undefined : misfitOf(part.schema, wants);
    if (inner !== undefined) return `"${key}": ${inner}`;
  }
  return undefined;
}

export const requiredOf = (schema: Json | undefined): string[] => {
  const required = asSchema(schema)?.["required"];
  return Array.isArray(required) ? required.filter((key) => typeof key === "string") : [];
};

/** Why a value does not fit a schema; undefined where it does, or where that cannot be said. */
export function valueMisfit(value: Json, schema: Json | undefined): string | undefined {
  if (asSchema(schema) === undefined) return undefined;
  try {
    const parsed = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(value);
    return parsed.success ? undefined : z.prettifyError(parsed.error).replaceAll(/\s*\n\s*/g, " ");
  } catch {
    return undefined; // PC1
  }
}

export const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(", ");
const withArticle = (type: string): string => `${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`;
