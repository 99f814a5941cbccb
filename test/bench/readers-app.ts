/** What readers.ts makes its ledgers with: steps of a machine, and an agent whose model says how long to go on. */
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { defineApp } from "../../services/app/app.ts";
import { scriptedModel } from "../../services/models/scripted.ts";
import { noopSaga } from "./noop-saga.ts";

const look = defineTool({
  name: "look",
  description: "finds a text",
  effect: "idempotent",
  placement: "host",
  input: z.object({ n: z.int() }),
  output: z.string(),
  perform: ({ n }) => Promise.resolve(`found ${n} `.repeat(20)),
});

/** Each of its decisions but the last is one call. */
const talk = defineAgent({
  name: "talk",
  version: 1,
  description: "Looks things up.",
  model: "talker",
  instructions: "Look things up, then finish.",
  input: z.object({ decisions: z.int() }),
  output: z.object({}),
  signals: {},
  tools: [look],
});

const talker = scriptedModel("talker", ({ step, messages }) => {
  const decisions = Number(/decisions\D+(\d+)/.exec(JSON.stringify(messages[0]))?.[1] ?? 0);
  return step <= decisions
    ? { calls: [{ tool: "look", input: { n: step } }] }
    : { calls: [{ tool: "finish", input: { output: {} } }] };
});

export default defineApp({ sagas: [noopSaga("host"), talk], models: { talker } });
