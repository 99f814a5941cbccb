/**
 * Bare: a saga's state without its machine, put together from what its ledger says, for the end of a saga whose machine
 * kills the process that folds it. From a `cancel` that leaves the machine out (cancel.ts) the runtime decides alone, so this
 * is all that it needs.
 *
 * BB1 What such a `cancel` decides of this state, and all that is decided after it, is what it decides of the folded one.
 *     What only the machine would ask for is not in it: who waits for what, kept signals, policies, memory, the budget.
 * BB2 Nothing of the machine runs. Schemas, and the functions that make a compensation's input, do: what is to be undone is
 *     made by them. A workflow's nodes name their compensations, so its graph is the one it began with.
 */
import type { DefinitionRef, EventOf, ParentRef } from "../../protocol/event.ts";
import type { Spending } from "../../protocol/budget.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { Result } from "../../protocol/result.ts";
import { digestOf } from "../../protocol/digest.ts";
import type { Definition } from "../contract/definition.ts";
import type { OpenIntent, SagaState, Spent, StandingEffect } from "../contract/state.ts";
import { inOneTurn, withKey } from "../values/draft.ts";
import { readWith } from "../values/schema.ts";
import { blank } from "./blank.ts";
import { addEffect, changeEffect, recordDoubt, recordEffect, settleEffects } from "./effects.ts";
import { type Draft, type Folding, folding } from "./folding.ts";
import { nothingDecided } from "./keys.ts";
import { checked } from "./read-result.ts";
import { remember, tidySeen } from "./seen.ts";
import { standingChild } from "./undo-child.ts";

/** An effect that stands, as its ledger tells of it. */
export interface BareEffect {
  readonly open: OpenIntent;
  /** The success that made it; undefined of one in doubt. */
  readonly result: Extract<Result, { outcome: "succeeded" }> | undefined;
  /** The turn from which it stood. */
  readonly since: number;
  /** The open intent that undoes it, or that this failed. */
  readonly undoing: IntentId | "stuck" | undefined;
}

/** A call that is over, of which a late result may still say how it ended. */
export interface BareDoubt {
  readonly open: OpenIntent;
  readonly outcome: "in_doubt" | "cancelled" | "failed";
  readonly received: Result | undefined;
  readonly undone: boolean;
}

/** What a ledger says of its saga. */
export interface BareRecord {
  readonly saga: SagaId;
  readonly turn: number;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly definition: DefinitionRef;
  readonly start: EventOf<"start">;
  readonly parent: ParentRef | undefined;
  readonly fork: SagaState["fork"];
  /** In the order in which they were decided. */
  readonly open: readonly OpenIntent[];
  /** In the order in which they began to stand. */
  readonly standing: readonly BareEffect[];
  readonly doubts: readonly BareDoubt[];
  /** Signals and votes, with the time of their turn. */
  readonly inputs: readonly { readonly event: EventOf<"signal" | "task">; readonly at: number }[];
  /** What children could not undo. */
  readonly leftBelow: readonly string[];
  readonly spent: Spent;
  readonly below: Spending | undefined;
}

/** BB1. */
export const bareState = (definition: Definition, record: BareRecord): SagaState =>
  inOneTurn(() => putTogether(definition, record));

function putTogether(definition: Definition, record: BareRecord): SagaState {
  const draft: Draft = {
    ...blank(record.saga, definition),
    ...{ turn: record.turn, startedAt: record.startedAt, updatedAt: record.updatedAt },
    ...{ definition: record.definition, parent: record.parent, inputDigest: digestOf(record.start.input) },
    open: Object.fromEntries(record.open.map((open) => [open.intent.id, open])),
    spent: record.spent,
    snapshot: graphOf(definition, record),
    ...nothingDecided(record.start),
    ...(record.below === undefined ? {} : { below: record.below }),
    ...(record.fork === undefined ? {} : { fork: record.fork }),
    ...(record.leftBelow.length === 0 ? {} : { leftBelow: [...new Set(record.leftBelow)] }),
  };
  const f = folding(definition, draft, record.updatedAt);
  for (const effect of record.standing) stand(f, effect);
  draft.turn = record.turn;
  for (const doubt of record.doubts) hold(f, doubt);
  for (const { event, at } of record.inputs) {
    const sentAt = event.type === "signal" ? Math.max(event.sentAt, at) : at;
    draft.seen = remember(draft.seen, event, sentAt + limits.signalHorizonMs + limits.clockSkewMs);
  }
  settleEffects(f);
  return { ...draft, ...tidySeen(draft, record.updatedAt) };
}

/** BB2: only a kind whose machine says what undoes a call has need of it. */
function graphOf(definition: Definition, { start, startedAt }: BareRecord): SagaState["snapshot"] {
  const { kind, machine } = definition;
  const read = readWith(definition.input, start.input);
  if (kind.undoOf === undefined || !read.success) return undefined as never; // Nothing reads it: the machine is over.
  return machine.initial(kind.machineInput(start.input, read.data, startedAt, undefined)).snapshot;
}

function stand(f: Folding, { open, result, since, undoing }: BareEffect): void {
  const { id } = open.intent;
  f.state.turn = since; // The turn in which it was settled stands in it.
  if (open.intent.kind === "saga") {
    const child = result && standingChild(f, open, result);
    if (child !== undefined) addEffect(f, child);
  } else if (result === undefined) recordEffect(f, id, open, "in_doubt", undefined);
  else recordEffect(f, id, open, "succeeded", checked(f, open, result).output);
  const change: Partial<StandingEffect> =
    undoing === "stuck" ? { stuck: true } : undoing === undefined ? {} : { undoing };
  if (undoing !== undefined) changeEffect(f, id, change);
}

function hold(f: Folding, { open, outcome, received, undone }: BareDoubt): void {
  const { id } = open.intent;
  recordDoubt(f, id, open, outcome, received);
  const doubt = f.state.doubts[id];
  if (doubt !== undefined && undone) f.state.doubts = withKey(f.state.doubts, id, { ...doubt, undone: true });
}

/** A cancellation that leaves the machine out: from here on the runtime decides alone. */
export const leavesMachineOut = ({ event }: { readonly event: { readonly type: string } }): boolean =>
  event.type === "signal" && (event as EventOf<"signal">).withoutMachine === true;

/** The input of an intent that is open or was settled, which stands where its call does. */
export const openAs = (intent: OpenIntent["intent"], input: Json | undefined, attempt: number): OpenIntent =>
  ({ intent, input: input ?? null, attempt }) as OpenIntent; // Proof: each kind's own members are optional but a task's.
