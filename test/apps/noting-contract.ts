/** The sagas of noting.ts: two agents that note, one of which may take few steps. */
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";

/** Steps that the thrifty one may take. */
export const thriftySteps = 9;

const note = defineTool({
  ...{ name: "note", description: "Notes.", effect: "read", placement: "host" },
  ...{ input: z.object({ of: z.number() }), output: z.object({}), perform: async () => ({}) },
} as const);

const parts = {
  ...{ version: 1, description: "Notes.", model: "provider", instructions: "Note.", signals: {} },
  ...{ input: z.object({ me: z.string() }), output: z.object({}), tools: [note] },
} as const;

export const noting = defineAgent({ ...parts, name: "noting", budget: { steps: 1_000 } });
export const thrifty = defineAgent({ ...parts, name: "thrifty", budget: { steps: thriftySteps } });
