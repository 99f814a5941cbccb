/**
 * Folding: one turn while it is being decided. The parts of the fold (fold, issue, settle, undo, ending)
 * share this and nothing else.
 *
 * FG1 `state` is this turn's own copy, and its records are replaced by copies of the turn's own before they are written
 *     into (draft.ts): the state before the turn stays as it was.
 * FG2 What is open changes by the functions here alone, so that the index of it is true.
 */
import { type ClosedAs, type ClosedBecause, type Closing, closingBy } from "../../protocol/closing.ts";
import { digestOf } from "../../protocol/digest.ts";
import { assert, type ErrorCode } from "../../protocol/errors.ts";
import { type IntentId, intentId, turnOf } from "../../protocol/ids.ts";
import { type Intent, isUndoing } from "../../protocol/intent.ts";
import { type Json, toJson } from "../../protocol/json.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import type { Cause, Result } from "../../protocol/result.ts";
import type { Begun } from "../../protocol/turn.ts";
import { contractDigest } from "../contract/contract-digest.ts";
import { withKey, withoutKey } from "../values/draft.ts";
import { jsonSchema, readWith } from "../values/schema.ts";
import type { Tool } from "../contract/tool.ts";
import type { Definition } from "../contract/definition.ts";
import { doneEvent, errorEvent } from "../machine/machine.ts";
import { mayHaveBegun, withLate } from "./late.ts";
import type { MachineAction, MachineEvent } from "../machine/actions.ts";
import { takeCounted, type Undoing } from "./undo-order.ts";
import {
  enter,
  change as enterChange,
  indexOf,
  isRunningChild,
  leave,
  type OpenIndex,
  servedBy,
  takeIndex,
} from "./open-index.ts";
import type {
  OpenIntent,
  OpenKind,
  OpenOf,
  OpenSaga,
  OpenTool,
  ProposedCall,
  SagaState,
  StandingEffect,
  Unread,
} from "../contract/state.ts";

export type Draft = { -readonly [K in keyof SagaState]: SagaState[K] };

export interface Folding {
  readonly definition: Definition;
  readonly at: number;
  readonly state: Draft;
  /** Intents of the step being folded. */
  intents: Intent[];
  /** What that step has closed. */
  closed: Closing[];
  /** The children that left the line in it. */
  begun: Begun[];
  /** The places in it of what concerns an intent. */
  readonly closedAt: Map<IntentId, number[]>;
  /** The model calls among it that had no answer, by the actor that had asked. */
  readonly unanswered: Map<string, IntentId>;
  /** Number of the next intent within the turn. */
  nextK: number;
  /** Events for the machine that follow from what was folded. */
  readonly queue: Queued[];
  /** Messages the conversation grew by. */
  readonly said: ModelMessage[];
  /** Model calls that were asked for, and how many of those messages stood before each. */
  readonly asked: AskedModel[];
  /** For the live lane. */
  readonly shown: { readonly kind: "emit" | "log"; readonly value: Json }[];
  /** The machine moved since kept signals were last offered. */
  moved: boolean;
  /** What the machine's step asks for, and how much of that has been carried out, the action at hand included. */
  asks: readonly MachineAction[];
  asksDone: number;
  /** What is open, by what is asked of it; undefined until that is asked, or handed on (OX2 of open-index.ts). */
  index: OpenIndex | undefined;
  /** What stands, by its intent; undefined until that is asked. `state.effects` follows its changes (effects.ts). */
  effects: Map<IntentId, StandingEffect> | undefined;
  areEffectsChanged: boolean;
  /** What stands since, after all in `state.effects`. */
  newEffects: StandingEffect[];
  /** Lists that this fold of many turns may let grow. */
  readonly growing: Growing | undefined;
  /** How often that was looked for without an index (EE2 of effects.ts). */
  looks: number;
  /** What the one plan there is undoes, counted; undefined where what stands or the plans have changed otherwise. */
  undoing: Undoing | undefined;
  /** Nothing has changed since that lets one of them go on, as far as it is known (undo.ts). */
  isUndoingAtRest: boolean;
  /** Tasks that are over and may have left someone who serves them. */
  readonly overTasks: IntentId[];
  /** How many of those that a plan names were found closed, from the first. */
  readonly closedUpTo: Map<readonly IntentId[], number>;
  /** Nothing was opened since an end last looked for what it need not wait for. */
  isSwept: boolean;
  /** So many kept signals were offered to the machine where it is, and not taken. */
  offered: number;
}

