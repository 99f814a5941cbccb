/**
 * Task: what people say, and what holds when they say nothing.
 *
 * TA1 Votes are events; the outcome is derived here, so a hundred approvals of one task are one effect.
 */
import { z } from "zod";
import { BudgetRaise } from "../../protocol/budget.ts";
import { digestOf } from "../../protocol/digest.ts";
import type { ErrorCode } from "../../protocol/errors.ts";
import type { EventOf, Vote } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import { StandInVote } from "../../protocol/notice.ts";
import type { Result } from "../../protocol/result.ts";
import { approvalOf, askedOf, callPeople, denyAttendant, escalate } from "./asking.ts";
import type { Definition } from "../contract/definition.ts";
import {
  actorError,
  argumentsDigest,
  changeOpen,
  type Closed,
  closedAs,
  closedBy,
  closeIntent,
  type Folding,
  isAwaited,
  tellActor,
} from "./folding.ts";
import { readWith } from "../values/schema.ts";
import { readWhole } from "../values/whole.ts";
import { servedBy } from "./open-index.ts";
import { withKey } from "../values/draft.ts";
import { holdApproved, isPaused } from "./held.ts";
import { propose } from "./issue.ts";
import type { Callee } from "./judge.ts";
import { refuseRaise, refusalOfRaise, settleRaise } from "./raise.ts";
import { correct, corrects } from "./doubt.ts";
import { isOpen, type OpenSaga, type OpenTask, type ProposedCall } from "../contract/state.ts";
import { settleUndone } from "./undo.ts";

type TaskIntent = IntentOf<"task">;

/** What a human may say of a doubt about a tool with this output. */
const doubtAnswer = (output: z.ZodType<unknown, Json>) =>
  z.discriminatedUnion("outcome", [
    z.object({ outcome: z.literal("happened"), output: z.json().pipe(output) }),
    z.object({ outcome: z.literal("did_not_happen"), reason: z.string().optional() }),
  ]);

/** The same of any tool. */
export const DoubtAnswer = doubtAnswer(z.json());

/** What is needed of a saga to judge an answer. */
type Asking = Pick<Folding, "definition" | "state">;

/** The schema an open task's answer must fit. */
export function answerSchema({ definition, state }: Asking, open: OpenTask): z.ZodType {
  if (open.intent.about === "budget") return BudgetRaise;
  if (open.intent.about === "doubt") {
    const doubt = open.intent.of === undefined ? undefined : state.doubts[open.intent.of];
    const output = definition.tools.get(doubt?.tool ?? "")?.output ?? z.json();
    return doubtAnswer(output as z.ZodType<unknown, Json>); // Proof: a schema reads whatever it is given.
  }
  if (open.intent.about !== "question" || open.call === undefined) return z.json();
  const asked = definition.kind.answerSchema?.(open.input);
  return asked ?? definition.machine.bound(open.call.tool)?.output ?? z.json();
}

/** Why a vote is not taken. */
export interface VoteRefusal {
  readonly code: ErrorCode;
  readonly reason: string;
}

/** Why a vote cannot be taken by its task, or undefined. Without it the fold would have nothing to do. */
export function refusalOfVote(asking: Asking, open: OpenTask, vote: Vote): VoteRefusal | undefined {
  const refusal = refusalByTask(open.intent, vote);
  if (refusal !== undefined) return refusal;
  const misfit = misfitOfVote(asking, open, vote);
  return misfit === undefined ? undefined : { code: "INPUT_INVALID", reason: misfit };
}

/** The same as far as the task alone tells, without its saga's definition and state. */
export function refusalByTask(task: TaskIntent, vote: Vote): VoteRefusal | undefined {
  const { to, digest } = task;
  if (!mayVote(to, vote))
    return {
      code: "VOTER_NOT_ASKED",
      reason: `it is for ${to.join(", ")}, not for ${vote.by}${vote.as === undefined ? "" : ` as ${vote.as}`}`,
    };
  if (vote.digest !== undefined && vote.digest !== digest)
    return {
      code: "ARGUMENTS_CHANGED",
      reason:
        digest === undefined
          ? "it is about no arguments, and the vote names some"
          : `the vote is for the arguments ${vote.digest.slice(0, 12)}, the task is for ${digest.slice(0, 12)}`,
    };
  if (vote.signature !== undefined && vote.digest !== digest)
    return {
      code: "SIGNATURE_INVALID",
      reason: "what was signed does not name the arguments' digest, which the vote is recorded with",
    };
  const misfit = misfitOfWord(task, vote);
  return misfit === undefined ? undefined : { code: "INPUT_INVALID", reason: misfit };
}

