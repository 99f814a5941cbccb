/**
 * Account of intents: opened, tried again, handed to the outside, closed, corrected; and what each said of a task.
 */
import { standInVote } from "../../actors/kernel/task.ts";
import { variantAfter } from "../../actors/request/variant.ts";
import type { Closing } from "../../protocol/closing.ts";
import type { Event, EventOf, Vote } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { Intent, IntentOf } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import type { Begun } from "../../protocol/turn.ts";
import type { DecidedIntent, Ended, Reading, StepPlace, Telling } from "./account.ts";
import { askDecision, isDecision, stepOfCall } from "./account-decisions.ts";
import { takeEffect, takeUndoing } from "./account-effects.ts";
import { countIntent, countStep, reserve, takeUnasked } from "./account-spending.ts";

/** An intent that was decided, or the next attempt of one. */
export function takeIntent(reading: Reading, intent: Intent, at: StepPlace): void {
  reserve(reading, intent);
  if (intent.kind === "retry") return takeRetry(reading, intent, at);
  const call = "call" in intent ? intent.call : undefined;
  const own = "input" in intent ? intent.input : undefined;
  const told: Telling = {
    intent,
    place: at,
    proposedBy: call === undefined ? undefined : reading.decisions[stepOfCall(call) - 1],
    input: own === undefined && call !== undefined ? reading.inputs.get(call) : own,
    attempt: 1,
    inLine: intent.kind === "saga" && intent.inLine === true,
    ...{
      deferred: undefined,
      ended: endedAtOnce(intent, at),
      before: undefined,
      said: [],
      followedBy: undefined,
    },
  };
  reading.intents.set(intent.id, told);
  if (told.ended === undefined && opens(intent)) {
    reading.open.set(intent.id, told);
    reading.changes.push({ type: "opened", intent: told });
  }
  if (intent.kind === "task" && intent.after !== undefined) {
    const before = reading.intents.get(intent.after.task);
    if (before !== undefined) before.followedBy = intent.id;
  }
  if (intent.kind === "end") reading.end = { intent, turn: at.turn, at: at.at };
  if (intent.kind === "denied" && intent.for === undefined) reading.fresh.push({ at, intent: intent.id });
  if (isDecision(intent)) askDecision(reading, intent.id);
  countIntent(reading, intent, told.inLine);
  takeUndoing(reading, intent);
}

/** An end is open while its parent has to be told. */
const opens = (intent: DecidedIntent): boolean => intent.kind !== "end" || intent.tells === true;

/** What is over as it is decided. */
function endedAtOnce(intent: DecidedIntent, { turn, at, event }: StepPlace): Ended | undefined {
  const { id } = intent;
  if (intent.kind === "pause") return { intent: id, as: "succeeded", turn, at, event };
  if (intent.kind !== "denied") return undefined;
  const { code, reason } = intent;
  return { intent: id, as: "denied", code, reason, turn, at, event };
}

function takeRetry(
  reading: Reading,
  { id, attempt }: Pick<IntentOf<"retry">, "id" | "attempt">,
  { turn }: StepPlace,
): void {
  const told = reading.intents.get(id);
  if (told === undefined) return;
  if (told.intent.kind === "model") {
    countStep(reading, 1);
    reading.retriedIn.set(id, turn);
  }
  Object.assign(told, { attempt, deferred: undefined, ended: undefined, before: undefined });
  reading.open.set(id, told);
  reading.changes.push({ type: "retried", intent: told });
}

/** A child leaves the line: it counts, and its slice is reserved. */
export function takeBegun(reading: Reading, { intent: id, budget }: Begun): void {
  const told = reading.open.get(id);
  if (told?.intent.kind !== "saga") return;
  if (budget !== undefined) told.intent = { ...told.intent, budget };
  told.inLine = false;
  countIntent(reading, told.intent, told.inLine);
  reserve(reading, told.intent);
  reading.changes.push({ type: "begun", intent: told });
}

export function takeDeferred(
  reading: Reading,
  { intent, attempt, dueAt }: EventOf<"deferred">,
  { at }: StepPlace,
) {
  const told = reading.open.get(intent);
  if (told === undefined || told.attempt !== attempt) return;
  told.deferred = { at, dueAt };
  reading.changes.push({ type: "deferred", intent: told });
}

