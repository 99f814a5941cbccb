/**
 * The hiring article's recruiter, who takes days: an agent whose one tool asks outside and defers.
 */
import { z } from "zod";
import { defineAgent } from "../../actors/agent/define.ts";
import { defineTool, type PerformContext } from "../../actors/contract/tool.ts";
import type { Effect } from "../../protocol/tool.ts";
import { defineApp } from "../../services/app/app.ts";
import { scriptedModel } from "../../services/models/scripted.ts";
import { outcomesIn } from "./scripted-agent.ts";

const day = 86_400_000;
export const answerWithinMs = 5 * day;

export interface RecruitingOptions {
  readonly effect?: Effect;
  readonly withinMs?: number;
  /** Two of them must approve that the recruiter is asked. */
  readonly approvers?: readonly string[];
}

/** `sent` is called by the tool with what it was given, before it defers, or in place of that if it throws. */
export function recruiting(
  sent: (context: PerformContext) => void | Promise<void>,
  { effect = "idempotent", withinMs = answerWithinMs, approvers }: RecruitingOptions = {},
) {
  const ask = defineTool({
    name: "request_interview_slot",
    description: "Ask the recruiter for a slot. Answers when the recruiter does.",
    effect: effect as "idempotent",
    ...(approvers === undefined
      ? {}
      : { approval: () => ({ by: approvers, withinMs, otherwise: "deny" as const, quorum: 2 }) }),
    retry: { attemptsMax: 2, backoffMs: 10 },
    input: z.object({ candidate: z.string() }),
    output: z.object({ slot: z.iso.datetime(), seats: z.int().optional() }),
    perform: async (_, context) => {
      await sent(context);
      return context.defer({ withinMs });
    },
  });
  const agent = defineAgent({
    name: "recruit",
    version: 1,
    description: "Finds a slot.",
    model: "script",
    instructions: "Ask the recruiter.",
    input: z.object({}),
    output: z.object({ outcomes: z.array(z.record(z.string(), z.json())), notes: z.int() }),
    signals: { note: z.object({ text: z.string() }) },
    tools: [ask],
  });
  const model = scriptedModel("script", (request) => {
    const outcomes = outcomesIn(request).map((outcome) => ({ ...outcome }));
    if (outcomes.length === 0) return { calls: [{ tool: ask.name, input: { candidate: "c1" } }] };
    if (outcomes.some(({ outcome }) => outcome === "pending"))
      return { calls: [{ tool: "wait", input: { signals: ["note"] } }] };
    const notes = request.messages.flatMap((message) =>
      message.role === "user" ? message.parts.filter((part) => part.type === "signal") : [],
    ).length;
    return { calls: [{ tool: "finish", input: { output: { outcomes, notes } } }] };
  });
  return { agent, app: defineApp({ sagas: [agent], models: { script: model } }) };
}
