/**
 * Task: what people say, and what holds when they say nothing.
 *
 * P1 Votes are events; the outcome is derived here, so a hundred approvals of one task are one effect.
 */
import { z } from "zod";
import type { EventOf, Vote } from "../protocol/event.ts";
import type { IntentId } from "../protocol/ids.ts";
import { type Json, toJson } from "../protocol/json.ts";
import { askedSchema } from "./conversation.ts";
import type { Result } from "../protocol/result.ts";
import {
  actorError,
  changeOpen,
  closeIntent,
  type Folding,
  isAwaited,
  readWith,
  tellActor,
  toolOf,
} from "./folding.ts";
import { holdApproved, isPaused } from "./held.ts";
import { issueApproved } from "./issue.ts";
import { correct, corrects } from "./settle.ts";
import type { OpenIntent, ProposedCall } from "./state.ts";
import { settleUndone } from "./undo.ts";

/** What a human may say of a doubt about a tool with this output. */
const doubtAnswer = (output: z.ZodType<unknown, Json>) =>
  z.discriminatedUnion("outcome", [
    z.object({ outcome: z.literal("happened"), output: z.json().pipe(output) }),
    z.object({ outcome: z.literal("did_not_happen") }),
  ]);

/** The same of any tool. */
export const DoubtAnswer = doubtAnswer(z.json());

/** What is needed of a saga to judge an answer. */
type Asking = Pick<Folding, "definition" | "state">;

/** The schema an open task's answer must fit. */
export function answerSchema({ definition, state }: Asking, open: OpenIntent): z.ZodType {
  if (open.intent.kind !== "task") return z.never();
  if (open.intent.about === "doubt") {
    const doubt = open.intent.of === undefined ? undefined : state.doubts[open.intent.of];
    const output = definition.tools.get(doubt?.tool ?? "")?.output ?? z.json();
    return doubtAnswer(output as z.ZodType<unknown, Json>); // Proof: a schema reads whatever it is given.
  }
  if (open.intent.about !== "question" || open.call === undefined) return z.json();
  const shown = (open.input as { schema?: Record<string, unknown> } | null)?.schema;
  if (shown !== undefined && definition.kind === "agent") return askedSchema(shown);
  return definition.machine.bound(open.call.tool)?.output ?? z.json();
}

/** Why a vote cannot be taken by its task, or undefined. Without it the fold would have nothing to do. */
export function refusalOfVote(asking: Asking, open: OpenIntent, { vote, answer }: Vote): string | undefined {
  if (open.intent.kind !== "task") return "it is no task";
  const { about } = open.intent;
  if (vote === "deny")
    return about === "doubt" ? "a doubt is answered: it happened, or it did not" : undefined;
  if (about === "approval" || about === "stuck")
    return vote === "approve" ? undefined : "it is approved or denied, not answered";
  if (vote !== "answer") return "it is answered or denied, not approved";
  const read = readWith(answerSchema(asking, open), answer ?? null);
  return read.success ? undefined : `the answer does not fit: ${read.reason}`;
}

export function takeVote(f: Folding, event: EventOf<"task">): void {
  const open = f.state.open[event.intent];
  if (open?.intent.kind !== "task") return;
  const { vote, by, answer, reason } = event.vote;
  switch (open.intent.about) {
    case "approval":
      if (vote === "approve") return approve(f, event.intent, open, by);
      return deny(f, event.intent, open, reason ?? `denied by ${by}`);
    case "question":
      if (vote === "deny") return fail(f, event.intent, open, reason ?? `${by} declined to answer`);
      return answerQuestion(f, event.intent, open, answer ?? null);
    case "doubt":
      return settleDoubt(f, open, answer ?? null);
    case "stuck":
      return settleStuck(f, event.intent, open, vote !== "deny");
  }
}

/** The deadline passed: the task's default holds. */
export function takeTaskTimeout(f: Folding, id: IntentId, open: OpenIntent): void {
  if (open.intent.kind !== "task") return;
  switch (open.intent.about) {
    case "approval":
      return open.intent.otherwise === "approve"
        ? approved(f, id, open)
        : deny(f, id, open, "nobody approved in time");
    case "question":
      if (open.intent.otherwise === undefined) return fail(f, id, open, "nobody answered in time");
      return answerQuestion(f, id, open, open.intent.otherwise);
    case "doubt":
      return giveUpDoubt(f, id, open);
    case "stuck":
      return settleStuck(f, id, open, false);
  }
}

