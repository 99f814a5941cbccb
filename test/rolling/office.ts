/**
 * The office in two versions, as a team would change it: another prompt, a tool with a new required member, a new tool,
 * and a machine with another state. What is done to the outside is a line in a file that outlives every process.
 *
 * A clerk (an agent) and an order (a machine) both pay, wait for the signal `go`, post, and end with their version as
 * output. A clerk that is given notes takes them one by one, so that it runs for long.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { assign, setup } from "xstate";
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool, type PerformContext } from "../../actors/contract/tool.ts";
import { toActors } from "../../actors/machine/callable.ts";
import { defineSaga } from "../../actors/saga/define.ts";
import type { Json } from "../../protocol/json.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import { scriptedModel } from "../../services/models/scripted.ts";

export type Version = 1 | 2;

/** A line of the outside's account. `contract` is the version of the body that did it, where each version has one. */
export interface Deed {
  readonly tool: string;
  readonly contract?: Version | undefined;
  readonly key: string;
  readonly input: Record<string, unknown>;
  readonly by: number;
}

/** The variable that names the account's file. */
export const worldVariable = "ROLLING_WORLD";

function did(
  tool: string,
  contract: Version | undefined,
  input: object,
  { key }: PerformContext,
): Record<string, never> {
  const deed: Deed = { tool, contract, key, input: { ...input }, by: process.pid };
  appendFileSync(process.env[worldVariable] ?? "", `${JSON.stringify(deed)}\n`);
  return {};
}

const noteMs = 750;
const amount = z.int().positive();
const done = z.object({});

/** What did not change, and what is new: one contract, and one body, for both versions. */
const note = defineTool({
  ...{ name: "note", description: "Takes a note.", effect: "idempotent", timeoutMs: 10_000 },
  compensation: "point_of_no_return",
  input: z.object({ step: z.int() }),
  output: done,
  perform: async (input, context) => {
    await delay(noteMs, undefined, { signal: context.abort });
    return did("note", undefined, input, context);
  },
});
const plain = (name: string) =>
  defineTool({
    ...{ name, description: name, effect: "idempotent", timeoutMs: 1_000 },
    compensation: "point_of_no_return",
    input: z.object({}),
    output: done,
    perform: async (input, context) => did(name, undefined, input, context),
  });
const [post, audit] = [plain("post"), plain("audit")];

/** The tools that have another contract in each version. */
function toolsOf(version: Version) {
  const charge =
    version === 1
      ? defineTool({
          ...{ name: "charge", description: "Charges.", effect: "once", onDoubt: "model", timeoutMs: 1_000 },
          compensation: "point_of_no_return",
          input: z.object({ amount }),
          output: done,
          perform: async (input, context) => did("charge", 1, input, context),
        })
      : defineTool({
          ...{ name: "charge", version: 2, description: "Charges.", effect: "once" },
          ...{ onDoubt: "model", timeoutMs: 1_000 },
          compensation: "point_of_no_return",
          input: z.object({ amount, currency: z.string() }),
          output: done,
          perform: async (input, context) => did("charge", 2, input, context),
        });
  const hold = defineTool({
    ...{ name: "hold", version, description: "Holds an amount.", effect: "idempotent", timeoutMs: 1_000 },
    compensation: "point_of_no_return",
    input: version === 1 ? z.object({ amount }) : z.object({ amount, currency: z.string() }),
    output: done,
    perform: async (input, context) => did("hold", version, input, context),
  });
  return { charge, hold };
}

const signals = { go: z.object({}) };
const Ended = z.object({ version: z.int() });

/** What a version's sagas are given: how many notes a clerk takes first, and whether it waits before it posts. */
export const Task = z.object({ notes: z.int().nonnegative(), waits: z.boolean() });

function clerkOf(version: Version, tools: ReturnType<typeof toolsOf>) {
  const { charge } = tools;
  return defineAgent({
    ...{ name: "clerk", version, description: "Charges, waits, posts.", model: `script-${version}` },
    instructions: version === 1 ? "Charge, wait, post." : "Charge, have it audited, wait, and post.",
    ...{ input: Task, output: Ended, signals },
    tools: version === 1 ? [charge, note, post] : [charge, note, post, audit],
  });
}

/** The model of a version. Its course follows from the task and from how often it was heard. */
const scriptOf = (version: Version) =>
  scriptedModel(`script-${version}`, ({ messages }) => {
    const { notes, waits } = taskIn(messages);
    const said = messages.filter(({ role }) => role === "assistant").length;
    const course: { tool: string; input: Json }[] = [
      { tool: "charge", input: { amount: 5, ...(version === 2 ? { currency: "EUR" } : {}) } },
      ...(version === 2 ? [{ tool: "audit", input: {} }] : []),
      ...Array.from({ length: notes }, (_, at) => ({ tool: "note", input: { step: at } })),
      ...(waits ? [{ tool: "wait", input: { signals: ["go"] } }] : []),
      { tool: "post", input: {} },
    ];
    return { calls: [course[said] ?? { tool: "finish", input: { output: { version } } }] };
  });

function taskIn(messages: readonly ModelMessage[]): z.infer<typeof Task> {
  const [first] = messages;
  const part = first?.role === "user" ? first.parts[0] : undefined;
  if (part?.type !== "text") throw new Error("a clerk's conversation begins with its task");
  return Task.parse(JSON.parse(part.text));
}

/** The order's machine; the newer one has a state more. */
function orderOf(version: Version, tools: ReturnType<typeof toolsOf>) {
  const { hold } = tools;
  const money = version === 1 ? { amount: 7 } : { amount: 7, currency: "EUR" };
  const machine = setup({
    types: {
      input: {} as z.infer<typeof Task>,
      output: {} as z.infer<typeof Ended>,
      events: {} as { type: "go"; data: Record<string, never> },
      context: {} as { version: number },
    },
    actors: toActors({ hold, post, audit }),
    actions: { mark: assign({ version }) },
  }).createMachine({
    id: "order",
    initial: "paying",
    context: { version: 0 },
    output: ({ context }) => ({ version: context.version }),
    states: {
      paying: {
        invoke: { src: "hold", input: money, onDone: version === 1 ? "waiting" : "auditing" },
      },
      ...(version === 1 ? {} : { auditing: { invoke: { src: "audit", input: {}, onDone: "waiting" } } }),
      waiting: { on: { go: "posting" } },
      posting: { invoke: { src: "post", input: {}, onDone: { target: "done", actions: "mark" } } },
      done: { type: "final" },
    },
  });
  const early = { whenEarly: "keep" } as const;
  return defineSaga({
    ...{ name: "order", version, machine },
    ...{ input: Task, output: Ended, signals },
    ...early,
  });
}

/** What a version has, to be served alone or beside the other. */
export function office(version: Version) {
  const tools = toolsOf(version);
  return {
    sagas: [clerkOf(version, tools), orderOf(version, tools)],
    models: { [`script-${version}`]: scriptOf(version) },
  };
}
