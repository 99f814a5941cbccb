/**
 * A purchase agent whose payment, a `once` effect, needs people above an amount: the team lead within four hours, then
 * two of finance on terms of their own. A tool tells them and reminds the lead.
 *
 * Whoever is asked may change the amount. That is another payment, which needs approvals of its own, its author's not
 * counted in advance, and the model hears who changed what. Days of waiting cost nothing, and no crash pays twice.
 *
 *     npm run sagamesh -- up --app test/examples/purchase.ts
 *     npm run sagamesh -- start purchase --input '{"item":"a press","supplier":"Ada & Sons","cents":90000}'
 *     npm run sagamesh -- tasks
 */
import { type Approval, defineAgent, defineApp, defineTool, TaskNotice } from "sagamesh";
import type { ModelRequest } from "sagamesh/models";
import { scriptedModel } from "sagamesh/testing";
import { z } from "zod";

const HOUR = 3_600_000;
/** What an agent may pay on its own, cents. */
const freeCents = 50_000;

/** Stands for a chat or a mail service; the notice's `task` is what `sagamesh approve` takes. */
export const tell = defineTool({
  name: "tell",
  description: "Tell people that something waits for them.",
  effect: "idempotent",
  input: z.object({ channel: z.string(), task: TaskNotice }),
  output: z.object({}),
  perform: async ({ channel, task }, { key }) => {
    console.error(`${channel}: ${task.question} ${JSON.stringify(task.input)} (${task.task}) under ${key}`);
    return {};
  },
});

/** Finance pays with four eyes. */
const finance: Approval = {
  by: ["finance"],
  withinMs: 48 * HOUR,
  quorum: 2,
  notify: { tool: tell, input: { channel: "#finance" } },
  otherwise: "deny",
};
const teamLead: Approval = {
  by: ["team_lead"],
  withinMs: 4 * HOUR,
  remindEveryMs: 2 * HOUR,
  notify: { tool: tell, input: { channel: "#team-leads" } },
  otherwise: { escalate: finance },
};

export const pay = defineTool({
  name: "pay",
  description: "Pay a supplier. Larger amounts wait for people, who may change the amount.",
  effect: "once",
  input: z.object({ supplier: z.string(), cents: z.int().positive() }),
  output: z.object({ receipt: z.string() }),
  approval: ({ cents }) => cents > freeCents && teamLead,
  uses: [tell], // Terms that a function answers name it, so it is not found by itself.
  compensation: "point_of_no_return",
  perform: async ({ supplier, cents }, { key }) => {
    console.error(`bank: ${cents} to ${supplier}`);
    return { receipt: key };
  },
});

export const purchase = defineAgent({
  name: "purchase",
  version: 1,
  description: "Buys one thing.",
  model: "buyer",
  instructions:
    "Pay the supplier. If people change the amount or say no, that holds: report it and do not try again.",
  input: z.object({ item: z.string(), supplier: z.string(), cents: z.int().positive() }),
  output: z.object({ paidCents: z.int(), note: z.string() }),
  signals: {},
  tools: [pay],
});

/** What a model would do; a real one takes its place by `anthropicModel({ model: … })`. */
function decide({ messages }: ModelRequest) {
  const told = messages.flatMap((message) => (message.role === "user" ? message.parts : []));
  const [first] = told;
  const order = purchase.input.parse(JSON.parse(first?.type === "text" ? first.text : "{}"));
  const paid = told.find((part) => part.type === "result" && part.tool === "pay");
  if (paid?.type !== "result")
    return {
      text: `${order.supplier} asks ${order.cents} cents for ${order.item}.`,
      calls: [{ tool: "pay", input: { supplier: order.supplier, cents: order.cents } }],
    };
  if (paid.outcome !== "succeeded") return finish(0, `not bought: ${paid.reason ?? paid.outcome}`);
  const { edited } = paid;
  if (edited === undefined) return finish(order.cents, "paid as asked");
  const { cents } = edited.input as { cents: number };
  return finish(cents, `${edited.by} made ${cents} of ${order.cents}`);
}

const finish = (paidCents: number, note: string) => ({
  calls: [{ tool: "finish", input: { output: { paidCents, note } } }],
});

export default defineApp({ sagas: [purchase], models: { buyer: scriptedModel("buyer", decide) } });