function approve(f: Folding, id: IntentId, open: OpenIntent, by: string): void {
  if (open.intent.kind !== "task") return;
  const approvals = [...new Set([...(open.approvals ?? []), by])];
  if (approvals.length < (open.intent.quorum ?? 1)) return changeOpen(f, id, { approvals });
  approved(f, id, open);
}

/** The approved call becomes an intent. The actor goes on waiting, now for that. */
function approved(f: Folding, id: IntentId, open: OpenIntent): void {
  closeIntent(f, id);
  const { call } = open;
  if (call === undefined || !isAwaited(f, id, call.actor)) return;
  if (isPaused(f)) holdApproved(f, id, call);
  else issueHeldCall(f, id, call);
}

/** An approved call becomes an intent, at once or after a pause, if its actor still waits for it. */
export function issueHeldCall(f: Folding, id: IntentId, call: ProposedCall): void {
  const callee = toolOf(f, call.tool) ?? f.definition.sagas.get(call.tool);
  if (callee !== undefined && isAwaited(f, id, call.actor)) issueApproved(f, callee, call);
}

function deny(f: Folding, id: IntentId, open: OpenIntent, reason: string): void {
  closeIntent(f, id);
  tellActor(f, open.actor, id, { error: actorError("denied", "APPROVAL_DENIED", reason) });
}

function fail(f: Folding, id: IntentId, open: OpenIntent, reason: string): void {
  closeIntent(f, id);
  tellActor(f, open.actor, id, { error: actorError("failed", "DEFERRED_TOO_LATE", reason) });
}

/** The door refuses an answer that does not fit; a default that does not is a question nobody answered. */
function answerQuestion(f: Folding, id: IntentId, open: OpenIntent, answer: Json): void {
  const read = readWith(answerSchema(f, open), answer);
  if (!read.success) return fail(f, id, open, `its default does not fit: ${read.reason}`);
  closeIntent(f, id);
  if (f.definition.kind === "agent") return tellActor(f, open.actor, id, { output: toJson(read.data) });
  const unread = { by: "question", name: open.call?.tool ?? "", value: answer } as const;
  tellActor(f, open.actor, id, { output: read.data, unread });
}

/** The correction closes the task, and only if it took: an answer that says nothing leaves the human asked. */
function settleDoubt(f: Folding, open: OpenIntent, answer: Json): void {
  const parsed = DoubtAnswer.safeParse(answer);
  const of = open.intent.kind === "task" ? open.intent.of : undefined;
  const doubt = of === undefined ? undefined : f.state.doubts[of];
  if (!parsed.success || of === undefined || doubt === undefined) return;
  const result: Result =
    parsed.data.outcome === "happened"
      ? { outcome: "succeeded", output: toJson(parsed.data.output) }
      : { outcome: "failed", code: "NOT_PERFORMED", reason: "a human found that it did not happen" };
  if (corrects(f.definition, doubt, { attempt: doubt.attempt, result })) correct(f, of, doubt, result);
}

/** Nobody knows, in time: the actor hears that it is in doubt, and a late result still corrects it. */
function giveUpDoubt(f: Folding, id: IntentId, open: OpenIntent): void {
  closeIntent(f, id);
  const of = open.intent.kind === "task" ? open.intent.of : undefined;
  const doubt = of === undefined ? undefined : f.state.doubts[of];
  if (of === undefined || doubt === undefined) return;
  const { actor, task: _task, ...rest } = doubt;
  f.state.doubts = { ...f.state.doubts, [of]: rest };
  tellActor(f, actor, of, { error: actorError("in_doubt", "IN_DOUBT", "nobody settled the doubt in time") });
}

function settleStuck(f: Folding, id: IntentId, open: OpenIntent, undone: boolean): void {
  closeIntent(f, id);
  const of = open.intent.kind === "task" ? open.intent.of : undefined;
  if (of === undefined) return;
  if (undone) settleUndone(f, of); // Denied, it stays as it is: stuck, and listed as standing.
}