/** The lists that a fold of many turns has made for itself: no state before it and none after it holds them. */
export type Growing = WeakSet<readonly unknown[]>;

/** A model intent with the input it has while it is open; one that is superseded within its turn is known by this alone. */
export interface AskedModel {
  readonly intent: IntentId;
  readonly input: Json;
  readonly said: number;
}

/** An event on its way to the machine; with an actor, only if that still waits for the intent when it arrives. */
export interface Queued {
  readonly event: MachineEvent;
  readonly waits?: { readonly actor: string; readonly intent: IntentId };
  /** Where the event holds what a schema made of it: what it was. */
  readonly unread?: Unread;
  /** A timer's name. */
  readonly timer?: string;
}

/** A turn of which nothing is decided yet. */
export const folding = (definition: Definition, state: Draft, at: number, growing?: Growing): Folding => ({
  definition,
  at,
  state,
  growing,
  intents: [],
  closed: [],
  begun: [],
  closedAt: new Map(),
  unanswered: new Map(),
  nextK: 0,
  queue: [],
  said: [],
  asked: [],
  shown: [],
  moved: false,
  offered: 0,
  asks: [],
  asksDone: 0,
  index: takeIndex(state.open, definition),
  effects: undefined,
  areEffectsChanged: false,
  newEffects: [],
  looks: 0,
  undoing: takeCounted(state.effects, state.plans),
  isUndoingAtRest: false,
  closedUpTo: new Map(),
  overTasks: [],
  isSwept: false,
});

/** What is undone is to be counted again. */
export function forgetUndoing(f: Folding): void {
  f.undoing = undefined;
  f.isUndoingAtRest = false;
}

export const newId = (f: Folding): IntentId => intentId(f.state.turn, f.nextK++);

/** No intent is waited for under this name any more. */
export function forgetActor(f: Folding, actor: string): void {
  f.state.actors = withoutKey(f.state.actors, actor);
  if (f.state.displaced?.[actor] !== undefined) f.state.displaced = withoutKey(f.state.displaced, actor);
}

/** The machine's own id of an actor. */
const idOf = ({ state }: Folding, actor: string): string => state.displaced?.[actor] ?? actor;

/** Records an intent and holds it open. */
export function openIntent(f: Folding, open: OpenIntent): void {
  f.intents.push(open.intent);
  if (open.intent.kind === "model") takeModel(f, open);
  setOpen(f, open);
  if (open.actor !== undefined) f.state.actors = withKey(f.state.actors, open.actor, open.intent.id);
}

/** Holds an intent open, in the place of what was open under its id. */
export function setOpen(f: Folding, as: OpenIntent): void {
  const { id } = as.intent;
  const before = f.state.open[id];
  const isNew = before === undefined;
  const open = before?.attempt === as.attempt ? as : { ...as, decidedAt: f.at };
  f.state.open = withKey(f.state.open, id, open);
  if (isNew) f.isSwept = false;
  if (!isUndoing(open.intent)) f.isUndoingAtRest = false; // It is waited for by no plan, but by its effect.
  if (f.index === undefined) return;
  if (isNew) enter(f.index, open, (one) => isEffectInFlight(f, one));
  else enterChange(f.index, open);
}

/** What is open, by what is asked of it. */
export const openIndex = (f: Folding): OpenIndex =>
  (f.index ??= indexOf(f.state.open, (one) => isEffectInFlight(f, one)));

/** A model that is asked anew in the step in which the last call was given up takes the place of that one. */
function takeModel(f: Folding, { intent: { id }, input, actor }: OpenIntent): void {
  f.asked.push({ intent: id, input, said: f.said.length });
  const before = actor === undefined ? undefined : f.unanswered.get(actor);
  if (before === undefined) return;
  changeClosing(f, before, (one) => ({ ...one, as: "superseded", by: id }));
}

/** Changes fields of an open intent, which are those of its kind. */
export function changeOpen<K extends OpenKind>(
  f: Folding,
  { intent: { id } }: OpenOf<K>,
  change: Partial<OpenOf<K>>,
): void {
  const open = f.state.open[id];
  if (open !== undefined) setOpen(f, { ...open, ...change }); // Fields of its own kind.
}

/** As what an intent is closed, and why where no event says so. */
export type Closed = Omit<Closing, "intent">;

export const closedAs = (as: ClosedAs, because?: ClosedBecause): Closed =>
  because === undefined ? { as } : { as, because };

