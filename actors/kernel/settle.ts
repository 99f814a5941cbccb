/**
 * Settle: what follows from a result.
 *
 * SK1 A result counts for its own attempt. A failure that may be tried again becomes the next attempt of the
 *     same intent, with the same key.
 * SK2 A definite result for an intent in doubt corrects it in every state, ended ones included.
 * SK3 A malformed success is no success: `failed`, or in doubt where the effect cannot be repeated.
 */
import { z } from "zod";
import type { EventOf } from "../../protocol/event.ts";
import { type IntentId, placeOf, turnOf } from "../../protocol/ids.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Result, Usage } from "../../protocol/result.ts";
import type { Effect, Retry } from "../../protocol/tool.ts";
import {
  actorError,
  closedAs,
  closedBy,
  closeIntent,
  endIntent,
  type Folding,
  isAwaited,
  isRead,
  isWanted,
  newId,
  noteStanding,
  openEntries,
  openIntent,
  recordClosing,
  servedBy,
  tellActor,
  toolOf,
} from "./folding.ts";
import { readWith, withoutKey } from "../values/schema.ts";
import { refusalOfRetry, settleCost } from "./budget.ts";
import type { Definition } from "../contract/definition.ts";
import { holdRetry, isPaused } from "./held.ts";
import { decider } from "./lineage.ts";
import { learn } from "./learn.ts";
import { backoffMs } from "../values/retry.ts";
import type { Doubt, OpenIntent, Position, Unread } from "../contract/state.ts";
import {
  addPlan,
  askAboutStuck,
  effectOf,
  recordDoubt,
  recordEffect,
  removeEffect,
  settleUndone,
} from "./undo.ts";
import { standingChild, UndoneChild } from "./undo-child.ts";

/**
 * Whether a result counts for an open intent now (SK1). A success does for every later attempt: the effect is the
 * key's, and the outside, which may answer before it is known that it was asked to, knows no attempts.
 */
export const counts = (open: OpenIntent, { attempt, result }: EventOf<"result">): boolean =>
  open.attempt === attempt || (attempt < open.attempt && result.outcome === "succeeded");

/**
 * Whether a result corrects a settled intent (SK2): a failure only of the attempt that is in doubt, a success only
 * if it can be read.
 */
export function corrects(
  definition: Definition,
  doubt: Doubt,
  { attempt, result }: Pick<EventOf<"result">, "attempt" | "result">,
): boolean {
  if (result.outcome === "succeeded")
    return attempt <= doubt.attempt && misfitOf(definition, doubt, result.output) === undefined;
  return result.outcome === "failed" && attempt === doubt.attempt && doubt.outcome === "in_doubt";
}

/** Why an output cannot be read as that of the doubted call's tool, or undefined. */
export function misfitOf(definition: Definition, { tool }: Doubt, output: Json): string | undefined {
  const schema = definition.tools.get(tool)?.output;
  const read = schema === undefined ? undefined : readWith(schema, output);
  return read?.success === false ? read.reason : undefined;
}

/** Settles an open intent by the result of its present attempt. */
export function settle(f: Folding, id: IntentId, open: OpenIntent, received: Result): void {
  const { result, output } = checked(f, open, received);
  settleCost(f, open, received, usageOf(received));
  if (mayRetry(f, id, open, result)) {
    const refusal = refusalOfRetry(f, open);
    return refusal === undefined ? retry(f, id, open, result) : giveUpAsking(f, open, refusal);
  }
  endIntent(f, id, closedBy(id, result));
  if (result.outcome === "succeeded" && servedBy(open) === undefined) learnResult(f, open, output);
  if (open.intent.kind === "tool") {
    if (open.intent.undoes !== undefined) return settleUndoing(f, id, open, open.intent.undoes, result);
    if (open.intent.for !== undefined) return; // People were told of a task, or were not: nothing follows from it.
    if (result.outcome === "in_doubt") return takeDoubt(f, id, open, received, result.reason);
    holdEffect(f, id, open, received, result, output);
  }
  if (open.intent.kind === "saga" && open.intent.undoes !== undefined)
    return open.intent.starts === true
      ? settleUndoing(f, id, open, open.intent.undoes, result)
      : settleChildUndoing(f, id, open.intent.undoes, result);
  const child = standingChild(f, open, result);
  if (child !== undefined) {
    f.state.effects = [...f.state.effects, child];
    if (result.outcome === "succeeded" && result.undoable !== true) noteStanding(f, id);
  }
  if (result.outcome === "succeeded")
    tellActor(f, open.actor, id, { output, unread: unreadOf(open, result.output) });
  else
    tellActor(f, open.actor, id, {
      error: {
        ...{ outcome: result.outcome, code: result.code, reason: result.reason },
        ...leftStanding(f, open, result),
      },
    });
  undoIfLate(f, id);
}

