/**
 * Bare state: the state of a saga whose machine is left out, from its ledger alone (actors/kernel/bare.ts), and the fold of a
 * ledger that goes on from there.
 *
 * LF1 A ledger with a cancellation that leaves the machine out folds without the machine: nobody who loads its saga takes what
 *     the machine dies of.
 */
import {
  bareState,
  type BareDoubt,
  type BareEffect,
  leavesMachineOut,
  openAs,
} from "../../actors/kernel/bare.ts";
import { foldingLedger } from "../../actors/kernel/replay.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import type { OpenIntent, SagaState } from "../../actors/contract/state.ts";
import type { EventOf } from "../../protocol/event.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import type { Result } from "../../protocol/result.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { Account, Ended, ToldIntent } from "./account.ts";
import { accounting } from "./account-reader.ts";

/** The state after these turns, without the machine, in pieces. Throws LEDGER_BROKEN for what does not begin with a start. */
export function* bareStateOf(
  definition: Definition,
  turns: readonly Turn[],
): Generator<undefined, SagaState> {
  const account = yield* accounting(turns);
  const { saga, start, fork } = account;
  return bareState(definition, {
    ...{ saga, start, turn: account.turns, startedAt: account.startedAt, updatedAt: account.updatedAt },
    ...{ definition: account.definition, parent: start.parent },
    fork: forkOf(start, fork),
    open: [...account.open.values()].map((told) => openOf(account, told)),
    standing: [...account.effects.keys()].flatMap((id) => standingOf(account, account.intents.get(id))),
    doubts: [...account.intents.values()].flatMap((told) => doubtOf(account, told)),
    inputs: inputsOf(turns),
    leftBelow: leftBelowOf(account),
    ...{ spent: account.spent, below: account.below },
  });
}

/** Folds a ledger, without the machine where a cancellation leaves it out (LF1): then the conversation is not known. */
export function* foldingToEnd(
  definition: Definition,
  turns: readonly Turn[],
): Generator<undefined, { readonly state: SagaState; readonly messages: ModelMessage[] | undefined }> {
  const at = turns.findIndex(({ steps }) => steps.some(leavesMachineOut));
  if (at < 1) return yield* foldingLedger(definition, turns);
  const before = yield* bareStateOf(definition, turns.slice(0, at));
  const { state } = yield* foldingLedger(definition, turns.slice(at), before);
  return { state, messages: undefined };
}

/** Whether the machine was left out already. */
export const isBare = (turns: readonly Turn[]): boolean =>
  turns.some(({ steps }) => steps.some(leavesMachineOut));

function forkOf({ fork: lineage }: EventOf<"start">, fork: Account["fork"]): SagaState["fork"] {
  if (lineage === undefined) return undefined;
  return { lineage, ...(fork?.effects === undefined ? {} : { effects: fork.effects }) };
}

function openOf(account: Account, { intent, input, attempt, deferred, inLine }: ToldIntent): OpenIntent {
  const open = openAs(intent as OpenIntent["intent"], input, attempt);
  if (inLine) return { ...open, inLine };
  if (deferred !== undefined) return { ...open, deferred: true, dueAt: deferred.dueAt };
  if (intent.kind === "task") return { ...open, dueAt: intent.dueAt };
  return intent.kind === "saga" && wasToldToCancel(account, intent.saga) ? { ...open, told: true } : open;
}

/** By this saga, which says so once. */
const wasToldToCancel = ({ intents }: Account, child: string): boolean =>
  [...intents.values()].some(
    ({ intent }) => intent.kind === "signal" && intent.name === "cancel" && intent.saga === child,
  );

function standingOf({ undoing }: Account, told: ToldIntent | undefined): BareEffect[] {
  const stood = told === undefined ? undefined : firstStanding(told);
  if (told === undefined || stood === undefined) return [];
  const { intent, input, attempt, ended } = told;
  const result: Result | undefined =
    ended?.as === "succeeded"
      ? (ownResult(told, ended) ?? { outcome: "succeeded", output: ended.output ?? null })
      : undefined;
  return [
    {
      open: openAs(intent as OpenIntent["intent"], input, attempt),
      result: result?.outcome === "succeeded" ? result : undefined,
      since: stood.turn,
      undoing: undoing.get(intent.id),
    },
  ];
}

/** What stood in doubt keeps its place as it is corrected. */
const firstStanding = ({ before, ended }: ToldIntent): Ended | undefined =>
  before?.as === "in_doubt" || before?.stands === true ? before : ended;

const ownResult = ({ intent }: ToldIntent, { event }: Ended): Result | undefined =>
  event.type === "result" && event.intent === intent.id ? event.result : undefined;

function doubtOf({ undone }: Account, told: ToldIntent): BareDoubt[] {
  const { intent, input, attempt, ended } = told;
  if (intent.kind !== "tool" || intent.for !== undefined || intent.reads === true || ended === undefined)
    return [];
  const received = ownResult(told, ended);
  const outcome = ended.as;
  const isHeld =
    outcome === "in_doubt" ||
    (outcome === "failed" && intent.undoes === undefined) ||
    (outcome === "cancelled" && ended.stands === true);
  if (!isHeld) return [];
  return [{ open: openAs(intent, input, attempt), outcome, received, undone: undone.has(intent.id) }];
}

const inputsOf = (turns: readonly Turn[]) =>
  turns.flatMap(({ at, steps }) =>
    steps.flatMap(({ event }) => (event.type === "signal" || event.type === "task" ? [{ event, at }] : [])),
  );

function leftBelowOf({ intents }: Account): string[] {
  return [...intents.values()].flatMap((told) => {
    if (told.intent.kind !== "saga" || told.ended === undefined) return [];
    const result = ownResult(told, told.ended);
    if (told.intent.undoes === undefined) return result?.outcome === "failed" ? (result.standing ?? []) : [];
    const isUndoing = told.intent.starts !== true;
    return isUndoing && result?.outcome === "succeeded"
      ? ((result.output as { standing?: string[] } | null)?.standing ?? [])
      : [];
  });
}
