/**
 * View: what a ledger says of itself, and what a fold adds to it.
 *
 * Without its definition a ledger tells every intent, every recorded outcome and the end. What it does not
 * tell is an intent that was closed because nobody waited for it any more: a read, a timer, a task or a model
 * call whose actor stopped leaves no event. So:
 *
 * V1 After the end nothing that was decided before it is open.
 * V2 Before the end an intent without an outcome shows as open unless a later record proves that it is over:
 *    a decision replaced by the next one, a cancellation, a compensation of it, a timer long past its date.
 * V3 With the folded state (`state`), what is open, what stands and what was spent is what the fold says.
 * V4 A success whose output does not fit its tool's contract is shown as what the fold makes of it. Where the
 *    contract is not at hand, the success is what was reported, and `unverified`.
 */
import { canRunAgain, mayHaveHappened, usageOf } from "../../actors/kernel/settle.ts";
import { presentDefinition } from "../../actors/kernel/replay.ts";
import { nothingSpent, spentWith } from "../../actors/kernel/spending.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { Event, EventOf } from "../../protocol/event.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { Intent, IntentKind } from "../../protocol/intent.ts";
import type { Json } from "../../protocol/json.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Outcome, Result } from "../../protocol/result.ts";
import type { Turn } from "../../protocol/turn.ts";
import {
  assertNotArchived,
  emptyHead,
  type LedgerSource,
  readTurns,
  type StoredTurn,
} from "../ledger/reader.ts";
import { budgetOf } from "./view-budget.ts";
import { beginningOf, takeForked } from "./view-fork.ts";
import { effectsOf, effectsOfState } from "./view-effects.ts";
import { supersededBy, takeStandIn, takeVote } from "./view-tasks.ts";
import {
  close,
  type Editable,
  type IntentView,
  type SagaView,
  type ViewedIntent,
  type Viewing,
  type ViewOptions,
} from "./viewing.ts";

export type { IntentView, SagaView, ViewOptions } from "./viewing.ts";

/** Reads a saga's whole ledger. Throws SAGA_UNKNOWN, SAGA_ARCHIVED, or LEDGER_BROKEN with the turn. */
export async function readLedger(ports: LedgerSource, saga: SagaId): Promise<StoredTurn[]> {
  const last = await ports.ledger.last(saga);
  if (last === undefined) throw new MeshError("SAGA_UNKNOWN", `there is no saga ${saga}`);
  await assertNotArchived(ports.blobs, last);
  return readTurns(ports, saga, emptyHead, last.seq);
}

export const readView = async (ports: LedgerSource, saga: SagaId, options?: ViewOptions): Promise<SagaView> =>
  viewOf(
    (await readLedger(ports, saga)).map(({ turn }) => turn),
    options,
  );

/** The view of a ledger, or of its first turns. Throws LEDGER_BROKEN unless it begins with a start. */
export function viewOf(
  turns: readonly Turn[],
  { state, isRead = () => false, contractOf = () => undefined, budgetOf: declaredOf }: ViewOptions = {},
): SagaView {
  const [first] = turns;
  const start = first?.steps[0]?.event;
  if (first === undefined || start?.type !== "start")
    throw new MeshError("LEDGER_BROKEN", "a ledger begins with a start");
  const v: Viewing = {
    intents: new Map(),
    calls: new Map(),
    decisions: new Map(),
    said: new Map(),
    isRead,
    contractOf,
    held: new Set(),
    fork: beginningOf(start.fork),
    spent: nothingSpent,
    prices: start.prices ?? {},
    end: undefined,
  };
  for (const turn of turns)
    for (const step of turn.steps) {
      takeEvent(v, step.event, turn.turn);
      takeStandIn(v, step, turn.turn);
      for (const intent of step.intents) takeIntent(v, intent, turn.turn);
    }
  const last = turns.at(-1) ?? first;
  if (state === undefined) closeByEvidence(v, last.at);
  else closeByState(v, state);
  const open = [...v.intents.values()].filter((viewed) => isOpen(viewed));
  const spent = state?.spent ?? v.spent;
  const definition = presentDefinition(turns);
  return {
    saga: first.saga,
    definition,
    ...migrationsOf(turns),
    // A fork of a child is nobody's child.
    parent: start.fork === undefined ? start.parent : undefined,
    ...(v.fork === undefined ? {} : { fork: v.fork }),
    input: start.input,
    status: v.end?.intent.status ?? "running",
    phase: state?.phase.kind ?? phaseOf(v, open),
    end: v.end?.intent,
    turns: turns.length,
    startedAt: first.at,
    updatedAt: last.at,
    intents: [...v.intents.values()],
    open,
    effects: state === undefined ? effectsOf(v) : effectsOfState(state),
    spent,
    ...budgetOf(turns, spent, { state, declared: declaredOf?.(definition) }),
    ...(start.tree === undefined || start.fork !== undefined
      ? {}
      : { tree: { root: start.tree.root, depth: start.tree.depth } }),
    hosts: [...new Set(turns.map((turn) => turn.host))],
  };
}

