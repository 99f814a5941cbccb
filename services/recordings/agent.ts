/**
 * Agent: the definition that a recording tells of, as data and as what the kernel folds with.
 *
 * RC1 The same data makes the same definition, hash and all, wherever it is read: a bundle that holds it needs no
 *     application.
 * RC2 Of a tool nothing is known but what it was called with and what it said. It counts as `once`: it is
 *     unknown whether calling it again would do harm, and what would undo it.
 * RC3 The user's later words are the signal `user_message`. A text alone ends the saga.
 */
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import type { SagaDefinition } from "../../actors/contract/definition.ts";
import { readWith } from "../../actors/values/schema.ts";
import { defineTool, type Tool } from "../../actors/contract/tool.ts";
import { reservedCalls } from "../../actors/request/conversation.ts";
import type { Json } from "../../protocol/json.ts";
import type { RecordedAgent } from "../../protocol/documents/recording.ts";
import { type App, defineApp } from "../app/app.ts";
import { readSchema } from "../mcp/schema.ts";
import type { Conversation, RecordedTool } from "./conversation.ts";

/** What the user says while the agent works or waits. */
export const userMessage = "user_message";

/** The definition of a recorded agent (RC1). */
export const agentOf = ({ name, model, instructions, tools }: RecordedAgent): SagaDefinition =>
  defineAgent({
    name,
    version: 1,
    description: "An agent as a recording tells of it.",
    model,
    instructions,
    prompt: (input: string) => input,
    input: z.string(),
    output: z.string(),
    signals: { [userMessage]: z.object({ text: z.string() }) },
    tools: tools.map(toolOf),
  });

/** An application that serves nothing, and folds what was imported. */
export const appOf = (agents: readonly RecordedAgent[]): App => defineApp({ sagas: agents.map(agentOf) });

/** RC2. */
const toolOf = ({ name, description, schema, unchecked }: RecordedTool): Tool =>
  defineTool({
    name,
    description,
    effect: "once",
    onDoubt: "model",
    compensation: "point_of_no_return",
    retry: { attemptsMax: 1, backoffMs: 1_000 },
    input: inputOf(schema, unchecked === true),
    output: z.json(),
  });

/** A model is shown the schema word for word, checked or not. */
function inputOf(schema: RecordedTool["schema"], isUnchecked: boolean): z.ZodType {
  if (!isUnchecked) return readSchema(schema).schema;
  const shown = z.lazy(() => z.json());
  shown._zod.toJSONSchema = () => structuredClone(schema);
  return shown;
}

const reserved: ReadonlySet<string> = new Set([...Object.keys(reservedCalls), "finish", "recall"]);

/** A name that a tool here may have, and that no reserved call has. */
export function toolName(recorded: string): string {
  const name = recorded.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 60);
  const begun = /^[a-zA-Z]/.test(name) ? name : `t_${name}`.slice(0, 60);
  return reserved.has(begun) ? `${begun}_` : begun;
}

/** The tools of conversations of one agent: those that are named, and those that were called all the same. */
export function toolsOf(conversations: readonly Conversation[]): {
  tools: RecordedTool[];
  inferred: string[];
  unchecked: string[];
} {
  const inputs = new Map<string, Json[]>();
  for (const { entries } of conversations)
    for (const entry of entries)
      for (const { tool, input, fault } of entry.type === "reply" ? (entry.reply.calls ?? []) : [])
        if (fault === undefined) inputs.set(tool, [...(inputs.get(tool) ?? []), input]);
        else if (!inputs.has(tool)) inputs.set(tool, []);
  const named = new Map<string, RecordedTool>();
  for (const { tools } of conversations)
    for (const tool of tools ?? []) if (!named.has(tool.name)) named.set(tool.name, tool);
  const inferred = [...inputs.keys()].filter((name) => !named.has(name));
  for (const name of inferred) named.set(name, inferTool(name, inputs.get(name) ?? []));
  const unchecked: string[] = [];
  const tools = [...named.values()].map((tool) => {
    const { schema } = readSchema(tool.schema);
    const fits = (inputs.get(tool.name) ?? []).every((input) => readWith(schema, input).success);
    if (!fits) unchecked.push(tool.name);
    return { ...tool, name: toolName(tool.name), ...(fits ? {} : { unchecked: true as const }) };
  });
  return { tools, inferred, unchecked };
}

/** Whatever was seen fits it, and so does more. */
function inferTool(name: string, inputs: readonly Json[]): RecordedTool {
  const seen = new Map<string, Set<string>>();
  for (const input of inputs)
    if (typeof input === "object" && input !== null && !Array.isArray(input))
      for (const [key, member] of Object.entries(input))
        seen.set(key, (seen.get(key) ?? new Set()).add(typeOf(member)));
  const properties = Object.fromEntries(
    [...seen].map(([key, types]): [string, Json] => {
      const [only, ...more] = types;
      return [key, only === undefined || more.length > 0 ? {} : { type: only }];
    }),
  );
  return {
    name,
    description: "What it does the recording does not say.",
    schema: { type: "object", properties, additionalProperties: true },
  };
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
