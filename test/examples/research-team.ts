/**
 * A lead that starts a researcher for each topic in one reply. They run in parallel, each a saga of its own, and share
 * one budget of tokens and decisions: each gets a slice while it works and gives back what it did not use.
 *
 * A researcher that uses up its slice is told so and ends well with what it has; one that fails is a result to the lead,
 * which looks the topic up itself. What the lead needs to write its report is kept back for it.
 *
 *     npm run sagamesh -- up --app test/examples/research-team.ts
 *     npm run sagamesh -- start research_lead --wait --input '{"question":"Which material?","topics":["tin","zinc"]}'
 */
import { defineAgent, defineApp, defineTool, NotPerformed } from "sagamesh";
import { type ModelMessage, ModelFailure, type ModelRequest } from "sagamesh/models";
import { scriptedModel } from "sagamesh/testing";
import { z } from "zod";

/** What lead and researchers may use together. */
export const pool = { tokens: 400_000, steps: 60 };

/** The library, in place of a real one: a broad topic has many pages, any other has two. */
const pagesOf = (topic: string): number => (topic.startsWith("broad") ? 40 : 2);

export const read = defineTool({
  name: "read",
  description: "Read a page about a topic.",
  effect: "read",
  input: z.object({ topic: z.string(), page: z.int().positive() }),
  output: z.object({ text: z.string(), more: z.boolean() }),
  perform: async ({ topic, page }) => {
    const pages = pagesOf(topic);
    if (page > pages) throw new NotPerformed(`${topic} has ${pages} pages`, { retry: false });
    return { text: `${topic}, page ${page}: ${"it depends. ".repeat(80)}`, more: page < pages };
  },
});

const Finding = z.object({
  pages: z.int(),
  complete: z.boolean().describe("false if the budget ended the work"),
});

export const researcher = defineAgent({
  name: "researcher",
  version: 1,
  description: "Reads all there is about one topic.",
  model: "researcher",
  instructions: "Read page after page. If this is your last step, finish with what you have.",
  input: z.object({ topic: z.string() }),
  output: Finding,
  signals: {},
  tools: [read],
  outputTokensMax: 500,
});

export const researchLead = defineAgent({
  name: "research_lead",
  version: 1,
  description: "Answers a question by a team of researchers.",
  model: "lead",
  instructions:
    "Give each topic to a researcher, all in one reply. Where one fails, read the first page of its topic yourself. " +
    "Then finish with a report.",
  input: z.object({ question: z.string(), topics: z.array(z.string()).min(1).max(10) }),
  output: z.object({ report: z.array(z.string()) }),
  signals: {},
  tools: [read],
  agents: [researcher],
  budget: pool,
  outputTokensMax: 1_500,
});

const toldIn = (messages: readonly ModelMessage[]) =>
  messages.flatMap((message) => (message.role === "user" ? message.parts : []));

function inputOf<T>(schema: z.ZodType<T>, messages: readonly ModelMessage[]): T {
  const [first] = toldIn(messages);
  return schema.parse(JSON.parse(first?.type === "text" ? first.text : "{}"));
}

const isLastStep = (messages: readonly ModelMessage[]): boolean =>
  toldIn(messages.slice(-2)).some(
    (part) => part.type === "text" && part.text.includes("This is your last step"),
  );

/** What the models would do; real ones take their places by `anthropicModel({ model: … })`. */
function research({ messages }: ModelRequest) {
  const { topic } = inputOf(researcher.input, messages);
  // As a provider does that does not answer to some words; nobody can research what the model will not talk of.
  if (topic.startsWith("poison")) throw new ModelFailure("fail", "the provider refuses this topic");
  const pages = toldIn(messages).flatMap((part) =>
    part.type === "result" && part.tool === "read" && part.outcome === "succeeded"
      ? [part.output as z.infer<typeof read.output>]
      : [],
  );
  const complete = pages.at(-1)?.more === false;
  if (complete || isLastStep(messages)) return finish({ pages: pages.length, complete });
  return { calls: [{ tool: "read", input: { topic, page: pages.length + 1 } }] };
}

function leading({ messages }: ModelRequest) {
  const { topics } = inputOf(researchLead.input, messages);
  const results = toldIn(messages).filter((part) => part.type === "result");
  const given = messages.flatMap((message) => (message.role === "assistant" ? message.calls : []));
  const topicOf = (call: string) => (given.find(({ id }) => id === call)?.input as { topic: string }).topic;
  const found = results.filter(({ tool }) => tool === "researcher");
  if (found.length === 0) return { calls: topics.map((topic) => ({ tool: "researcher", input: { topic } })) };
  const failed = found.filter(({ outcome }) => outcome !== "succeeded");
  const own = results.filter(({ tool }) => tool === "read");
  if (failed.length > 0 && own.length === 0 && !isLastStep(messages))
    return { calls: failed.map(({ call }) => ({ tool: "read", input: { topic: topicOf(call), page: 1 } })) };
  const lines = found.map(({ call, outcome, output, reason }) => {
    if (outcome !== "succeeded") return `${topicOf(call)}: its researcher failed (${reason ?? outcome})`;
    const { pages, complete } = Finding.parse(output);
    return `${topicOf(call)}: ${pages} pages${complete ? "" : ", as far as the budget went"}`;
  });
  return finish({
    report: [...lines, ...own.map(({ call }) => `${topicOf(call)}: 1 page, read by the lead`)],
  });
}

const finish = (output: unknown) => ({ calls: [{ tool: "finish", input: { output } }] });

/**
 * A script as a provider would bill it, a token for each byte. It may write `outputTokensMax` tokens and is cut off
 * where it would write more.
 */
const billed =
  (script: (request: ModelRequest) => { calls: { tool: string; input: unknown }[] }) =>
  (request: ModelRequest) => {
    const { instructions, tools, messages, outputTokensMax = Number.POSITIVE_INFINITY } = request;
    const inputTokens = bytesOf([instructions, tools, messages]);
    const { calls } = script(request);
    const outputTokens = bytesOf(calls);
    return outputTokens <= outputTokensMax
      ? { calls: calls as { tool: string; input: never }[], usage: { inputTokens, outputTokens } }
      : { text: "", stop: "length" as const, usage: { inputTokens, outputTokens: outputTokensMax } };
  };
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

export const models = {
  lead: scriptedModel("lead", billed(leading)),
  researcher: scriptedModel("researcher", billed(research)),
};

export default defineApp({ sagas: [researchLead], models });
