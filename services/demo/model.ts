/**
 * The demo's model: a function of the request, so the demo needs no key and no network, and a replay may ask it again.
 *
 * The steps of the work stand in their order; the first that is not done speaks.
 *
 * DL1 At most one deposit is ever charged, whatever the results say. In doubt it is looked up, and what is not found
 *     stays open.
 * DL2 While anything a step needs is pending, it waits: a result of an earlier call wakes a waiting agent.
 */
import type { ModelMessage, ModelPort, ModelRequest, MessagePart } from "sagamesh/models";
import type { z } from "zod";
import { type ScriptedAnswer, scriptedModel } from "../models/scripted.ts";
import * as tools from "./hiring.ts";

const { searchCandidates, enrichCandidate, requestInterview, reserveRoom, chargeDeposit, findDeposit } =
  tools;
const { createInvite, hireForRole, modelName } = tools;

/** The model port of the demo. */
export const scriptedRecruiter = (): ModelPort => scriptedModel(modelName, answerRequest);

const interviewsMax = 3;
const depositCents = 5_000;
const lookupsMax = 3;

/** What the model says to a request. Pure. */
export function answerRequest(request: ModelRequest): ScriptedAnswer {
  const known = readConversation(request.messages);
  return prepare(known) ?? pay(known) ?? conclude(known);
}

/** Finds the best candidates, asks them for a slot, and reserves a room. */
function prepare({ role, made, done, isOpen }: Known): ScriptedAnswer | undefined {
  if (isOpen(searchCandidates)) return wait("The search is still running.");
  if (made(searchCandidates).length === 0)
    return say(`First I search the talent pool for ${role}.`, [
      { tool: searchCandidates, input: { role, limit: 20 } },
    ]);
  if (isOpen(enrichCandidate)) return wait("Some profiles are still being read.");
  const found = done(searchCandidates).flatMap(({ output }) => output.candidates);
  if (found.length > 0 && made(enrichCandidate).length === 0)
    return say(
      `${found.length} candidates. I read every profile at once.`,
      found.map(({ candidateId }) => ({ tool: enrichCandidate, input: { candidateId } })),
    );
  if (isOpen(requestInterview) || isOpen(reserveRoom)) return wait("Not every candidate has answered yet.");
  const ranked = done(enrichCandidate).sort((a, b) => b.output.score - a.output.score);
  const best = ranked.slice(0, interviewsMax).map(({ input }) => input.candidateId);
  if (best.length === 0 || made(requestInterview).length > 0) return undefined;
  return say(`The best are ${best.join(", ")}. I ask them for a slot and reserve a room.`, [
    ...best.map((candidateId) => ({ tool: requestInterview, input: { candidateId } })),
    { tool: reserveRoom, input: { seats: best.length + 1 } },
  ]);
}

/** DL1. */
function pay({ made, done, isOpen }: Known): ScriptedAnswer | undefined {
  const room = done(reserveRoom)[0]?.output.room;
  if (room === undefined) return undefined;
  const [charge] = made(chargeDeposit);
  if (charge === undefined)
    return say(`Room ${room} is ours. Its deposit is due.`, [
      { tool: chargeDeposit, input: { room, cents: depositCents } },
    ]);
  if (isOpen(chargeDeposit) || isOpen(findDeposit)) return wait("The deposit is not settled yet.");
  const isSettled = charge.result?.outcome !== "in_doubt" || done(findDeposit).length > 0;
  if (isSettled || made(findDeposit).length >= lookupsMax) return undefined;
  return say("It is not known whether the deposit was charged. I look it up before anything else.", [
    { tool: findDeposit, input: { room } },
  ]);
}

/** Waits for the recruiter, sends the invites, finishes. */
function conclude({ wasAnswered, made, done, isOpen }: Known): ScriptedAnswer {
  const charged = done(chargeDeposit)[0]?.output.chargeId;
  const deposit = charged ?? done(findDeposit).at(-1)?.output.chargeId ?? "open";
  const accepted = done(requestInterview);
  if (!wasAnswered && accepted.length > 0)
    return wait(
      deposit === "open"
        ? "The deposit was not charged, and I do not charge again: it stays open. Now I wait for the recruiter."
        : `The deposit is paid (${deposit}). Now I wait for the recruiter.`,
    );
  if (isOpen(createInvite)) return wait("The invites are on their way.");
  const room = done(reserveRoom)[0]?.output.room ?? "to be told";
  if (accepted.length > 0 && made(createInvite).length === 0)
    return say(
      "The recruiter agrees. I send the invites.",
      accepted.map(({ input: { candidateId }, output: { slot } }) => ({
        ...{ tool: createInvite, input: { candidateId, slot, room } },
      })),
    );
  const interviews = done(createInvite).map(({ input: { candidateId, slot }, output: { inviteId } }) => ({
    ...{ candidateId, slot, inviteId },
  }));
  return {
    text: `${interviews.length} interviews are scheduled.`,
    calls: [{ tool: "finish", input: { output: { interviews, deposit } } }],
  };
}

type ResultPart = Extract<MessagePart, { type: "result" }>;
type ToolName = { readonly name: string };

/** What the conversation says of the work so far. */
interface Known {
  readonly role: string;
  readonly wasAnswered: boolean;
  /** The calls of a tool, each with the last that is known of it. */
  made(this: void, tool: ToolName): readonly { input: unknown; result: ResultPart | undefined }[];
  isOpen(this: void, tool: ToolName): boolean;
  /** Those that succeeded, as the contract reads them. */
  done<I extends z.ZodType, O extends z.ZodType>(
    this: void,
    tool: { name: string; input: I; output: O },
  ): { input: z.output<I>; output: z.output<O> }[];
}

function readConversation(messages: readonly ModelMessage[]): Known {
  const parts = messages.flatMap((message) => (message.role === "user" ? message.parts : []));
  const results = new Map(parts.flatMap((part) => (part.type === "result" ? [[part.call, part]] : [])));
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.calls : []));
  const made: Known["made"] = ({ name }) =>
    calls.filter(({ tool }) => tool === name).map(({ id, input }) => ({ input, result: results.get(id) }));
  const text = parts.find((part) => part.type === "text")?.text ?? "{}";
  return {
    role: hireForRole.input.parse(JSON.parse(text)).role,
    wasAnswered: parts.some((part) => part.type === "signal" && part.name === "recruiter_reply"),
    made,
    isOpen: (tool) => made(tool).some(({ result }) => (result?.outcome ?? "pending") === "pending"),
    done: (tool) =>
      made(tool).flatMap(({ input, result }) =>
        result?.outcome === "succeeded"
          ? [{ input: tool.input.parse(input), output: tool.output.parse(result.output) }]
          : [],
      ),
  };
}

const say = (text: string, calls: readonly { tool: ToolName; input: object }[]): ScriptedAnswer => ({
  text,
  calls: calls.map(({ tool, input }) => ({ tool: tool.name, input: input as Record<string, string> })), // Plain data.
});

/** DL2. */
const wait = (text: string): ScriptedAnswer => ({
  text,
  calls: [{ tool: "wait", input: { signals: ["recruiter_reply"] } }],
});