function learnResult(f: Folding, { intent, input }: OpenIntent, output: unknown): void {
  if (f.state.memory !== undefined && (intent.kind === "tool" || intent.kind === "saga"))
    learn(f, { type: "result", intent, input, output });
}

/** What a child could not undo stands in its parent's end too: a person who cancels a tree reads that one. */
function leftStanding(f: Folding, { intent }: OpenIntent, result: Result): { standing?: readonly string[] } {
  if (intent.kind !== "saga" || result.outcome !== "failed" || result.standing === undefined) return {};
  noteLeftBelow(f, result.standing);
  return { standing: result.standing };
}

function noteLeftBelow(f: Folding, standing: readonly string[]): void {
  if (standing.length > 0) f.state.leftBelow = [...new Set([...(f.state.leftBelow ?? []), ...standing])];
}

/**
 * What stands after a definite result. Some failures leave something outside all the same: a success that could
 * not be read, a deferred call that was not answered in time, and an attempt that may have got through and is not
 * followed by another. They are told as failures and undone by their key.
 */
function holdEffect(
  f: Folding,
  id: IntentId,
  open: OpenIntent,
  received: Result,
  result: Result,
  output: unknown,
): void {
  if (result.outcome === "succeeded") return recordEffect(f, id, open, "succeeded", output);
  if (isRead(f, open)) return;
  const isTooLate =
    open.deferred === true && result.outcome === "failed" && result.code === "DEFERRED_TOO_LATE";
  const maybe = received.outcome === "succeeded" || isTooLate || mayHaveHappened(result);
  if (maybe) recordEffect(f, id, open, "in_doubt", undefined);
  // A worker that gets the same attempt again may still succeed, where no claim forbids it.
  if (maybe || result.outcome === "failed") recordDoubt(f, id, open, "failed", received);
  else if (result.outcome === "cancelled") recordDoubt(f, id, open, "cancelled");
}

/** A retriable failure whose effect may have happened. */
export const mayHaveHappened = (result: Result): boolean =>
  result.outcome === "failed" && result.retry === true && result.code !== "NOT_PERFORMED";

/** SK3. The result, and its output as the definition's own schema reads it. */
function checked(f: Folding, open: OpenIntent, said: Result): { result: Result; output: unknown } {
  const { intent } = open;
  const effect = intent.kind === "tool" ? toolOf(f, intent.name)?.effect : undefined;
  const result =
    said.outcome === "in_doubt" && canRunAgain(effect) ? { ...said, outcome: "failed" as const } : said;
  if (result.outcome !== "succeeded") return { result, output: undefined };
  if (intent.kind === "signal" || intent.kind === "end") return { result, output: result.output };
  const parsed = readWith(schemaOf(f, open), result.output);
  if (parsed.success)
    return {
      result,
      output: intent.kind === "model" ? f.definition.kind.heard(parsed.data as ModelReply) : parsed.data,
    };
  const { reason } = parsed;
  return effect === "once"
    ? { result: { outcome: "in_doubt", code: "BAD_RESULT", reason }, output: undefined }
    : { result: { outcome: "failed", code: "BAD_RESULT", reason, retry: false }, output: undefined };
}

/** What a schema of the user's has read. */
function unreadOf({ intent }: OpenIntent, value: Json): Unread | undefined {
  return intent.kind === "tool" || intent.kind === "saga"
    ? { by: intent.kind, name: intent.name, value }
    : undefined;
}

