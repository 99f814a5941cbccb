/**
 * Asking: a task from the moment people are asked to the moment it is over or others are asked: whom it tells and reminds,
 * who is next, and what becomes of it when a human changes the arguments. The same for a question.
 *
 * Owns: opening tasks, and what serves them (the notices, the reminders, the saga that stands in). Does not own: what a
 * vote or a deadline decides (task.ts), the terms' form (terms.ts).
 *
 * AK1 A task is for one exact call, whose digest it shows: its arguments, and the contract that they are given under.
 *     Changed ones are another task, which needs approvals of its own: who proposes, be it a model or a human, has not
 *     approved.
 * AK2 What serves a task never decides whether it stands: a notice that cannot be given, a reminder that is late, a
 *     saga that fails leave people asked until the deadline.
 * AK3 What serves a task is over with it.
 */
import { assert, describeError, type ErrorCode } from "../../protocol/errors.ts";
import { childSagaId, effectKey, type IntentId } from "../../protocol/ids.ts";
import { digestOf } from "../../protocol/digest.ts";
import type { InLine, IntentOf } from "../../protocol/intent.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import type { TaskNotice } from "../../protocol/notice.ts";
import type { Callable, Question } from "../machine/callable.ts";
import type { Definition } from "../contract/definition.ts";
import {
  callDigest,
  closedAs,
  closeIntent,
  contractIn,
  type Folding,
  inputOrCall,
  newId,
  openIndex,
  openIntent,
  toolOf,
} from "./folding.ts";
import { byAge, servedBy } from "./open-index.ts";
import { withKey } from "../values/draft.ts";
import { readWith } from "../values/schema.ts";
import { decider, forbidden } from "./lineage.ts";
import { openingOf } from "./line.ts";
import { countChild } from "./slices.ts";
import { isOpen, type OpenIntent, type OpenTask, type ProposedCall } from "../contract/state.ts";
import { type LineTerms, readApproval, readQuestion } from "../contract/terms.ts";
import type { Tool } from "../contract/tool.ts";
import { cancelChild } from "./undo.ts";

/** The terms of the approval that an input needs, false for none, or why there are none to be had. */
export function approvalOf(definition: Definition, tool: Tool, input: Json): false | LineTerms | string {
  const { approval } = tool;
  if (approval === undefined) return false;
  try {
    const terms =
      typeof approval === "function"
        ? (approval as (input: unknown) => unknown)(tool.input.parse(input))
        : approval;
    return terms === false ? false : termsFor(definition, `the approval of ${tool.name}`, terms);
  } catch (error) {
    return `the approval of ${tool.name} threw: ${describeError(error)}`;
  }
}

/** Terms that a tool or a policy gives, as data; or why they are none. `who` begins the sentence. */
export function termsFor(definition: Definition, who: string, terms: unknown): LineTerms | string {
  const read = readApproval(terms);
  if ("fault" in read) return `${who} answers what is no approval: ${read.fault}`;
  const unknown = read.names.find((one) => !isOwn(definition, one));
  return unknown === undefined
    ? read.asked
    : `${who} names ${unknown.kind} ${unknown.name}, which ${definition.name} does not have: add it to \`uses\``;
}

const isOwn = ({ tools, sagas }: Definition, { kind, name }: Callable): boolean =>
  kind === "tool" ? tools.has(name) : sagas.has(name);

/** That a call was changed under review: the task it comes from, and that one's terms. */
export interface Review {
  readonly asked: LineTerms;
  readonly after: NonNullable<TaskIntent["after"]>;
}

/** Puts a call before people. After an edit no saga stands in again: one that always edits would never end. */
export function askApproval(
  f: Folding,
  callee: Tool | Definition,
  call: ProposedCall,
  asked: LineTerms,
  after?: Review["after"],
): void {
  const [first, ...next] = asked.line;
  const { name } = callee;
  openTask(f, {
    about: "approval",
    question: `May ${name} be called?`,
    ...ofCall(call),
    asked: after === undefined ? asked : { ...asked, line: [peopleOnly(first), ...next.map(peopleOnly)] },
    more: {
      tool: name,
      digest: callDigest(callee, call.input),
      ...inputOrCall(call),
      ...(after === undefined ? {} : { after }),
    },
  });
}

export function askHuman(f: Folding, question: Question, call: ProposedCall): void {
  const terms = readQuestion(question);
  assert("asked" in terms, "a question with faulty terms is never served");
  openTask(f, {
    about: "question",
    question: (call.input as { question: string }).question, // Proof: read with the callable's schema before.
    ...ofCall(call),
    asked: terms.asked,
    more: call.from === undefined ? {} : { call: call.from },
  });
}

/** A call of which it is not known whether it happened. */
export interface DoubtedCall {
  readonly of: IntentId;
  readonly question: string;
  readonly input: Json;
}

