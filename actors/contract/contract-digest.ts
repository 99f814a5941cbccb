/**
 * Contract digest: by what a tool's contract is told from every other, wherever one is recorded, asked for or served.
 *
 * QD1 It covers what a caller and a performer must agree on: name, version, effect class, what goes in and comes out,
 *     and what undoes it. Neither words for a reader (descriptions, titles, examples) nor what either side may change by
 *     itself: timeouts, retries, bounds, placement, approval, policies.
 * QD2 Equal contracts have equal digests in every process: it is taken of canonical JSON, with lists that are sets in
 *     order.
 */
import { digestOf } from "../../protocol/digest.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import { jsonSchema } from "../values/schema.ts";
import type { Tool } from "./tool.ts";

/** The digest of a tool's contract (QD1): 16 hex characters. The same tool's is made once. */
export function contractDigest(tool: Tool): string {
  const known = digests.get(tool);
  if (known !== undefined) return known;
  const digest = digestOf(agreed(tool)).slice(0, 16);
  digests.set(tool, digest);
  return digest;
}

const digests = new WeakMap<Tool, string>();

/** What undoes it goes in without what would undo that: two tools may undo each other. */
const agreed = (tool: Tool): Json =>
  toJson({
    ...own(tool),
    compensation: typeof tool.compensation === "object" ? own(tool.compensation.tool) : tool.compensation,
  });

const own = ({ name, version, effect, input, output }: Tool) => ({
  ...{ name, version, effect },
  input: withoutWords(toJson(jsonSchema(input))),
  output: withoutWords(toJson(jsonSchema(output))),
});

/** Members of a JSON Schema that tell a reader of it and refuse nothing. */
const words = ["$schema", "$comment", "title", "description", "examples", "deprecated"];
/** Members whose own members are names of a user's, each with a schema. */
const byName = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/** Members that are values of a user's, as they are. */
const values = ["const", "default"];
/** Members that are sets, in whatever order they were declared. */
const sets = ["required", "enum", "type"];

/** A schema as far as it refuses anything (QD2). */
function withoutWords(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutWords);
  if (typeof schema !== "object" || schema === null) return schema;
  const members = Object.entries(schema).flatMap(([key, value]): [string, Json][] => {
    if (words.includes(key)) return [];
    if (values.includes(key)) return [[key, value]];
    if (sets.includes(key) && Array.isArray(value)) return [[key, inOrder(value)]];
    if (byName.includes(key) && typeof value === "object" && value !== null)
      return [
        [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutWords(one)]))],
      ];
    return [[key, withoutWords(value)]];
  });
  return Object.fromEntries(members);
}

const inOrder = (set: readonly Json[]): Json[] =>
  set.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
