/**
 * The demo's model: a function of the request, so the demo needs no key and no network, and a replay may ask it again.
 *
 * The steps of the work stand in their order; the first that is not done speaks.
 *
 * DL1 At most one deposit is ever charged, whatever the results say. In doubt it is looked up, and what is not found
 *     stays open.
 * DL2 While a call is pending, it waits: a result of an earlier call wakes a waiting agent.
 */
import type { MessagePart, ModelPort, ModelRequest } from "sagamesh/models";
import { type ScriptedAnswer, scriptedModel } from "sagamesh/testing";
import type { z } from "zod";
import * as tools from "./hiring.ts";

const { searchCandidates, enrichCandidate, requestInterview, reserveRoom, chargeDeposit } = tools;
const { findDeposit, createInvite, hireForRole, modelName } = tools;

/** The model port of the demo. */
export const scriptedRecruiter = (): ModelPort => scriptedModel(modelName, answerRequest);

/** What the model says to a request. Pure. */
export function answerRequest({ messages }: ModelRequest): ScriptedAnswer {
  const parts = messages.flatMap((message) => (message.role === "user" ? message.parts : []));
  const results = new Map(parts.flatMap((part) => (part.type === "result" ? [[part.call, part]] : [])));
  const calls = messages
    .flatMap((message) => (message.role === "assistant" ? message.calls : []))
    .map(({ id, tool, input }): Call => ({ tool, input, result: results.get(id) }));
  const open = calls.filter(
    ({ tool, result }) => tool !== "wait" && (result?.outcome ?? "pending") === "pending",
  );
  if (open.length > 0) return wait(`Still open: ${[...new Set(open.map(({ tool }) => tool))].join(", ")}.`); // DL2
  const isAnswered = parts.some((part) => part.type === "signal" && part.name === "recruiter_reply");
  const text = parts.find((part) => part.type === "text")?.text ?? "{}";
  const { role } = hireForRole.input.parse(JSON.parse(text));
  return prepare(calls, role) ?? pay(calls) ?? conclude(calls, isAnswered);
}

/** Finds the best candidates, asks them for a slot, and reserves a room. */
function prepare(calls: readonly Call[], role: string): ScriptedAnswer | undefined {
  if (made(calls, searchCandidates) === 0)
    return say(`First I search the talent pool for ${role}.`, searchCandidates, [{ role, limit: 20 }]);
  const found = done(calls, searchCandidates).flatMap(({ output }) => output.candidates);
  if (found.length > 0 && made(calls, enrichCandidate) === 0) {
    const each = found.map(({ candidateId }) => ({ candidateId }));
    return say(`${found.length} candidates. I read every profile at once.`, enrichCandidate, each);
  }
  const ranked = done(calls, enrichCandidate).sort((a, b) => b.output.score - a.output.score);
  const best = ranked.slice(0, 3).map(({ input: { candidateId } }) => ({ candidateId }));
  if (best.length === 0 || made(calls, requestInterview) > 0) return undefined;
  const names = best.map(({ candidateId }) => candidateId).join(", ");
  const asked = say(
    `The best are ${names}. I ask them for a slot and reserve a room.`,
    requestInterview,
    best,
  );
  const room = { tool: reserveRoom.name, input: { seats: best.length + 1 } };
  return { ...asked, calls: [...(asked.calls ?? []), room] };
}

/** DL1. */
function pay(calls: readonly Call[]): ScriptedAnswer | undefined {
  const room = done(calls, reserveRoom)[0]?.output.room;
  if (room === undefined) return undefined;
  const charge = calls.find(({ tool }) => tool === chargeDeposit.name);
  if (charge === undefined)
    return say(`Room ${room} is ours. Its deposit is due.`, chargeDeposit, [{ room, cents: 5_000 }]);
  const isKnown = charge.result?.outcome !== "in_doubt" || done(calls, findDeposit).length > 0;
  if (isKnown || made(calls, findDeposit) === 3) return undefined;
  const why = "It is not known whether the deposit was charged. I look it up before anything else.";
  return say(why, findDeposit, [{ room }]);
}

/** Waits for the recruiter, sends the invites, finishes. */
function conclude(calls: readonly Call[], isAnswered: boolean): ScriptedAnswer {
  const paid = done(calls, chargeDeposit)[0] ?? done(calls, findDeposit).at(-1);
  const deposit = paid?.output.chargeId ?? "open";
  const accepted = done(calls, requestInterview);
  if (!isAnswered && accepted.length > 0)
    return wait(
      deposit === "open"
        ? "The deposit was not charged, and I do not charge again: it stays open. Now I wait for the recruiter."
        : `The deposit is paid (${deposit}). Now I wait for the recruiter.`,
    );
  const room = done(calls, reserveRoom)[0]?.output.room ?? "to be told";
  const invites = accepted.map(({ input: { candidateId }, output: { slot } }) => ({
    candidateId,
    slot,
    room,
  }));
  if (invites.length > 0 && made(calls, createInvite) === 0)
    return say("The recruiter agrees. I send the invites.", createInvite, invites);
  const interviews = done(calls, createInvite).map(
    ({ input: { candidateId, slot }, output: { inviteId } }) => {
      return { candidateId, slot, inviteId };
    },
  );
  const finish = { tool: "finish", input: { output: { interviews, deposit } } };
  return { text: `${interviews.length} interviews are scheduled.`, calls: [finish] };
}

/** A call, and the last that is known of it. */
interface Call {
  readonly tool: string;
  readonly input: unknown;
  readonly result: Extract<MessagePart, { type: "result" }> | undefined;
}
type Contract<I extends z.ZodType, O extends z.ZodType> = { name: string; input: I; output: O };

/** How often a tool was called. */
const made = (calls: readonly Call[], { name }: { readonly name: string }): number =>
  calls.filter(({ tool }) => tool === name).length;

/** The calls of a tool that succeeded, as its contract reads them. */
const done = <I extends z.ZodType, O extends z.ZodType>(calls: readonly Call[], contract: Contract<I, O>) =>
  calls.flatMap(({ tool, input, result }) =>
    tool === contract.name && result?.outcome === "succeeded"
      ? [{ input: contract.input.parse(input), output: contract.output.parse(result.output) }]
      : [],
  );

/** Calls one tool, once with each input. */
const say = (
  text: string,
  { name: tool }: { readonly name: string },
  inputs: Record<string, string | number>[],
) => ({
  text,
  calls: inputs.map((input) => ({ tool, input })),
});

const wait = (text: string): ScriptedAnswer => ({
  text,
  calls: [{ tool: "wait", input: { signals: ["recruiter_reply"] } }],
});
