/**
 * Fifty clerks who use up all that they are given, under one chief whose budget they share; and the bill of a provider
 * that is paid a token for each byte it reads and for all that it may write, from the moment it is asked.
 */
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { jsonBytes } from "../../protocol/json.ts";
import type { ModelPort, ModelRequest } from "../../protocol/model.ts";
import { type App, defineApp } from "../../services/app/app.ts";

export interface Bill {
  readonly saga: string;
  readonly step: number;
  readonly tokens: number;
}

export const pool = { tokens: 1_600_000, usd: 9 };
const price = { inputPerMillion: 3, outputPerMillion: 15 };
export const clerksCount = 50;

const note = defineTool({
  name: "note",
  description: "Notes something.",
  effect: "read",
  placement: "host",
  input: z.object({ of: z.number() }),
  output: z.object({ noted: z.string() }),
  perform: async ({ of }) => ({ noted: "x".repeat(200 + of) }),
});
const parts = {
  ...{ version: 1, instructions: "Use up what you are given.", signals: {}, outputTokensMax: 400 },
  output: z.object({ steps: z.number() }),
};
const clerk = defineAgent({
  ...{ ...parts, name: "clerk", description: "Notes as often as it may.", model: "costly", tools: [note] },
  input: z.object({ of: z.number() }),
});
export const chief = defineAgent({
  ...{ ...parts, name: "chief", description: "Has clerks.", model: "costly", tools: [], agents: [clerk] },
  input: z.object({}),
  budget: pool,
});

export interface FiftyOptions {
  /** The provider bills. Synchronous: a process that dies right after was billed. */
  readonly bill: (bill: Bill) => void;
  readonly think: () => Promise<void>;
}

export function fiftyApp({ bill, think }: FiftyOptions): App {
  const costly: ModelPort = {
    name: "costly",
    decide: async (request, { spent }) => {
      const inputTokens = jsonBytes([request.instructions, request.tools, request.messages]);
      const usage = { inputTokens, outputTokens: request.outputTokensMax ?? 1_000_000 };
      bill({ saga: request.saga, step: request.step, tokens: inputTokens + usage.outputTokens });
      spent(usage);
      await think();
      return { model: "costly", usage, ...reply(request) };
    },
  };
  return defineApp({ sagas: [chief], models: { costly }, prices: { costly: price } });
}

const reply = (request: ModelRequest) => {
  const isLast = JSON.stringify(request.messages.slice(-2)).includes("This is your last step");
  const isChief = request.tools.some(({ name }) => name === "clerk");
  if (isLast || (isChief && request.messages.length > 1))
    return { calls: [{ tool: "finish", input: { output: { steps: request.step } } }] };
  return isChief
    ? { calls: Array.from({ length: clerksCount }, (_, of) => ({ tool: "clerk", input: { of } })) }
    : { calls: [{ tool: "note", input: { of: request.step } }] };
};
