/**
 * An agent that makes the calls it is told to and then ends with what came of them: for tests of effects, where
 * the model is not the subject.
 */
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import type { Tool } from "../../actors/contract/tool.ts";
import type { Json } from "../../protocol/json.ts";
import type { ModelRequest, MessagePart } from "../../protocol/model.ts";
import { defineApp } from "../../services/app/app.ts";
import { scriptedModel } from "../../services/models/scripted.ts";

export interface CallOutcome {
  readonly tool: string;
  readonly outcome: string;
  readonly output?: Json;
  readonly code?: string;
  readonly reason?: string;
}

/** The latest word on every call, as the model was told. */
export function outcomesIn(request: ModelRequest): CallOutcome[] {
  const told = new Map<string, Extract<MessagePart, { type: "result" }>>();
  for (const message of request.messages)
    if (message.role === "user")
      for (const part of message.parts) if (part.type === "result") told.set(part.call, part);
  return [...told.values()].map(({ type: _, call: __, ...outcome }) => outcome);
}

const Output = z.object({ outcomes: z.array(z.record(z.string(), z.json())) });

/** Makes the batches of calls one after the other; the output is what the model was told of each. */
export function scriptedAgent(
  tools: readonly Tool[],
  batches: readonly (readonly { tool: string; input: Json }[])[],
) {
  const agent = defineAgent({
    name: "scripted",
    version: 1,
    description: "Makes the calls it is told to.",
    model: "script",
    instructions: "Make the calls.",
    input: z.object({}),
    output: Output,
    signals: {},
    tools,
  });
  const model = scriptedModel("script", (request) => {
    const batch = batches[request.step - 1];
    if (batch !== undefined) return { calls: [...batch] };
    const outcomes = outcomesIn(request).map((outcome) => ({ ...outcome })) as Json;
    return { calls: [{ tool: "finish", input: { output: { outcomes } } }] };
  });
  return { agent, app: defineApp({ sagas: [agent], models: { script: model } }) };
}