const isOpen = ({ intent, outcome }: IntentView): boolean => outcome === undefined && intent.kind !== "end";

function phaseOf(v: Viewing, open: readonly IntentView[]): SagaView["phase"] {
  const undoing = open.some(
    ({ intent }) =>
      (intent.kind === "tool" && intent.undoes !== undefined) ||
      (intent.kind === "task" && intent.about === "stuck"),
  );
  if (undoing) return "undoing";
  return v.end === undefined ? "running" : "ended";
}

function takeEvent(v: Viewing, event: Event, turn: number): void {
  switch (event.type) {
    case "signal":
      if (event.name === "cancel" && v.end === undefined) cancelWhatIsOver(v, turn);
      if (event.name === "budget") answerRaises(v, turn);
      return;
    case "result":
      return takeResult(v, event, turn);
    case "deferred": {
      const viewed = v.intents.get(event.intent);
      if (viewed !== undefined) viewed.deferred = true;
      return;
    }
    case "timer": {
      const viewed = v.intents.get(event.intent);
      if (viewed !== undefined) settleByTimer(v, viewed, turn);
      return;
    }
    case "task":
      return takeVote(v, event, turn);
    case "forked":
      return takeForked(v, event, turn);
    case "migrated":
      return closeAskedAnew(v, turn);
    case "start":
    case "adopted":
      return;
  }
}

/** Every move of the saga to another definition. */
function migrationsOf(turns: readonly Turn[]): Pick<SagaView, "migrations"> {
  const migrations = turns.flatMap(({ turn, at, steps }) =>
    steps.flatMap(({ event }) =>
      event.type === "migrated" ? [{ turn, at, from: event.from, to: event.to, by: event.by }] : [],
    ),
  );
  return migrations.length === 0 ? {} : { migrations };
}

/** Under another definition every open call of a model is asked anew. */
function closeAskedAnew(v: Viewing, turn: number): void {
  for (const viewed of v.intents.values())
    if (viewed.intent.kind === "model" && viewed.outcome === undefined) {
      close(viewed, "superseded", turn, "the saga was moved to another definition");
      v.decisions.delete(viewed.intent.id); // The one that is asked anew has its number.
    }
}

/** The signal answers whoever was asked for more. */
function answerRaises(v: Viewing, turn: number): void {
  for (const viewed of v.intents.values())
    if (viewed.intent.kind === "task" && viewed.intent.about === "budget" && viewed.outcome === undefined)
      close(viewed, "succeeded", turn, "the signal budget came");
}

/** What a cancellation ends at once; an effect in flight ends by its own result. */
function cancelWhatIsOver(v: Viewing, turn: number): void {
  for (const viewed of v.intents.values()) {
    const { intent } = viewed;
    const over =
      intent.kind === "model" ||
      intent.kind === "timer" ||
      (intent.kind === "task" && intent.about !== "stuck") ||
      (intent.kind === "tool" && intent.undoes === undefined && v.isRead(intent.name)) ||
      (intent.kind === "tool" && intent.for !== undefined);
    if (over && viewed.outcome === undefined) close(viewed, "cancelled", turn, "the saga was cancelled");
  }
}

