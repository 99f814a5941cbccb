/**
 * Example: a hiring saga that may be called off on any day.
 *
 * The requests are answered by candidates, days later. Called off, the agent gets one more reply
 * (`whenCancelled: "ask"`): it declines politely, in words that only a model finds. What can be undone, the requests,
 * the runtime then withdraws by itself, whatever the model said.
 */
import { defineAgent, defineTool } from "sagamesh";
import { z } from "zod";

const Candidate = z.object({ candidateId: z.string() });

export const searchCandidates = defineTool({
  name: "search_candidates",
  description: "Searches the talent pool.",
  effect: "read",
  input: z.object({ role: z.string() }),
  output: z.object({ candidates: z.array(Candidate) }),
  perform: async () => ({ candidates: ["ana", "bo", "cy"].map((candidateId) => ({ candidateId })) }),
});

export const withdrawRequest = defineTool({
  name: "withdraw_request",
  description: "Withdraws an interview request.",
  effect: "idempotent",
  input: z.object({ candidateId: z.string(), requestKey: z.string() }),
  output: z.object({}),
  perform: async () => ({}),
});

export const requestInterview = defineTool({
  name: "request_interview",
  description: "Asks a candidate for a slot. Answers when the candidate does.",
  effect: "idempotent",
  input: z.object({ candidateId: z.string() }),
  output: z.object({ slot: z.iso.datetime() }),
  compensation: {
    tool: withdrawRequest,
    input: ({ input, key }) => ({ candidateId: input.candidateId, requestKey: key }),
  },
  perform: (_, { defer }) => defer({ withinMs: 5 * 86_400_000 }),
});

export const sendDecline = defineTool({
  name: "send_decline",
  description: "Tells a candidate that the position is no longer open.",
  effect: "idempotent",
  input: z.object({ candidateId: z.string(), text: z.string() }),
  output: z.object({}),
  compensation: "point_of_no_return",
  perform: async () => ({}),
});

export const hireForRole = defineAgent({
  name: "hire_for_role",
  version: 1,
  description: "Finds candidates and schedules first interviews.",
  model: "recruiting_model",
  instructions:
    "Find candidates for the role and ask each for an interview. If you are cancelled, decline politely.",
  input: z.object({ role: z.string() }),
  output: z.object({ slots: z.array(z.string()) }),
  signals: {},
  tools: [searchCandidates, requestInterview, sendDecline],
  whenCancelled: "ask",
});