/**
 * Closes an intent without telling its actor, and records as what. A model call's cost may still come in, unless the
 * call was decided in this very turn. An attempt that was never begins, and costs neither money nor one of the budget's
 * steps.
 */
export function closeIntent(f: Folding, id: IntentId, closed: Closed): void {
  const open = f.state.open[id];
  if (open?.intent.kind === "model") {
    const hasBegun = mayHaveBegun(open, f.state.turn);
    if (!hasBegun) f.state.spent = { ...f.state.spent, steps: f.state.spent.steps - 1 };
    if (turnOf(id) === f.state.turn) return endIntent(f, id, closed);
    if (open.intent.budget === undefined) f.state.unpaid = [...f.state.unpaid.slice(-99), id];
    else if (f.state.budget !== undefined && hasBegun) f.state.budget = withLate(f.state.budget, open);
  }
  if (open !== undefined) endIntent(f, id, closed);
}

/** BU5 of budget.ts. */
export const countStep = (f: Folding): void => {
  f.state.spent = { ...f.state.spent, steps: f.state.spent.steps + 1 };
};

/** The same for one whose cost is reported, or accounted for by the code that closes it. */
export function endIntent(f: Folding, id: IntentId, closed: Closed): void {
  const open = f.state.open[id];
  const isUnanswered = closed.as === "cancelled" || closed.as === "superseded";
  if (open?.intent.kind === "model" && open.actor !== undefined && isUnanswered)
    f.unanswered.set(open.actor, id);
  recordClosing(f, id, closed);
  if (open === undefined) return;
  f.state.open = withoutKey(f.state.open, id);
  if (f.index !== undefined) leave(f.index, open);
  if (!isUndoing(open.intent)) f.isUndoingAtRest = false;
  if (open.intent.kind === "task") f.overTasks.push(id);
}

/** Records how an intent ended that is not open any more: its outcome is corrected. */
export function recordClosing(f: Folding, id: IntentId, closed: Closed): void {
  const places = f.closedAt.get(id) ?? [];
  f.closedAt.set(id, [...places, f.closed.length]);
  f.closed.push({ intent: id, ...closed });
}

/** Changes what the step has recorded of how an intent ended. */
function changeClosing(f: Folding, id: IntentId, change: (closing: Closing) => Closing): void {
  for (const at of f.closedAt.get(id) ?? []) f.closed[at] = change(f.closed[at] as Closing); // Proof: its place.
}

/** As what a result closes an intent. */
export function closedBy(id: IntentId, result: Result): Closed {
  const { intent: _intent, ...closed } = closingBy(id, result);
  return closed;
}

/** An effect stands although its intent did not succeed, or does not say that it can be undone. */
export function noteStanding(f: Folding, id: IntentId): void {
  changeClosing(f, id, (one) => (one.as === "in_doubt" ? one : { ...one, stands: true }));
}

export const openEntries = (f: Folding): [IntentId, OpenIntent][] =>
  Object.entries(f.state.open) as [IntentId, OpenIntent][];

/** What an actor is told when its intent did not succeed. */
export interface ActorError {
  readonly outcome: "failed" | "denied" | "in_doubt" | "cancelled";
  readonly code: string;
  readonly reason: string;
  /** What a child that failed could not undo, `<tool> <key>`. */
  readonly standing?: readonly string[];
  readonly name?: string;
  readonly cause?: Cause;
}

/** What a result says of what was thrown, and of what lay behind it, as members of the error. */
export const thrownIn = (result: Result): Pick<ActorError, "name" | "cause"> => ({
  ...("name" in result && result.name !== undefined ? { name: result.name } : {}),
  ...("cause" in result && result.cause !== undefined ? { cause: result.cause } : {}),
});

export const actorError = (outcome: ActorError["outcome"], code: ErrorCode, reason: string): ActorError => ({
  outcome,
  code,
  reason,
});

/** Whether an actor of the machine waits for this intent. */
export const isAwaited = (f: Folding, id: IntentId, actor: string | undefined): actor is string =>
  actor !== undefined && Object.hasOwn(f.state.actors, actor) && f.state.actors[actor] === id;

/** Whether the result is still wanted: by an actor that waits, or by the open task that it serves. */
export function isWanted(f: Folding, id: IntentId, open: OpenIntent): boolean {
  const task = servedBy(open);
  return task === undefined ? isAwaited(f, id, open.actor) : f.state.open[task] !== undefined;
}