/** Effect classes that are run again without asking how the last attempt ended. */
export const canRunAgain = (effect: Effect | undefined): boolean =>
  effect === "read" || effect === "idempotent";

function schemaOf(f: Folding, open: OpenIntent): z.ZodType {
  const { intent } = open;
  if (intent.kind === "model") return ModelReply;
  if (intent.kind === "tool") return toolOf(f, intent.name)?.output ?? z.json();
  if (intent.kind === "saga" && intent.undoes !== undefined && intent.starts !== true) return UndoneChild;
  if (intent.kind === "saga") return f.definition.sagas.get(intent.name)?.output ?? z.json();
  return z.json();
}

/** What a result says a model call has cost. Only of model calls: a tool's output may hold a `usage` of its own. */
export function usageOf(result: Result): Usage | undefined {
  if (result.outcome === "failed" || result.outcome === "cancelled") return result.usage;
  if (result.outcome !== "succeeded") return undefined;
  const { output } = result;
  if (typeof output !== "object" || output === null || !("usage" in output)) return undefined;
  const reply = WithUsage.safeParse(output);
  return reply.success ? reply.data.usage : undefined;
}

const WithUsage = ModelReply.pick({ usage: true });

const modelRetry: Retry = { attemptsMax: limits.retryAttemptsMax, backoffMs: limits.retryBackoffMs };

const policyOf = (f: Folding, open: OpenIntent): Retry | undefined => {
  if (open.intent.kind === "model") return modelRetry;
  return open.intent.kind === "tool" ? toolOf(f, open.intent.name)?.retry : undefined;
};

function mayRetry(f: Folding, id: IntentId, open: OpenIntent, result: Result): boolean {
  if (result.outcome !== "failed" || result.retry === false) return false;
  const policy = policyOf(f, open);
  if (policy === undefined || open.attempt - (open.lost ?? 0) >= policy.attemptsMax) return false;
  if (open.intent.kind === "tool" && open.intent.undoes !== undefined) return true;
  const isGivenUp = f.state.plans.some((plan) => plan.only?.includes(id));
  return f.state.phase.kind === "running" && isWanted(f, id, open) && !isGivenUp;
}

function retry(f: Folding, id: IntentId, open: OpenIntent, result: Result): void {
  const attempt = open.attempt + 1;
  const policy = policyOf(f, open) ?? modelRetry;
  const { route, retryAfterMs } = result.outcome === "failed" ? result : {};
  const ask = route?.next;
  // A stand-in can be asked at once; and of several providers each one's wish is kept by its own throttle.
  const wish = route === undefined ? retryAfterMs : undefined;
  const waitMs = ask === undefined ? backoffMs(policy, attempt, `${decider(f.state)}/${id}`, wish) : 0;
  const notBefore = f.at + waitMs;
  // The next attempt is handed on like the first: what was deferred is so no more.
  const { deferred: _deferred, dueAt: _dueAt, ask: _ask, ...rest } = open;
  const next = { ...rest, attempt, notBefore, ...(ask === undefined ? {} : { ask }) };
  if (open.intent.kind !== "model" || !isPaused(f)) return openAgain(f, next);
  // A tool's attempts go on: what an earlier one did must find its intent open. A model's cost money and do nothing.
  endIntent(f, id, closedBy(id, result));
  holdRetry(f, next);
}

function openAgain(f: Folding, open: OpenIntent): void {
  const { id, kind } = open.intent;
  const earliest = kind === "model" ? (f.state.modelNotBefore ?? 0) : 0;
  const notBefore = Math.max(open.notBefore ?? 0, earliest);
  const asking = open.ask === undefined ? {} : { ask: open.ask };
  f.intents.push({ kind: "retry", id, attempt: open.attempt, notBefore, ...asking });
  const begins = kind === "model" && open.intent.budget !== undefined ? { since: f.state.turn } : {};
  f.state.open = { ...f.state.open, [id]: { ...open, notBefore, ...begins } };
}

