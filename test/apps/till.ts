/**
 * An application whose one agent charges and ships sixteen times at once, and the outside that it does it to: a file
 * (TILL_WORLD) to which each effect adds a line. With TILL_HANGS what is begun never ends.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import { defineApp } from "../../services/app/app.ts";
import { scriptedModel } from "../../services/models/scripted.ts";

export const perKind = 16;
const { env } = process;
const world = (): string => env["TILL_WORLD"] ?? "";

/** The keys of what was done, in order. */
export const doneIn = (file: string): string[] => readFileSync(file, "utf8").split("\n").slice(0, -1);

const toolOf = (name: string, effect: "once" | "probe") =>
  defineTool({
    ...{ name, effect, description: name, timeoutMs: 1_000 },
    ...(effect === "once" ? { compensation: "point_of_no_return" as const } : {}),
    input: z.object({ of: z.int() }),
    output: z.object({ key: z.string() }),
    perform: async (_, { key }) => {
      appendFileSync(world(), `${key}\n`);
      if (env["TILL_HANGS"] !== undefined) await new Promise(() => undefined);
      return { key };
    },
    probe: async (key) =>
      doneIn(world()).includes(key)
        ? { outcome: "happened", output: { key } }
        : { outcome: "did_not_happen" },
  });

export const till = defineAgent({
  name: "till",
  version: 1,
  description: "Charges and ships.",
  model: "script",
  instructions: "Charge and ship.",
  input: z.object({}),
  output: z.object({ done: z.boolean() }),
  signals: {},
  tools: [toolOf("charge", "once"), toolOf("ship", "probe")],
});

const all = Array.from({ length: perKind }, (_, of) => [
  { tool: "charge", input: { of } },
  { tool: "ship", input: { of } },
]).flat();

export default defineApp({
  sagas: [till],
  models: {
    script: scriptedModel("script", ({ step }) =>
      step === 1 ? { calls: all } : { calls: [{ tool: "finish", input: { output: { done: true } } }] },
    ),
  },
});