/** Asks people what became of a call, on the terms of its tool. The task's id. */
export const askDoubt = (f: Folding, { of, question, input }: DoubtedCall, asked: LineTerms): IntentId =>
  openTask(f, { about: "doubt", question, input, asked, more: { of } });

const ofCall = (call: ProposedCall) => ({ input: call.input, actor: call.actor, call });

type TaskIntent = IntentOf<"task">;

interface NewTask {
  readonly about: "approval" | "question" | "doubt";
  readonly question: string;
  /** What it is about: the arguments of a call. */
  readonly input: Json;
  /** Of an approval and a question; the actor of a doubted call waits for the doubt's end, and not for the task's. */
  readonly actor?: string | undefined;
  readonly call?: ProposedCall | undefined;
  readonly asked: LineTerms;
  readonly more: Partial<TaskIntent>;
}

function openTask(f: Folding, task: NewTask): IntentId {
  const { about, question, input, actor, call, asked, more } = task;
  const [{ withinMs, ...terms }, ...next] = asked.line;
  const id = newId(f);
  const dueAt = f.at + withinMs;
  openIntent(f, {
    intent: {
      kind: "task",
      id,
      about,
      question,
      ...terms,
      dueAt,
      ...(next.length === 0 ? {} : { next }),
      ...(asked.otherwise === undefined ? {} : { otherwise: asked.otherwise }),
      ...more,
    },
    input,
    attempt: 1,
    dueAt,
    withinMs,
    ...defined({ actor, call }),
  });
  if (!startStandIn(f, id)) callPeople(f, id);
  return id;
}

/** A task that is open, with what those who serve it need to know. */
function openTaskOf(f: Folding, id: IntentId): { open: OpenTask; intent: TaskIntent } | undefined {
  const open = f.state.open[id];
  return isOpen(open, "task") ? { open, intent: open.intent } : undefined;
}

/** The deadline passed and another is next in line: asked anew, on their own terms. True if there is a next. */
export function escalate(f: Folding, id: IntentId): boolean {
  const task = openTaskOf(f, id);
  const [first, ...next] = task?.intent.next ?? [];
  if (task === undefined || first === undefined) return false;
  const { about, of, question, otherwise, tool, digest, input, call, rewrittenBy } = task.intent;
  if (about !== "approval" && about !== "question" && about !== "doubt") return false;
  closeIntent(f, id, closedAs("superseded", "deadline"));
  const following = openTask(f, {
    about,
    question,
    input: task.open.input,
    actor: task.open.actor,
    call: task.open.call,
    asked: { line: [first, ...next], ...(otherwise === undefined ? {} : { otherwise }) },
    more: {
      ...defined({ of, tool, digest, input, call, rewrittenBy }),
      after: { task: id, because: "deadline" },
    },
  });
  const doubt = about === "doubt" && of !== undefined ? f.state.doubts[of] : undefined;
  if (of !== undefined && doubt?.outcome === "in_doubt")
    f.state.doubts = withKey(f.state.doubts, of, { ...doubt, task: following });
  return true;
}

/** The terms an open task has. Its whole time begins again. */
export function askedOf({ withinMs = 0 }: OpenTask, intent: TaskIntent): LineTerms {
  const { to, quorum, remindEveryMs, notify, standIn, next = [], otherwise } = intent;
  const first = { to, withinMs, ...defined({ quorum, remindEveryMs, notify, standIn }) };
  return { line: [first, ...next], ...(otherwise === undefined ? {} : { otherwise }) };
}

const peopleOnly = ({ standIn: _standIn, ...rest }: InLine): InLine => rest;

/** Without the members that are undefined, which a record that was read would not have. */
const defined = <T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never; // As its type says.

function noticeOf(f: Folding, id: IntentId, reminder: number): TaskNotice | undefined {
  const task = openTaskOf(f, id);
  const about = task?.intent.about;
  if (task === undefined || (about !== "approval" && about !== "question" && about !== "doubt"))
    return undefined;
  const { question, to, quorum = 1, dueAt, digest, of } = task.intent;
  const doubt = of === undefined ? undefined : f.state.doubts[of];
  const tool = task.intent.tool ?? doubt?.tool;
  return {
    task: `${decider(f.state)}/${id}`,
    saga: decider(f.state),
    intent: id,
    agent: f.definition.name,
    about,
    question,
    to,
    quorum,
    dueAt,
    reminder,
    ...defined({ tool, digest, of }),
    ...(f.state.fork?.effects === "simulated" ? { simulated: true } : {}),
    ...(about === "question" ? {} : { input: task.open.input }),
  };
}