/** What is left of the budget does not allow another attempt. */
function giveUpAsking(f: Folding, open: OpenIntent, refusal: string): void {
  const { id } = open.intent;
  const error = actorError("denied", "BUDGET_EXCEEDED", refusal);
  endIntent(f, id, { as: error.outcome, code: error.code, reason: refusal });
  tellActor(f, open.actor, id, { error });
}

/** The next attempt of a model call whose last one failed while the saga was paused, if it is still asked for. */
export function issueRetry(f: Folding, open: OpenIntent): void {
  if (!isAwaited(f, open.intent.id, open.actor)) return;
  f.state.open = { ...f.state.open, [open.intent.id]: open };
  const refusal = refusalOfRetry(f, open);
  if (refusal === undefined) openAgain(f, open);
  else giveUpAsking(f, open, refusal);
}

/** A compensation that may have happened is asked about like one that failed; its late success counts. */
function settleUndoing(f: Folding, id: IntentId, open: OpenIntent, undoes: IntentId, result: Result): void {
  if (result.outcome === "succeeded") return settleUndone(f, undoes, id, result.output);
  if (result.outcome === "in_doubt") recordDoubt(f, id, open, "in_doubt");
  askAboutStuck(f, undoes, id, result.reason);
}

/** A child's second end says that it is undone, but for what it lists; that it cannot be had is a human's matter. */
function settleChildUndoing(f: Folding, id: IntentId, undoes: IntentId, result: Result): void {
  if (result.outcome !== "succeeded") return askAboutStuck(f, undoes, id, result.reason);
  noteLeftBelow(f, (result.output as UndoneChild).standing); // Proof: checked() has read it.
  settleUndone(f, undoes, id);
}

/** It is unknown whether it happened: the effect is held, and the one that the tool's `onDoubt` names settles the doubt. */
function takeDoubt(f: Folding, id: IntentId, open: OpenIntent, received: Result, reason: string): void {
  if (open.intent.kind !== "tool") return;
  const tool = toolOf(f, open.intent.name);
  recordEffect(f, id, open, "in_doubt", undefined);
  recordDoubt(f, id, open, "in_doubt", received);
  if (isAwaited(f, id, open.actor)) {
    if (tool?.onDoubt === "ask") return askAboutDoubt(f, id, open, reason);
    if (tool?.onDoubt === "compensate")
      return addPlan(f, {
        because: reason,
        only: [id],
        undone: [],
        then: { type: "tell", actor: open.actor, intent: id, reason },
      });
  }
  tellActor(f, open.actor, id, { error: actorError("in_doubt", "IN_DOUBT", reason) });
  undoIfLate(f, id);
}

function askAboutDoubt(f: Folding, id: IntentId, open: OpenIntent, reason: string): void {
  if (open.intent.kind !== "tool") return;
  const task = newId(f);
  const dueAt = f.at + limits.taskWithinMs;
  openIntent(f, {
    intent: {
      kind: "task",
      id: task,
      about: "doubt",
      of: id,
      question: `Did ${open.intent.name} with key ${open.intent.key} happen? ${reason}`,
      to: [],
      dueAt,
    },
    input: open.input,
    attempt: 1,
    dueAt,
  });
  const doubt = f.state.doubts[id];
  if (doubt !== undefined && open.actor !== undefined)
    f.state.doubts = { ...f.state.doubts, [id]: { ...doubt, actor: open.actor, task } };
}

/**
 * SK2. A definite result for an intent that was settled in doubt, cancelled, or failed for being late. `answered`: it is
 * what a human said of the doubt, which closes the task.
 */
export function correct(f: Folding, id: IntentId, doubt: Doubt, received: Result, answered = false): void {
  const { result, output } = checked(f, openOf(id, doubt), received);
  if (result.outcome !== "succeeded" && result.outcome !== "failed") return;
  if (doubt.task !== undefined && answered) closeIntent(f, doubt.task, closedAs("succeeded"));
  recordClosing(f, id, closedBy(id, result));
  if (doubt.task !== undefined && !answered) closeIntent(f, doubt.task, closedAs("cancelled", "settled"));
  if (result.outcome === "succeeded") learnResult(f, openOf(id, doubt), output);
  if (doubt.undoes !== undefined) correctUndoing(f, id, doubt.undoes, result);
  else correctEffect(f, id, doubt, result, output);
}