/** A fork puts off what was to fall due; what it closes, the step says. */
export function takeForked(reading: Reading, event: EventOf<"forked">): void {
  if (reading.fork !== undefined) {
    const { saga, turn } = reading.fork;
    reading.fork = { saga, turn, effects: event.effects, ...variantAfter(reading.fork, event) };
  }
  for (const told of reading.open.values())
    if (told.intent.kind === "timer" || told.intent.kind === "task")
      told.intent = { ...told.intent, dueAt: told.intent.dueAt + event.idleMs };
}

/** What was said of a task in this step: a person's vote, or the answer of a saga that stands in for people. */
export function takeSaid(reading: Reading, at: StepPlace): void {
  const said = saidIn(reading, at);
  const task = said === undefined ? undefined : reading.open.get(said.task);
  if (said === undefined || task?.intent.kind !== "task") return;
  const { vote, through } = said;
  const one = { vote, at: at.at, ...(through === undefined ? {} : { through }) };
  task.said.push(one);
  reading.changes.push({ type: "said", task, said: one });
}

function saidIn(
  reading: Reading,
  { event, intents }: StepPlace,
): { task: IntentId; vote: Vote; through?: IntentId } | undefined {
  if (event.type === "task") return { task: event.intent, vote: event.vote };
  if (event.type !== "result" || event.result.outcome !== "succeeded") return undefined;
  const child = reading.open.get(event.intent)?.intent;
  if (child?.kind !== "saga" || child.for === undefined) return undefined;
  const task = reading.open.get(child.for)?.intent;
  // Its word was not taken: the step says so.
  const isRefused = intents.some(
    (intent) => intent.kind === "denied" && intent.for === child.for && intent.code === "BAD_RESULT",
  );
  if (task?.kind !== "task" || isRefused) return undefined;
  const vote = standInVote(task, child.saga, event.result.output);
  return typeof vote === "string" ? undefined : { task: child.for, vote, through: child.id };
}

/** An intent is over, or how it ended is corrected. */
export function takeClosing(reading: Reading, closing: Closing, at: StepPlace): void {
  const told = reading.intents.get(closing.intent);
  if (told === undefined) return;
  const ended: Ended = {
    ...closing,
    turn: at.turn,
    at: at.at,
    event: at.event,
    ...wordOf(reading, told, closing, at),
  };
  const type = told.ended === undefined ? "closed" : "corrected";
  told.before ??= told.ended;
  told.ended = ended;
  reading.open.delete(closing.intent);
  reading.changes.push({ type, intent: told, ended });
  takeUnasked(reading, told.intent, closing, at);
  takeEffect(reading, told, ended, at);
}

/** Whose word an ending is, and what it gave. */
function wordOf(
  reading: Reading,
  { intent, said }: Telling,
  { as }: Closing,
  { event }: StepPlace,
): Pick<Ended, "from" | "output"> {
  if (event.type === "result" && event.intent === intent.id)
    return {
      from: event.by,
      ...(as === "succeeded" && event.result.outcome === "succeeded" ? { output: event.result.output } : {}),
    };
  const vote = isAbout(reading, event, intent.id) ? said.at(-1)?.vote : undefined;
  if (vote !== undefined) return { from: vote.by, ...(as === "succeeded" ? answerOf(vote) : {}) };
  return event.type === "task" ? foundOut(reading, event, intent.id) : {};
}

/** Whether a vote was on this very task, or was said for it. */
function isAbout(reading: Reading, event: Event, task: IntentId): boolean {
  if (event.type === "task") return event.intent === task;
  const child = event.type === "result" ? reading.intents.get(event.intent)?.intent : undefined;
  return child?.kind === "saga" && child.for === task;
}

const answerOf = ({ answer }: Vote): { output?: Json } => (answer === undefined ? {} : { output: answer });

/** What a human found out about a call in doubt. */
function foundOut(
  reading: Reading,
  { intent: id, vote }: EventOf<"task">,
  of: IntentId,
): Pick<Ended, "from" | "output"> {
  const task = reading.intents.get(id)?.intent;
  if (task?.kind !== "task" || task.of !== of || task.about !== "doubt") return {};
  const { output } = (vote.answer ?? {}) as { output?: Json };
  return { from: vote.by, ...(output === undefined ? {} : { output }) };
}
