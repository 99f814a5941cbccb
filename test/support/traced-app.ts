/**
 * An application for tests of traces: an agent whose calls are performed by its host and by a worker, and a child that does the
 * same. Every call that is performed tells what it was handed as its `traceparent`.
 */
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { defineApp } from "../../services/app/app.ts";
import { scriptedModel } from "../../services/models/scripted.ts";
import { call } from "./workbench.ts";

/** What a body was handed, by the tool's name and what it was called with. */
export type Handed = Map<string, string | undefined>;

export function tracedApp(handed: Handed = new Map()) {
  const tool = (name: string, placement: "host" | "worker") =>
    defineTool({
      name,
      description: "Tells its trace.",
      effect: "idempotent",
      placement,
      input: z.object({ of: z.string() }),
      output: z.object({}),
      perform: ({ of }, { traceparent }) => {
        handed.set(`${name} ${of}`, traceparent);
        return Promise.resolve({});
      },
    });
  const [near, far] = [tool("near", "host"), tool("far", "worker")];
  const base = { version: 1, instructions: "Go on.", input: z.object({ of: z.string() }), signals: {} };
  const output = z.object({});
  const usage = { inputTokens: 10, outputTokens: 5 };
  const finish = { calls: [call("finish", { output: {} })], usage };
  const both = (of: string) => [call("near", { of }), call("far", { of })];
  const helper = defineAgent({
    ...{ ...base, output, name: "helper", description: "Helps.", model: "helping", tools: [near, far] },
  });
  const lead = defineAgent({
    ...{ ...base, output, name: "lead", description: "Leads.", model: "leading", tools: [near, far] },
    agents: [helper],
  });
  const app = defineApp({
    sagas: [lead, helper],
    models: {
      leading: scriptedModel("leading", ({ step }) =>
        step === 1 ? { calls: [...both("lead"), call("helper", { of: "child" })], usage } : finish,
      ),
      helping: scriptedModel("helping", ({ step }) =>
        step === 1 ? { calls: both("child"), usage } : finish,
      ),
    },
  });
  return { app, lead, helper };
}