function takeResult(v: Viewing, { intent: id, by, result }: EventOf<"result">, turn: number): void {
  const viewed = v.intents.get(id);
  if (viewed === undefined) return;
  const usage = viewed.intent.kind === "model" ? usageOf(result) : undefined;
  if (usage !== undefined && "name" in viewed.intent)
    v.spent = spentWith(v.spent, usage, v.prices[viewed.intent.name]);
  if (viewed.intent.kind === "model" && viewed.outcome !== undefined) return; // Only its cost came in late.
  const misfit = misfitOf(v, viewed.intent, result);
  if (misfit !== undefined && viewed.outcome !== undefined) return; // It corrects nothing.
  const judged = outcomeOf(v, viewed.intent, result, misfit);
  const succeeded = judged === "succeeded" && result.outcome === "succeeded";
  closeTasksAbout(v, viewed.intent, judged, turn);
  Object.assign(viewed, {
    outcome: judged,
    unverified: succeeded && viewed.intent.kind === "tool" && v.contractOf(viewed.intent.name) === undefined,
    settledTurn: turn,
    by,
    output: succeeded ? result.output : undefined,
    reason: result.outcome === "succeeded" ? misfit : result.reason,
  });
  if (judged === "failed" && (misfit !== undefined || mayHaveHappened(result))) v.held.add(id);
  else v.held.delete(id);
  if (viewed.intent.kind === "model" && succeeded) rememberCalls(v, id, result.output);
}

/** V4 */
function misfitOf(v: Viewing, intent: ViewedIntent, result: Result): string | undefined {
  if (intent.kind !== "tool" || result.outcome !== "succeeded") return undefined;
  return v.contractOf(intent.name)?.misfitOf(result.output);
}

/** What the fold makes of a result: see `settle` in actors/kernel/settle.ts. */
function outcomeOf(
  v: Viewing,
  intent: ViewedIntent,
  { outcome }: Result,
  misfit: string | undefined,
): Outcome {
  const effect = intent.kind === "tool" ? v.contractOf(intent.name)?.effect : undefined;
  if (misfit !== undefined) return effect === "once" ? "in_doubt" : "failed";
  return outcome === "in_doubt" && canRunAgain(effect) ? "failed" : outcome;
}

/** Call ids are `<decision>.<position>`, the decision counted over all that were asked for. */
function rememberCalls(v: Viewing, id: IntentId, output: Json): void {
  const step = v.decisions.get(id);
  const reply = ModelReply.safeParse(output);
  if (step === undefined || !reply.success) return;
  for (const [k, call] of reply.data.calls.entries()) v.calls.set(`${step}.${k}`, call.input);
}

/** A late result spares the human who was asked: about a doubt, or about an undoing that got stuck. */
function closeTasksAbout(v: Viewing, { id, ...intent }: ViewedIntent, outcome: Outcome, turn: number): void {
  const undone = intent.kind === "tool" && outcome === "succeeded" ? intent.undoes : undefined;
  const isDefinite = outcome === "succeeded" || outcome === "failed";
  for (const viewed of v.intents.values()) {
    if (viewed.intent.kind !== "task" || viewed.outcome !== undefined) continue;
    const { about, of } = viewed.intent;
    if (about === "doubt" && of === id && isDefinite)
      close(viewed, "cancelled", turn, "the doubt was settled");
    if (about === "stuck" && of !== undefined && of === undone)
      close(viewed, "cancelled", turn, "it was undone after all");
  }
}

function settleByTimer(v: Viewing, viewed: Editable, turn: number): void {
  if (viewed.outcome !== undefined) return;
  const { intent } = viewed;
  if (intent.kind === "task" && intent.next !== undefined) return; // The one who is next is asked in this very step.
  if (intent.kind !== "task") {
    if (!viewed.deferred) return close(viewed, "succeeded", turn);
    v.held.add(intent.id);
    return close(viewed, "failed", turn, "the outside did not answer in time");
  }
  const holds =
    intent.about === "approval"
      ? intent.otherwise === "approve"
      : intent.about === "question" && intent.otherwise !== undefined;
  if (holds) close(viewed, "succeeded", turn, "nobody spoke in time; the default holds");
  else
    close(
      viewed,
      intent.about === "approval" || intent.about === "stuck" ? "denied" : "failed",
      turn,
      "nobody spoke in time",
    );
}