/** The settled intent as it was while open. */
const openOf = (id: IntentId, doubt: Doubt): OpenIntent => ({
  intent: {
    kind: "tool",
    id,
    name: doubt.tool,
    key: doubt.key,
    ...(doubt.call === undefined ? { input: doubt.input } : { call: doubt.call }),
    ...(doubt.dependsOn === undefined ? {} : { dependsOn: [...doubt.dependsOn] }),
    ...(doubt.undoes === undefined ? {} : { undoes: doubt.undoes }),
  },
  input: doubt.input,
  attempt: doubt.attempt,
  ...(doubt.actor === undefined ? {} : { actor: doubt.actor }),
});

/** The undoing happened after all: the human's task about it is over. That it did not changes nothing. */
function correctUndoing(f: Folding, id: IntentId, undoes: IntentId, result: Result): void {
  f.state.doubts = withoutKey(f.state.doubts, id);
  if (result.outcome !== "succeeded") return;
  for (const [task, open] of openEntries(f))
    if (open.intent.kind === "task" && open.intent.about === "stuck" && open.intent.of === undoes)
      closeIntent(f, task, closedAs("cancelled", "undone"));
  settleUndone(f, undoes, id);
}

function correctEffect(
  f: Folding,
  id: IntentId,
  doubt: Doubt,
  result: Extract<Result, { outcome: "succeeded" | "failed" }>,
  output: unknown,
): void {
  // An undoing in flight may have come before the effect: a success needs another one, with its output.
  if (result.outcome === "succeeded") recordEffect(f, id, openOf(id, doubt), "succeeded", output);
  else if (effectOf(f, id)?.undoing === undefined) removeEffect(f, id);
  f.state.doubts = withoutKey(f.state.doubts, id);
  if (isAwaited(f, id, doubt.actor))
    tellActor(
      f,
      doubt.actor,
      id,
      result.outcome === "succeeded"
        ? { output, unread: { by: "tool", name: doubt.tool, value: result.output } }
        : { error: { outcome: "failed", code: result.code, reason: result.reason } },
    );
  else if (doubt.call !== undefined && f.state.phase.kind === "running")
    f.queue.push({ event: correction(f, doubt, result) });
  if (result.outcome === "succeeded") undoIfLate(f, id, doubt.undone === true);
}

/** The model hears how a call that it was told is in doubt ended after all. */
const correction = (
  f: Folding,
  doubt: Doubt,
  result: Extract<Result, { outcome: "succeeded" | "failed" }>,
) => {
  const told: Record<string, Json> =
    result.outcome === "succeeded" ? { output: result.output } : { code: result.code, reason: result.reason };
  const part = { type: "result", call: doubt.call ?? "", tool: doubt.tool, outcome: result.outcome, ...told };
  return { type: "sagamesh.corrected", call: doubt.call, tool: doubt.tool, part: toJson(part), at: f.at };
};

/** An effect that turns out to stand although everything up to its place was undone is undone too. */
function undoIfLate(f: Folding, id: IntentId, wasUndone = false): void {
  if (!wasUndone && !isBefore(id, f.state.undoneBefore)) return;
  if (effectOf(f, id)?.undo === undefined) return;
  if (f.state.plans.some((plan) => plan.only === undefined || plan.only.includes(id))) return;
  const { phase } = f.state;
  const because = "it succeeded after everything was undone";
  if (phase.kind !== "ended")
    return addPlan(f, { because, only: [id], undone: [], then: { type: "nothing" } });
  f.state.phase = { kind: "undoing" };
  addPlan(f, { because, only: [id], undone: [], then: { type: "end", ending: phase.ending } });
}

const isBefore = (id: IntentId, { turn, k }: Position): boolean =>
  turnOf(id) < turn || (turnOf(id) === turn && placeOf(id) < k);