/** Whether a task is for this voter, by name or in the role they claim. One that names no people is for all. */
export const mayVote = (
  to: readonly string[],
  { by, as }: { by: string; as?: string | undefined },
): boolean => to.length === 0 || to.includes(by) || (as !== undefined && to.includes(as));

/** Why this is no way to speak of such a task. */
function misfitOfWord({ about }: TaskIntent, { vote, input }: Vote): string | undefined {
  if (vote === "edit") {
    if (about !== "approval") return "only an approval has arguments to edit";
    return input === undefined ? "an edit has the changed arguments as its input" : undefined;
  }
  if (vote === "deny")
    return about === "doubt" ? "a doubt is answered: it happened, or it did not" : undefined;
  if (about === "approval" || about === "stuck")
    return vote === "approve" ? undefined : "it is approved or denied, not answered";
  return vote === "answer" ? undefined : "it is answered or denied, not approved";
}

/** Why what was said is not what the task asks. */
function misfitOfVote(asking: Asking, open: OpenTask, vote: Vote): string | undefined {
  const { about } = open.intent;
  const misfit = misfitOfWord(open.intent, vote);
  if (misfit !== undefined) return misfit;
  if (vote.vote === "edit") return misfitOfEdit(asking, open, vote.input);
  if (vote.vote !== "answer") return undefined;
  const read = readWith(answerSchema(asking, open), vote.answer ?? null);
  if (!read.success) return `the answer does not fit: ${read.reason}`;
  return about === "budget" ? refusalOfRaise(asking.state, read.data as BudgetRaise) : undefined;
}

/** Why the arguments of an edit cannot stand in the place of those it is about. */
function misfitOfEdit({ definition }: Asking, open: OpenTask, input: Json | undefined): string | undefined {
  const callee = open.call === undefined ? undefined : calleeOf(definition, open.call);
  if (callee === undefined || open.call === undefined) return "it is about no call";
  if (input === undefined) return undefined; // Proof: misfitOfWord has seen one.
  const read = readWhole(callee.input, input, open.call.input);
  if (!read.success) return `the changed arguments do not fit: ${read.reason}`;
  if (argumentsDigest(callee, input) === argumentsDigest(callee, open.call.input))
    return "the arguments are the same; approve them";
  const terms = callee.kind === "tool" ? approvalOf(definition, callee, input) : false;
  return typeof terms === "string" ? terms : undefined;
}

/** The vote as the ledger keeps it: with the digest of the arguments it was about, whether or not it named them. */
export const recordedVote = ({ digest }: TaskIntent, vote: Vote): Vote =>
  digest !== undefined ? { ...vote, digest } : vote;

export function takeVote(f: Folding, event: EventOf<"task">): void {
  const open = f.state.open[event.intent];
  if (isOpen(open, "task")) decideBy(f, event.intent, open, event.vote);
}

function decideBy(f: Folding, id: IntentId, open: OpenTask, vote: Vote): void {
  const { by, answer, reason, input } = vote;
  const isDenied = vote.vote === "deny";
  switch (open.intent.about) {
    case "approval":
      if (vote.vote === "approve") return approve(f, id, open, by);
      if (vote.vote === "edit") return input === undefined ? undefined : edit(f, id, open, { input, by });
      return deny(f, id, open, { reason: reason ?? `denied by ${by}`, closed: deniedBy(vote) });
    case "question":
      return isDenied
        ? fail(f, id, open, { reason: reason ?? `${by} declined to answer`, closed: deniedBy(vote) })
        : takeAnswer(f, id, open, { by, answer: answer ?? null });
    case "doubt":
      return takeFinding(f, open, { by, answer: answer ?? null });
    case "stuck":
      return settleStuck(f, id, open, isDenied ? deniedBy(vote) : closedAs("succeeded"));
    case "budget":
      if (isDenied)
        return refuseRaise(f, id, open, {
          reason: reason ?? `${by} raised no limit`,
          closed: deniedBy(vote),
        });
      return settleRaise(f, id, open, answer as BudgetRaise); // Proof: the door has read it.
  }
}

const deniedBy = ({ reason }: Vote): Closed => ({
  as: "denied",
  ...(reason === undefined ? {} : { reason }),
});

/**
 * The saga that stands in has ended. What it says is one vote, under its id; if it failed, said what cannot be taken,
 * or more must speak, the people are called.
 */