function takeIntent(v: Viewing, intent: Intent, turn: number): void {
  if (intent.kind === "retry") {
    const viewed = v.intents.get(intent.id);
    const { attempt } = intent;
    v.held.delete(intent.id);
    if (viewed !== undefined)
      Object.assign(viewed, {
        attempt,
        deferred: false,
        outcome: undefined,
        reason: undefined,
        settledTurn: undefined,
        by: undefined,
      });
    return;
  }
  if (intent.kind === "end") v.end = { intent, turn };
  if (intent.kind === "model") {
    v.spent = { ...v.spent, steps: v.spent.steps + 1 };
    if (intent.input === undefined) {
      supersede(v, turn);
      v.decisions.set(intent.id, v.decisions.size + 1);
    }
  }
  if (intent.kind === "tool" && intent.undoes === undefined && intent.for === undefined)
    v.spent = { ...v.spent, toolCalls: v.spent.toolCalls + 1 };
  if (intent.kind === "saga" && intent.undoes === undefined)
    v.spent = { ...v.spent, children: v.spent.children + 1 };
  if (intent.kind === "tool" && intent.undoes !== undefined) releaseUndone(v, intent.undoes, turn);
  if (intent.kind === "task" && intent.after !== undefined) {
    const before = v.intents.get(intent.after.task);
    if (before !== undefined) close(before, "superseded", turn, supersededBy(intent));
  }
  const call = "call" in intent ? intent.call : undefined;
  const input = "input" in intent ? intent.input : undefined;
  const denied = intent.kind === "denied";
  v.intents.set(intent.id, {
    intent,
    input: input === undefined && call !== undefined ? v.calls.get(call) : input,
    turn,
    attempt: 1,
    deferred: false,
    outcome: denied ? "denied" : intent.kind === "pause" ? "succeeded" : undefined,
    unverified: false,
    output: undefined,
    reason: denied ? intent.reason : undefined,
    settledTurn: denied ? turn : undefined,
    by: undefined,
  });
}

/** An agent has one decision at a time: the next one replaces what is still in flight. */
function supersede(v: Viewing, turn: number): void {
  for (const id of v.decisions.keys()) {
    const viewed = v.intents.get(id);
    if (viewed?.outcome === undefined && viewed !== undefined) close(viewed, "superseded", turn);
  }
}

/** A deferred call that is compensated before its answer came counts as in doubt. */
function releaseUndone(v: Viewing, undone: IntentId, turn: number): void {
  const viewed = v.intents.get(undone);
  if (viewed?.outcome === undefined && viewed !== undefined)
    close(viewed, "in_doubt", turn, "it was undone before the outside answered");
}

/** A timer that was due this long before the last turn and did not fire was disarmed. */
const timerLateMs = 60_000;

/** V1, V2. */
function closeByEvidence(v: Viewing, updatedAt: number): void {
  for (const viewed of v.intents.values()) {
    if (!isOpen(viewed)) continue;
    const { intent } = viewed;
    const served =
      intent.kind === "timer" && intent.for !== undefined ? v.intents.get(intent.for) : undefined;
    if (served?.outcome !== undefined)
      close(viewed, "cancelled", served.settledTurn ?? viewed.turn, "its task was over");
    else if (v.end !== undefined && viewed.turn <= v.end.turn)
      close(viewed, silentOutcome(intent.kind), v.end.turn, "the saga ended");
    else if (intent.kind === "timer" && intent.dueAt + timerLateMs < updatedAt)
      close(viewed, "cancelled", viewed.turn, "nobody waited for it");
  }
}

/** V3. */
function closeByState(v: Viewing, state: SagaState): void {
  for (const viewed of v.intents.values()) {
    const open = state.open[viewed.intent.id];
    if (open !== undefined)
      Object.assign(viewed, { outcome: undefined, attempt: open.attempt, input: viewed.input ?? open.input });
    else if (isOpen(viewed))
      close(viewed, silentOutcome(viewed.intent.kind), state.turn, "nobody waited for it");
    const doubt = state.doubts[viewed.intent.id];
    if (doubt?.outcome === "in_doubt" && viewed.outcome === "cancelled") viewed.outcome = "in_doubt";
    // What succeeded as its tool's schema reads it leaves no doubt.
    if (doubt !== undefined && viewed.outcome === "succeeded")
      Object.assign(viewed, { outcome: doubt.outcome, output: undefined });
    viewed.unverified = false;
  }
}

/** A publish that the end outlived did happen; everything else that ends in silence was called off. */
const silentOutcome = (kind: IntentKind): "succeeded" | "cancelled" =>
  kind === "signal" ? "succeeded" : "cancelled";
