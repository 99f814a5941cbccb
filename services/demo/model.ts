/**
 * The demo's model: a function of the request, so the demo needs no key and no network, and a replay may ask
 * it again.
 *
 * Each step of the work looks at the conversation and says what to call, or that it is done; the first step
 * that is not done speaks.
 *
 * D1 At most one deposit is ever charged, whatever the results say. In doubt it is looked up, and what is not
 *    found stays open.
 * D2 While anything a step needs is pending, it waits: a result of an earlier call wakes a waiting agent.
 */
import type { Message, ModelPort, ModelRequest, Part } from "sagamesh";
import type { z } from "zod";
import { type ScriptedAnswer, scriptedModel } from "../models/scripted.ts";
import {
  chargeDeposit,
  createInvite,
  enrichCandidate,
  findDeposit,
  hireForRole,
  modelName,
  requestInterview,
  reserveRoom,
  searchCandidates,
} from "./hiring.ts";

/** The model port of the demo. */
export const scriptedRecruiter = (): ModelPort => scriptedModel(modelName, answerRequest);

const interviewsMax = 3;
const depositCents = 5_000;
const lookupsMax = 3;

/** What the model says to a request. Pure. */
export function answerRequest(request: ModelRequest): ScriptedAnswer {
  const known = readConversation(request.messages);
  return (
    search(known) ??
    enrich(known) ??
    arrange(known) ??
    pay(known) ??
    awaitRecruiter(known) ??
    invite(known) ??
    finish(known)
  );
}

type ResultPart = Extract<Part, { type: "result" }>;
type ToolName = { readonly name: string };

/** A call with the last that is known of it. */
interface Made {
  readonly input: unknown;
  readonly result: ResultPart | undefined;
}

interface Known {
  readonly role: string;
  readonly wasAnswered: boolean;
  calls(tool: ToolName): readonly Made[];
}

function readConversation(messages: readonly Message[]): Known {
  const parts = messages.flatMap((message) => (message.role === "user" ? message.parts : []));
  const results = new Map<string, ResultPart>();
  for (const part of parts) if (part.type === "result") results.set(part.call, part);
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.calls : []));
  return {
    role: roleOf(parts.find((part) => part.type === "text")?.text),
    wasAnswered: parts.some((part) => part.type === "signal" && part.name === "recruiter_reply"),
    calls: ({ name }) =>
      calls.filter(({ tool }) => tool === name).map(({ id, input }) => ({ input, result: results.get(id) })),
  };
}

/** The first message is the saga's input as JSON. */
function roleOf(text: string | undefined): string {
  try {
    return hireForRole.input.parse(JSON.parse(text ?? "")).role;
  } catch {
    return text ?? "any";
  }
}

/** The calls' inputs and outputs where they succeeded, as the contracts read them. */
function successes<I extends z.ZodType, O extends z.ZodType>(
  known: Known,
  tool: { name: string; input: I; output: O },
) {
  return known.calls(tool).flatMap(({ input, result }) => {
    if (result?.outcome !== "succeeded") return [];
    return [{ input: tool.input.parse(input), output: tool.output.parse(result.output) }];
  });
}

const isPending = (known: Known, tool: ToolName): boolean =>
  known.calls(tool).some(({ result }) => result === undefined || result.outcome === "pending");

const call = (text: string, calls: readonly { tool: ToolName; input: object }[]): ScriptedAnswer => ({
  text,
  calls: calls.map(({ tool, input }) => ({ tool: tool.name, input: input as Record<string, string> })), // Plain data.
});

/** D2. */
const wait = (text: string): ScriptedAnswer => ({
  text,
  calls: [{ tool: "wait", input: { signals: ["recruiter_reply"] } }],
});

function search(known: Known): ScriptedAnswer | undefined {
  if (isPending(known, searchCandidates)) return wait("The search is still running.");
  const made = known.calls(searchCandidates);
  if (made.length > 0) return undefined;
  return call(`First I search the talent pool for ${known.role}.`, [
    { tool: searchCandidates, input: { role: known.role, limit: 20 } },
  ]);
}

