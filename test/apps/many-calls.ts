/** An agent that makes, in one reply, as many calls as its input says; then it ends. */
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { limits } from "../../protocol/limits.ts";
import { defineApp } from "../../services/app/app.ts";
import { scriptedModel } from "../../services/models/scripted.ts";

const look = defineTool({
  ...{ name: "look", description: "Looks.", effect: "read", placement: "host" },
  ...{ input: z.object({ k: z.int() }), output: z.object({ k: z.int() }), perform: async ({ k }) => ({ k }) },
} as const);

export const looking = defineAgent({
  ...{ name: "looking", version: 1, description: "Looks.", model: "script", instructions: "Look." },
  ...{ input: z.object({ calls: z.int() }), output: z.object({}), signals: {}, tools: [look] },
  callsPerReplyMax: limits.intentsOpenCeiling,
  budget: { intentsOpenMax: limits.intentsOpenCeiling },
});

const script = scriptedModel("script", ({ messages, step }) => {
  const count = Number(/calls\D+(\d+)/.exec(JSON.stringify(messages[0]))?.[1]);
  return step === 1
    ? { calls: Array.from({ length: count }, (_, k) => ({ tool: "look", input: { k } })) }
    : { calls: [{ tool: "finish", input: { output: {} } }] };
});

export default defineApp({ sagas: [looking], models: { script } });