export function takeStandIn(f: Folding, id: IntentId, open: OpenSaga, result: Result): void {
  const task = servedBy(open);
  closeIntent(f, id, closedBy(id, result));
  const asked = task === undefined ? undefined : f.state.open[task];
  if (task === undefined || !isOpen(asked, "task")) return;
  if (result.outcome === "succeeded") {
    const { saga, name } = open.intent;
    const vote = standInVote(asked.intent, saga, result.output);
    const misfit = typeof vote === "string" ? vote : misfitOfVote(f, asked, vote);
    if (typeof vote !== "string" && misfit === undefined) decideBy(f, task, asked, vote);
    else denyAttendant(f, task, { name, code: "BAD_RESULT", reason: `its word cannot be taken: ${misfit}` });
  }
  if (f.state.open[task] !== undefined) callPeople(f, task);
}

/** What the output of a saga that stands in says, or why it says nothing. */
export function standInVote({ about }: TaskIntent, by: string, output: Json): Vote | string {
  if (about === "question" || about === "doubt") return { vote: "answer", by, answer: output };
  const read = readWith(StandInVote, output);
  return read.success ? { ...read.data, by } : read.reason;
}

/** The deadline passed: the task's default holds. */
export function takeTaskTimeout(f: Folding, id: IntentId, open: OpenTask): void {
  if (escalate(f, id)) return;
  switch (open.intent.about) {
    case "approval":
      return open.intent.otherwise === "approve"
        ? approved(f, id, open, closedAs("succeeded", "default"))
        : deny(f, id, open, { reason: "nobody approved in time", closed: closedAs("denied", "deadline") });
    case "question":
      if (open.intent.otherwise === undefined)
        return fail(f, id, open, { reason: "nobody answered in time", closed: late });
      return answerQuestion(f, id, open, {
        answer: open.intent.otherwise,
        closed: closedAs("succeeded", "default"),
      });
    case "doubt":
      return giveUpDoubt(f, id, open);
    case "stuck":
      return settleStuck(f, id, open, closedAs("denied", "deadline"));
    case "budget":
      return refuseRaise(f, id, open, { reason: "nobody raised the budget in time", closed: late });
  }
}

const late = closedAs("failed", "deadline");

function approve(f: Folding, id: IntentId, open: OpenTask, by: string): void {
  const approvals = [...new Set([...(open.approvals ?? []), by])];
  if (approvals.length < (open.intent.quorum ?? 1)) return changeOpen(f, open, { approvals });
  approved(f, id, open, closedAs("succeeded"));
}

/** What an open task's call is of: a tool, or the saga or agent that it starts. */
const calleeOf = ({ tools, sagas }: Definition, call: ProposedCall): Callee | undefined =>
  tools.get(call.tool) ?? sagas.get(call.tool);

/** The approved call becomes an intent, unless what was decided meanwhile forbids it now. The actor goes on waiting. */
function approved(f: Folding, id: IntentId, open: OpenTask, closed: Closed): void {
  closeIntent(f, id, closed);
  const { call } = open;
  if (call === undefined || !isAwaited(f, id, call.actor)) return;
  if (isPaused(f)) holdApproved(f, id, call);
  else issueHeldCall(f, id, call);
}

/** An approved call becomes an intent, at once or after a pause, if its actor still waits for it. */
export function issueHeldCall(f: Folding, id: IntentId, call: ProposedCall): void {
  const callee = calleeOf(f.definition, call);
  if (callee !== undefined && isAwaited(f, id, call.actor)) propose(f, callee, call);
}

/**
 * A human changed the arguments: another call, which policies judge and people approve. No human has agreed to it yet,
 * its author included, for who proposes has not approved. The model hears of it with the call's result.
 */
function edit(f: Folding, id: IntentId, open: OpenTask, { by, input }: { by: string; input: Json }): void {
  closeIntent(f, id, closedAs("superseded", "edit"));
  const callee = open.call === undefined ? undefined : calleeOf(f.definition, open.call);
  if (callee === undefined || open.call === undefined) return;
  if (!isAwaited(f, id, open.call.actor)) return;
  const { rewritten: _rewritten, granted: _granted, ...call } = open.call;
  if (call.from !== undefined)
    f.queue.push({ event: { type: "sagamesh.rewritten", call: call.actor, instead: input, by, at: f.at } });
  propose(
    f,
    callee,
    { ...call, input, editedBy: by },
    {
      asked: askedOf(open, open.intent),
      after: { task: id, because: "edit", by },
    },
  );
}