/** Tells the actor, if it still waits for this intent. A result of an earlier entry is not its own. */
export function tellActor(
  f: Folding,
  actor: string | undefined,
  id: IntentId,
  said: { output: unknown; unread?: Unread | undefined } | { error: ActorError },
): void {
  if (!isAwaited(f, id, actor)) return;
  const { unread: value } = "output" in said ? said : {};
  const isKept = f.definition.kind.hears === "given" && value !== undefined;
  const unread = isKept ? undefined : value;
  const event =
    "output" in said ? doneFor(f, actor, isKept ? value.value : said.output) : errorFor(f, actor, said.error);
  f.queue.push({ event, waits: { actor, intent: id }, ...(unread === undefined ? {} : { unread }) });
}

/** Refuses what an actor asked for: closed from the start, recorded, and told to it. */
export function refuseActor(f: Folding, actor: string, name: string, code: ErrorCode, reason: string): void {
  const id = newId(f);
  f.intents.push({ kind: "denied", id, name, code, reason });
  f.state.actors = withKey(f.state.actors, actor, id);
  tellActor(f, actor, id, { error: actorError("denied", code, reason) });
}

/** Calls, whose ids hold a dot, are told by one event; other actors as XState names them. */
export const isCall = ({ definition }: Folding, actor: string): boolean =>
  definition.kind.calls !== "none" && actor.includes(".");

export const doneFor = (f: Folding, actor: string, output: unknown): MachineEvent =>
  isCall(f, actor)
    ? { type: "sagamesh.result", call: actor, output, at: f.at }
    : { ...doneEvent(idOf(f, actor), output), at: f.at };

export const errorFor = (f: Folding, actor: string, error: ActorError): MachineEvent =>
  isCall(f, actor)
    ? { type: "sagamesh.result", call: actor, error: plain(error), at: f.at }
    : { ...errorEvent(idOf(f, actor), heardError(f, error)), at: f.at };

/** As a thrown Error says it, for machines that read `name`, `message` and `cause` of `event.error`. */
const heardError = ({ state }: Folding, error: ActorError): unknown => {
  const { name = "Error", cause } = error;
  const heard = { ...plain(error), ...(state.causes === true && cause !== undefined ? { cause } : {}) };
  if (state.follows === undefined) return heard;
  return { name: state.errorNames === true ? name : "Error", message: error.reason, ...heard };
};

/** As a call of a kind of ours hears it. */
const plain = ({ name: _name, cause: _cause, ...error }: ActorError): ActorError => error;

export const toolOf = (f: Folding, name: string): Tool | undefined => f.definition.tools.get(name);

/** The input once: by reference where a model's reply in the ledger holds it, and neither policy nor human changed it. */
export const inputOrCall = ({ input, from, rewritten, editedBy, given }: ProposedCall) => ({
  ...(from === undefined || rewritten !== undefined || editedBy !== undefined || given ? { input } : {}),
  ...(from === undefined ? {} : { call: from }),
  ...(rewritten === undefined ? {} : { rewrittenBy: rewritten.by }),
});

/** The contract under which the definition calls a tool that it has. */
export function contractIn(f: Folding, name: string): string {
  const tool = toolOf(f, name);
  assert(tool !== undefined, `${name} is a tool of the definition; define.ts collects them`);
  return contractDigest(tool);
}

/** What a vote is about: the arguments, and what they are given to. Another contract makes it another call. */
export const callDigest = (callee: Tool | Definition, input: Json): string =>
  digestOf([
    "effect" in callee
      ? contractDigest(callee)
      : [callee.name, jsonSchema(callee.input), jsonSchema(callee.output)],
    argumentsDigest(callee, input),
  ]);

/** What makes two calls of a tool equal: the input as its schema reads it. */
export function argumentsDigest(callee: Pick<Tool, "input">, input: Json): string {
  const read = readWith(callee.input, input);
  return digestOf(read.success ? toJson(read.data) : input);
}

export const isRead = (f: Folding, open: OpenIntent): boolean =>
  open.intent.kind === "tool" && toolOf(f, open.intent.name)?.effect === "read";

/** A tool that tells people of a task: whether it did or not, nothing rests on it and nothing undoes it. */
export const isNotice = (open: OpenIntent): boolean =>
  open.intent.kind === "tool" && servedBy(open) !== undefined;

/** An effect that may happen still, neither what undoes another nor what only reads. */
export const isEffectInFlight = (f: Folding, open: OpenIntent): open is OpenTool | OpenSaga =>
  open.intent.kind === "tool"
    ? open.intent.undoes === undefined && !isRead(f, open) && !isNotice(open)
    : isRunningChild(open);
