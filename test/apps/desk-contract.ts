/**
 * A travel desk for the command line's tests: an agent with one tool of each kind. What it does is in its
 * input, so a test says what it wants and needs no model of its own.
 */
import { z } from "zod";
import { defineAgent, defineTool, NotPerformed } from "sagamesh";

const lookUp = defineTool({
  name: "look_up",
  description: "Look up a fare.",
  effect: "read",
  input: z.object({ to: z.string() }),
  output: z.object({ cents: z.int() }),
  perform: async ({ to }) => ({ cents: to.length * 100 }),
});
const cancelSeat = defineTool({
  name: "cancel_seat",
  description: "Give a seat back.",
  effect: "idempotent",
  input: z.object({ bookedWithKey: z.string() }),
  output: z.object({}),
  perform: async () => ({}),
});
const bookSeat = defineTool({
  name: "book_seat",
  description: "Book a seat.",
  effect: "idempotent",
  input: z.object({ to: z.string() }),
  output: z.object({ seat: z.string() }),
  compensation: { tool: cancelSeat, input: ({ key }) => ({ bookedWithKey: key }) },
  perform: async ({ to }) => ({ seat: `${to}-1A` }),
});
/** The second try fails too: only an answer from outside can bring this call to an end. */
const askAirline = defineTool({
  name: "ask_airline",
  description: "Ask the airline; it answers when it likes.",
  effect: "idempotent",
  input: z.object({ question: z.string() }),
  output: z.object({ answer: z.string() }),
  retry: { attemptsMax: 3, backoffMs: 10 },
  perform: async ({ question }, { attempt, defer }) => {
    if (question === "twice" && attempt === 1) throw new NotPerformed("the line is busy");
    return defer({ withinMs: 3_600_000 });
  },
});
const pay = defineTool({
  name: "pay",
  description: "Pay.",
  effect: "once",
  onDoubt: "ask",
  input: z.object({ cents: z.int() }),
  output: z.object({ receipt: z.string() }),
  compensation: "point_of_no_return",
  perform: async ({ cents }, { key }) => {
    if (cents === 666) throw new Error("the line broke");
    return { receipt: key };
  },
});
const upgrade = defineTool({
  name: "upgrade",
  description: "Upgrade to first class.",
  effect: "idempotent",
  input: z.object({ to: z.string() }),
  output: z.object({ seat: z.string() }),
  approval: () => ({ by: ["ana"], withinMs: 3_600_000, otherwise: "deny" }),
  perform: async ({ to }) => ({ seat: `${to}-1F` }),
});

/** Longer than any grace. */
const doze = defineTool({
  name: "doze",
  description: "Sleep on it.",
  effect: "idempotent",
  input: z.object({}),
  output: z.object({}),
  perform: () =>
    new Promise<Record<string, never>>((resolve) => void setTimeout(() => resolve({}), 60_000).unref()),
});

/** What the desk is told to do first; whatever comes of it, it then finishes. */
export const Errand = z.enum([
  "book",
  "airline",
  "airline_twice",
  "pay",
  "pay_into_doubt",
  "upgrade",
  "ask",
  "wait",
  "doze",
  "fail",
]);

/** A way to define the desk, with other words for its first message or its own. */
export const deskWith = (words: {
  prompt?: (input: { errand: string; to: string }) => string;
  version?: number;
  instructions?: string;
}) =>
  defineAgent({
    name: "desk",
    version: 1,
    description: "Runs one errand.",
    model: "clerk",
    instructions: "Run the errand, then finish.",
    input: z.object({ errand: Errand, to: z.string() }),
    output: z.object({ done: z.string() }),
    signals: { note: z.object({ text: z.string() }), hurry: z.object({ by: z.string(), minutes: z.int() }) },
    tools: [lookUp, bookSeat, askAirline, pay, upgrade, doze],
    memory: {
      schema: z.object({ seats: z.array(z.string()), wish: z.string().optional() }),
      initial: { seats: [] },
      on: { book_seat: (memory, { output }) => ({ ...memory, seats: [...memory.seats, output.seat] }) },
    },
    ...words,
  });

export const desk = deskWith({});