/** What the actor is told of a task that gave no yes, and as what the task is closed. */
interface Refused {
  readonly reason: string;
  readonly closed: Closed;
}

function deny(f: Folding, id: IntentId, open: OpenTask, { reason, closed }: Refused): void {
  closeIntent(f, id, closed);
  tellActor(f, open.actor, id, { error: actorError("denied", "APPROVAL_DENIED", reason) });
}

function fail(f: Folding, id: IntentId, open: OpenTask, { reason, closed }: Refused): void {
  closeIntent(f, id, closed);
  tellActor(f, open.actor, id, { error: actorError("failed", "DEFERRED_TOO_LATE", reason) });
}

/** Of a question that more must answer, the answer that enough have given. Who speaks again has changed their mind. */
function takeAnswer(
  f: Folding,
  id: IntentId,
  open: OpenTask,
  { by, answer }: { by: string; answer: Json },
): void {
  if (!isAgreed(f, open, by, digestOf(answer))) return;
  answerQuestion(f, id, open, { answer, closed: closedAs("succeeded") });
}

/** Whether enough say the same now; until then it is kept who has said what. */
function isAgreed(f: Folding, open: OpenTask, by: string, digest: string): boolean {
  const answers = { ...open.answers, [by]: digest };
  const agreeing = Object.values(answers).filter((one) => one === digest).length;
  if (agreeing >= (open.intent.quorum ?? 1)) return true;
  changeOpen(f, open, { answers });
  return false;
}

/** Of a doubt: what is found counts, whatever the reason that is given for it. */
function takeFinding(f: Folding, open: OpenTask, { by, answer }: { by: string; answer: Json }): void {
  const parsed = DoubtAnswer.safeParse(answer);
  if (!parsed.success) return;
  const { outcome } = parsed.data;
  const digest = digestOf("output" in parsed.data ? { outcome, output: parsed.data.output } : { outcome });
  if (isAgreed(f, open, by, digest)) settleDoubt(f, open, answer);
}

/** The door refuses an answer that does not fit; a default that does not fit leaves the question unanswered. */
function answerQuestion(
  f: Folding,
  id: IntentId,
  open: OpenTask,
  { answer, closed }: { readonly answer: Json; readonly closed: Closed },
): void {
  const read = readWith(answerSchema(f, open), answer);
  if (!read.success) {
    const reason = `its default does not fit: ${read.reason}`;
    return fail(f, id, open, { reason, closed: { as: "failed", reason } });
  }
  closeIntent(f, id, closed);
  if (f.definition.kind.answerSchema !== undefined)
    return tellActor(f, open.actor, id, { output: toJson(read.data) });
  const unread = { by: "question", name: open.call?.tool ?? "", value: answer } as const;
  tellActor(f, open.actor, id, { output: read.data, unread });
}

const notFound = "a human found that it did not happen";

/** The correction closes the task, and only if it took: an answer that says nothing leaves the human asked. */
function settleDoubt(f: Folding, open: OpenTask, answer: Json): void {
  const parsed = DoubtAnswer.safeParse(answer);
  const { of } = open.intent;
  const doubt = of === undefined ? undefined : f.state.doubts[of];
  if (!parsed.success || of === undefined || doubt === undefined) return;
  const result: Result =
    parsed.data.outcome === "happened"
      ? { outcome: "succeeded", output: toJson(parsed.data.output) }
      : { outcome: "failed", code: "NOT_PERFORMED", reason: parsed.data.reason ?? notFound };
  if (corrects(f, doubt, { attempt: doubt.attempt, result })) correct(f, of, doubt, result, true);
}

/** The doubt is not settled in time: the actor hears that it is in doubt, and a late result still corrects it. */
function giveUpDoubt(f: Folding, id: IntentId, open: OpenTask): void {
  closeIntent(f, id, late);
  const { of } = open.intent;
  const doubt = of === undefined ? undefined : f.state.doubts[of];
  if (of === undefined || doubt?.outcome !== "in_doubt") return;
  const { actor, task: _task, ...rest } = doubt;
  f.state.doubts = withKey(f.state.doubts, of, rest);
  tellActor(f, actor, of, { error: actorError("in_doubt", "IN_DOUBT", "nobody settled the doubt in time") });
}

function settleStuck(f: Folding, id: IntentId, open: OpenTask, closed: Closed): void {
  closeIntent(f, id, closed);
  const { of } = open.intent;
  if (of === undefined) return;
  if (closed.as === "succeeded") settleUndone(f, of); // Denied, it stays as it is: stuck, and listed as standing.
}
