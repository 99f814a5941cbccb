/**
 * Pattern A: an agent that exists already is one step of a saga. See README.md beside this file.
 *
 *     npm run sagamesh -- up --app test/examples/patterns/black-box.ts
 *     npm run sagamesh -- start complaint --input '{"text":"it broke"}' --wait
 */
import { setup } from "xstate";
import { z } from "zod";
import { defineApp, defineSaga, defineTool, toActors } from "sagamesh";
import { oldAgent } from "./shop.ts";

/**
 * The whole loop is one effect, and it is as dangerous as the most dangerous thing in it: it pays, without a key that
 * survives its process, so it is `once`. Killed in the middle it is never run again, and a human is asked.
 */
const answerComplaint = defineTool({
  name: "answer_complaint",
  description: "Let the old agent deal with a complaint, refund included.",
  effect: "once",
  onDoubt: "ask",
  timeoutMs: 4_000,
  input: z.object({ text: z.string() }),
  output: z.object({ letter: z.string() }),
  compensation: "point_of_no_return",
  perform: async ({ text }) => {
    const { letter } = await oldAgent(text, "all");
    return { letter };
  },
});

const machine = setup({
  types: { input: {} as { text: string }, context: {} as { text: string; letter: string } },
  actors: toActors({ answerComplaint }),
}).createMachine({
  id: "complaint",
  initial: "answering",
  context: ({ input }) => ({ text: input.text, letter: "" }),
  states: {
    answering: {
      invoke: {
        src: "answerComplaint",
        input: ({ context: { text } }) => ({ text }),
        onDone: "answered",
        onError: "unanswered",
      },
    },
    answered: { type: "final" },
    unanswered: { type: "final", tags: "failed" },
  },
  output: () => ({ answered: true }),
});

const complaint = defineSaga({
  name: "complaint",
  version: 1,
  input: z.object({ text: z.string() }),
  output: z.object({ answered: z.boolean() }),
  signals: {},
  machine,
});

export default defineApp({ sagas: [complaint] });
