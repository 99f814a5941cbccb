/**
 * Goal: what a provider is sent of an agent's calls says of every closed object that it is closed. Method: an agent
 * with every built-in call there is, planned by both model ports.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../actors/agent/define.ts";
import { selectiveContext } from "../../../actors/contract/context-policy.ts";
import { defineTool } from "../../../actors/contract/tool.ts";
import { planRequest } from "../../../services/models/anthropic-request.ts";
import { planChat } from "../../../services/models/openai-request.ts";
import { agentOwn } from "../../support/own.ts";
import { agentOf } from "../../support/workbench.ts";

const Pay = z.discriminatedUnion("by", [
  z.object({ by: z.literal("card"), card: z.object({ number: z.string() }) }),
  z.object({ by: z.literal("cash"), coins: z.array(z.object({ cents: z.int() })) }),
]);
const toolOf = (name: string, input: z.ZodType) =>
  defineTool({
    name,
    description: "",
    effect: "read",
    input,
    output: z.json(),
    perform: () => Promise.resolve(null),
  });

const helper = agentOf();
const agent = defineAgent({
  ...{ name: "all", version: 1, description: "", model: "m", instructions: "" },
  ...{ input: z.json(), output: z.object({ said: z.string() }), references: true },
  signals: { hint: z.object({ of: z.string() }) },
  tools: [toolOf("pay", Pay), toolOf("none", z.object({})), toolOf("any", z.looseObject({ at: z.string() }))],
  agents: [helper],
  sends: [helper],
  handsOffTo: [helper],
  context: selectiveContext({ keep: 2 }),
});
const { frame } = agentOwn(agent.definition);

/** Paths of objects that are described by their properties and take others. */
const openIn = (value: unknown, path = ""): string[] => {
  if (typeof value !== "object" || value === null) return [];
  const isOpen =
    "properties" in value && (value as { additionalProperties?: unknown }).additionalProperties !== false;
  return [
    ...(isOpen ? [path] : []),
    ...Object.entries(value).flatMap(([key, member]) => openIn(member, `${path}/${key}`)),
  ];
};

const request = { saga: "s-1", step: 1, now: 1, ...frame, messages: [] } as never;

test.each([
  [
    "Messages",
    planRequest(request, { model: "m" }).params.tools?.map(
      (tool) => "input_schema" in tool && [tool.name, tool.input_schema],
    ),
  ],
  [
    "Chat Completions",
    (
      planChat(request, { model: "m" }).body["tools"] as { function: { name: string; parameters: unknown } }[]
    ).map(({ function: { name, parameters } }) => [name, parameters]),
  ],
] as const)("by %s every call is sent closed but the one whose author left it open", (_, sent) => {
  expect(agent.definition.faults).toEqual([]);
  const tools = new Map((sent ?? []) as [string, unknown][]);
  expect([...tools.keys()].sort()).toEqual([
    "any",
    "ask",
    "finish",
    "hand_off",
    "helper",
    "none",
    "pay",
    "recall",
    "send",
    "undo",
    "wait",
  ]);
  for (const [name, schema] of tools)
    expect([name, openIn(schema)]).toEqual([name, name === "any" ? [""] : []]);
  expect(tools.get("pay")).toMatchObject({ properties: { $after: {} } });
});