function enrich(known: Known): ScriptedAnswer | undefined {
  if (isPending(known, enrichCandidate)) return wait("Some profiles are still being read.");
  const found = successes(known, searchCandidates).flatMap(({ output }) => output.candidates);
  if (found.length === 0 || known.calls(enrichCandidate).length > 0) return undefined;
  return call(
    `${found.length} candidates. I read every profile at once.`,
    found.map(({ candidateId }) => ({ tool: enrichCandidate, input: { candidateId } })),
  );
}

function arrange(known: Known): ScriptedAnswer | undefined {
  if (isPending(known, requestInterview) || isPending(known, reserveRoom))
    return wait("Not every candidate has answered yet.");
  if (known.calls(requestInterview).length > 0) return undefined;
  const best = successes(known, enrichCandidate)
    .sort((a, b) => b.output.score - a.output.score)
    .slice(0, interviewsMax)
    .map(({ input }) => input.candidateId);
  if (best.length === 0) return undefined;
  return call(`The best are ${best.join(", ")}. I ask them for a slot and reserve a room.`, [
    ...best.map((candidateId) => ({ tool: requestInterview, input: { candidateId } })),
    { tool: reserveRoom, input: { seats: best.length + 1 } },
  ]);
}

const roomOf = (known: Known): string | undefined => successes(known, reserveRoom)[0]?.output.room;

/** D1. */
function pay(known: Known): ScriptedAnswer | undefined {
  const room = roomOf(known);
  if (room === undefined) return undefined;
  const [charge] = known.calls(chargeDeposit);
  if (charge === undefined)
    return call(`Room ${room} is ours. Its deposit is due.`, [
      { tool: chargeDeposit, input: { room, cents: depositCents } },
    ]);
  if (isPending(known, chargeDeposit) || isPending(known, findDeposit))
    return wait("The deposit is not settled yet.");
  if (charge.result?.outcome !== "in_doubt") return undefined;
  const lookups = known.calls(findDeposit);
  if (successes(known, findDeposit).length > 0 || lookups.length >= lookupsMax) return undefined;
  return call("Nobody knows whether the deposit was charged. I look it up before anything else.", [
    { tool: findDeposit, input: { room } },
  ]);
}

function depositOf(known: Known): string {
  const charged = successes(known, chargeDeposit)[0]?.output.chargeId;
  return charged ?? successes(known, findDeposit).at(-1)?.output.chargeId ?? "open";
}

function awaitRecruiter(known: Known): ScriptedAnswer | undefined {
  if (known.wasAnswered || successes(known, requestInterview).length === 0) return undefined;
  const deposit = depositOf(known);
  return wait(
    deposit === "open"
      ? "The deposit was not charged, and I do not charge again: it stays open. Now I wait for the recruiter."
      : `The deposit is paid (${deposit}). Now I wait for the recruiter.`,
  );
}

function invite(known: Known): ScriptedAnswer | undefined {
  if (isPending(known, createInvite)) return wait("The invites are on their way.");
  const accepted = successes(known, requestInterview);
  if (accepted.length === 0 || known.calls(createInvite).length > 0) return undefined;
  const room = roomOf(known) ?? "to be told";
  return call(
    "The recruiter agrees. I send the invites.",
    accepted.map(({ input, output }) => ({
      tool: createInvite,
      input: { candidateId: input.candidateId, slot: output.slot, room },
    })),
  );
}

function finish(known: Known): ScriptedAnswer {
  const interviews = successes(known, createInvite).map(({ input, output }) => ({
    candidateId: input.candidateId,
    slot: input.slot,
    inviteId: output.inviteId,
  }));
  return {
    text: `${interviews.length} interviews are scheduled.`,
    calls: [{ tool: "finish", input: { output: { interviews, deposit: depositOf(known) } } }],
  };
}
