/** An agent whose model thinks aloud, a word every TALKER_MS, and whose tool tells how far it is. */
import { z } from "zod";
import { defineAgent, defineApp, defineTool } from "sagamesh";
import { ModelFailure, type ModelPort } from "sagamesh/models";

const words = (text: string): string[] => text.split(/(?<= )/);

/** What the model says before it finishes; . */
export const speech = words("One word after the other, until it is all said.");

const pack = defineTool({
  name: "pack",
  description: "Packs, and says how far it is.",
  effect: "read",
  input: z.object({}),
  output: z.object({}),
  perform: async (_, { progress }) => {
    for (const part of [1, 2, 3]) progress({ packed: part });
    progress(1n); // No JSON: lost, and the tool goes on.
    return {};
  },
});

export const talker = defineAgent({
  name: "talker",
  version: 1,
  description: "Talks.",
  model: "talkative",
  instructions: "Talk.",
  input: z.object({}),
  output: z.object({ done: z.boolean() }),
  signals: {},
  tools: [pack],
});

/** A port that says its reply in pieces, `everyMs` apart, or keeps it to itself until it is whole. */
export const talkative = ({ everyMs = 0, fails = 0, silent = false } = {}): ModelPort => {
  let asked = 0;
  return {
    name: "talkative",
    decide: async ({ step }, { live, abort }) => {
      asked += 1;
      if (!silent) live({ thinking: "What shall I say?" });
      for (const [index, piece] of speech.entries()) {
        if (everyMs > 0) await new Promise((resolve) => setTimeout(resolve, everyMs));
        abort.throwIfAborted();
        if (!silent) live({ text: piece });
        if (asked <= fails && index === 3) throw new ModelFailure("retry", "the line went dead");
      }
      const finish = { tool: "finish", input: { output: { done: true } } };
      const calls = step === 1 ? [{ tool: "pack", input: {} }] : [finish];
      return { model: "talkative", text: speech.join(""), calls };
    },
  };
};

export default defineApp({
  sagas: [talker],
  models: {
    talkative: talkative({ everyMs: Number(process.env["TALKER_MS"] ?? 0) }),
  },
});