/** What a tool or saga that serves a task is given, held against its own schema. */
function inputFor(
  f: Folding,
  task: IntentId,
  attendant: { readonly name: string; readonly input?: Json | undefined },
  { schema, reminder }: { schema: Callable["input"] | undefined; reminder: number },
): Json | undefined {
  const no = forbidden(f.state);
  if (no !== undefined) {
    denyAttendant(f, task, { name: attendant.name, ...no });
    return undefined;
  }
  const given = (attendant.input ?? {}) as Record<string, Json>; // Proof: terms.ts reads it as a record.
  const input = toJson({ ...given, task: noticeOf(f, task, reminder) });
  const read = schema === undefined ? undefined : readWith(schema, input);
  if (read?.success === true) return input;
  const reason = read?.reason ?? "the definition does not have it";
  denyAttendant(f, task, { name: attendant.name, code: "CALL_INVALID", reason });
  return undefined;
}

/** Recorded, so that a reader of the task sees why no one was told, or why its stand-in's word was not taken. */
export function denyAttendant(
  f: Folding,
  task: IntentId,
  { name, code, reason }: { name: string; code: ErrorCode; reason: string },
): void {
  f.intents.push({ kind: "denied", id: newId(f), name, code, reason, for: task });
}

/** Asks the saga that stands in. False if the task has none, or it cannot be asked. */
function startStandIn(f: Folding, task: IntentId): boolean {
  const standIn = openTaskOf(f, task)?.intent.standIn;
  if (standIn === undefined) return false;
  const schema = f.definition.sagas.get(standIn.name)?.input;
  const input = inputFor(f, task, standIn, { schema, reminder: 0 });
  if (input === undefined) return false;
  const opening = openingOf(f, standIn.name, true);
  if ("code" in opening) {
    denyAttendant(f, task, { name: standIn.name, ...opening });
    return false;
  }
  assert(!("inLine" in opening), "who stands in for people waits in no line");
  const { budget } = opening;
  const id = newId(f);
  const saga = childSagaId(decider(f.state), id, standIn.name);
  const reserved = budget === undefined ? {} : { budget };
  countChild(f);
  openIntent(f, {
    intent: { kind: "saga", id, name: standIn.name, saga, input, for: task, ...reserved },
    input,
    attempt: 1,
  });
  return true;
}

/** Tells the people a task is for, and from then on reminds them. */
export function callPeople(f: Folding, task: IntentId): void {
  if (notify(f, task, 0)) remindLater(f, task, 1);
}

/** A reminder is due. */
export function takeReminder(f: Folding, id: IntentId, open: OpenIntent): void {
  const task = servedBy(open);
  closeIntent(f, id, closedAs("succeeded"));
  if (task === undefined || f.state.open[task] === undefined) return;
  const reminder = Number(open.input);
  if (notify(f, task, reminder)) remindLater(f, task, reminder + 1);
}

/** A timer of its own for each, so a host that was down for a day reminds once. */
function remindLater(f: Folding, task: IntentId, reminder: number): void {
  const intent = openTaskOf(f, task)?.intent;
  if (intent?.remindEveryMs === undefined) return;
  const dueAt = f.at + intent.remindEveryMs;
  if (dueAt >= intent.dueAt) return;
  openIntent(f, {
    intent: { kind: "timer", id: newId(f), dueAt, for: task },
    input: reminder,
    attempt: 1,
  });
}

/**
 * Has the tool tell people. No policy is asked and no approval: the definition's author named it, no model did, and
 * a policy that forbids it leaves a task that no one hears of. False if there is nothing to call.
 */
function notify(f: Folding, task: IntentId, reminder: number): boolean {
  const notice = openTaskOf(f, task)?.intent.notify;
  if (notice === undefined) return false;
  const tool = toolOf(f, notice.name);
  const input = inputFor(f, task, notice, { schema: tool?.input, reminder });
  if (input === undefined) return false;
  const id = newId(f);
  const key = effectKey(decider(f.state), id, digestOf(input));
  openIntent(f, {
    intent: {
      kind: "tool",
      id,
      name: notice.name,
      key,
      contract: contractIn(f, notice.name),
      input,
      for: task,
    },
    input,
    attempt: 1,
  });
  return true;
}

/** AK3. True if anything was still there. A notice that is being given ends by its own result. */
export function dismissAttendants(f: Folding): boolean {
  if (f.overTasks.length === 0) return false;
  const { attendants } = openIndex(f);
  const left = f.overTasks.splice(0).flatMap((task) => [...(attendants.get(task) ?? [])]);
  let dismissed = false;
  for (const id of left.sort(byAge)) {
    const open = f.state.open[id];
    if (open !== undefined && isOpen(open, "timer")) closeIntent(f, id, closedAs("cancelled", "task"));
    else if (isOpen(open, "saga") && open.told !== true) cancelChild(f, id);
    else continue;
    dismissed = true;
  }
  return dismissed;
}
