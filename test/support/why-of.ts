/**
 * Why, of turns at hand: the story of a ledger, or of one intent of it, where all of it can be looked at back and forth; and what no
 * sentence tells. The reference of what is told as a ledger is read.
 */
import { minOf } from "../../protocol/extremes.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { WhyDocument, WhySentence } from "../../protocol/documents/why.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../../services/app/app.ts";
import type { Account } from "../../services/ledger/account.ts";
import { intentOfEvent } from "../../services/ledger/account-decisions.ts";
import { createAccountReader, stepsOf } from "../../services/ledger/account-reader.ts";
import { viewingByFold } from "../../services/views/folded.ts";
import { indexOf, type LedgerIndex } from "../../services/views/ledger-index.ts";
import { segmentsOf } from "../../services/views/segments.ts";
import { type IntentView, placesInLine, viewOfAccount } from "../../services/views/view.ts";
import { isSilent } from "../../services/views/why/silent.ts";
import { createStoryteller, type Storyteller } from "../../services/views/why/storyteller.ts";
import { sumOfIntent } from "../../services/views/why/sum-of-intent.ts";
import { begunRef, eventRef, intentRef, retryRef, type Told } from "../../services/views/why/telling.ts";

export interface WhyOptions {
  /** Tell the story of this intent. */
  readonly intent?: IntentId | undefined;
  readonly app?: App | undefined;
}

/** In pieces. Throws LEDGER_BROKEN, INTENT_UNKNOWN, and with `app` VERSION_UNSERVED and FOLD_DIVERGED. */
export function* whyOf(
  turns: readonly Turn[],
  { intent, app }: WhyOptions = {},
): Generator<undefined, WhyDocument> {
  const reader = createAccountReader();
  for (const turn of turns) {
    reader.take(turn);
    yield;
  }
  const state = app === undefined ? undefined : (yield* viewingByFold(app, turns)).state;
  const outlook = { inLine: placesInLine(reader.account), segments: segmentsOf(turns), state };
  const teller = createStoryteller(outlook, app);
  const story: Told[] = [];
  for (const turn of turns) {
    for (const told of teller.take(turn)) story.push(told);
    yield;
  }
  const { saga, definition, end, turns: count, startedAt, updatedAt } = reader.account;
  const status: WhyDocument["status"] = end?.intent.status ?? "running";
  const head = { saga, definition, status, turns: count, startedAt, updatedAt, folded: app !== undefined };
  if (intent === undefined)
    return { ...head, sentences: story.map(sentenceOf), sum: teller.sum().map(sentenceOf) };
  const whole = wholeOf(teller, turns);
  const view = whole.views.get(intent);
  if (view === undefined) throw new MeshError("INTENT_UNKNOWN", `${saga} has no intent ${intent}`);
  const about = {
    view,
    settledAt: turns.find(({ turn }) => turn === view.settledTurn)?.at,
    undoneBy: whole.index.undone.get(intent),
    effect: whole.effects.get(intent),
    last: turns.at(-1)!,
    grounds: undefined as never,
  };
  return {
    ...{ ...head, intent },
    sentences: focused(whole, intent, story, turns.length).map(sentenceOf),
    sum: sumOfIntent(teller.telling, about).map(sentenceOf),
  };
}

const sentenceOf = ({ tells: _tells, ...sentence }: Told): WhySentence => sentence;

function wholeOf({ account }: Storyteller, turns: readonly Turn[]): Whole {
  const { intents } = viewOfAccount(account);
  const views = new Map(intents.map((one) => [one.intent.id, one]));
  return { index: indexOf(turns, account), views, effects: account.effects };
}

/** What of a ledger no sentence tells and nothing declares silent: nothing, or the story is wrong. */
export function* untoldOf(turns: readonly Turn[]): Generator<undefined, string[]> {
  const reader = createAccountReader();
  for (const turn of turns) reader.take(turn);
  const outlook = { inLine: placesInLine(reader.account), segments: segmentsOf(turns), state: undefined };
  const teller = createStoryteller(outlook, undefined);
  const told = new Set<string>();
  for (const turn of turns) {
    for (const { tells } of teller.take(turn)) for (const ref of tells) told.add(ref);
    yield;
  }
  return turns
    .flatMap(stepsOf)
    .flatMap((at) =>
      [
        ...(isSilent(teller.telling, at.event) ? [] : [eventRef(at)]),
        ...at.intents.map((intent) =>
          intent.kind === "retry" ? retryRef(intent.id, intent.attempt) : intentRef(intent.id),
        ),
        ...(at.begun ?? []).map(({ intent }) => begunRef(intent)),
      ].filter((ref) => !told.has(ref)),
    );
}

/** A ledger that is held whole, for an intent is related to others before and after it. */
interface Whole extends Pick<Account, "effects"> {
  readonly index: LedgerIndex;
  readonly views: ReadonlyMap<IntentId, IntentView>;
}

/** These of the story's sentences; the ledger has so many turns. */
function focused(t: Whole, id: IntentId, story: readonly Told[], turns: number): Told[] {
  const about = relatedTo(t, id);
  const refs = new Set([...about].flatMap((one) => refsOf(t, one)));
  for (const ref of [...causes(t, id), ...consequences(t, id)]) refs.add(ref);
  const begun = minOf([...about].map((one) => t.index.places.get(one)?.turn ?? turns));
  const end = t.views.get(id)?.settledTurn ?? turns;
  const isMeanwhile = ({ about: topic, turn }: Told) => topic === "host" && turn > begun && turn <= end;
  return story.filter((told) => told.tells.some((ref) => refs.has(ref)) || isMeanwhile(told));
}

/** An intent and all that is recorded of it. */
function refsOf({ index }: Whole, id: IntentId): string[] {
  return [
    intentRef(id),
    begunRef(id),
    ...index.steps.flatMap((at) => [
      ...(intentOfEvent(at.event) === id ? [eventRef(at)] : []),
      ...at.intents.flatMap((one) =>
        one.kind === "retry" && one.id === id ? [retryRef(id, one.attempt)] : [],
      ),
    ]),
  ];
}

/** The intent, those of the same call on its way, and those that are about it or undo it. */
function relatedTo({ index, views }: Whole, id: IntentId): Set<IntentId> {
  const own = index.places.get(id);
  const call = own !== undefined && "call" in own.intent ? own.intent.call : undefined;
  const related = new Set<IntentId>([id]);
  for (const { intent } of index.places.values()) {
    if (call !== undefined && "call" in intent && intent.call === call) related.add(intent.id);
    if ("undoes" in intent && intent.undoes === id) related.add(intent.id);
    if (intent.kind === "task" && intent.of === id) related.add(intent.id);
  }
  if (own !== undefined && "undoes" in own.intent && own.intent.undoes !== undefined)
    related.add(own.intent.undoes);
  // A machine's call has no name: it is followed by the votes that let it through.
  for (let at = own; at !== undefined;) {
    const before = intentOfEvent(at.event);
    const task = before === undefined ? undefined : views.get(before)?.intent;
    if (task?.kind !== "task" || related.has(task.id)) break;
    related.add(task.id);
    if (task.after !== undefined) related.add(task.after.task);
    at = index.places.get(task.id);
  }
  return related;
}

/** The decision that proposed it, or the step that it was decided on. */
function causes(t: Whole, id: IntentId): string[] {
  const place = t.index.places.get(id);
  if (place === undefined) return [];
  if (place.proposedBy !== undefined) return refsOf(t, place.proposedBy);
  const news = t.index.news.get(id);
  if (news !== undefined)
    return news.map(({ at, intent }) =>
      intent !== undefined && t.views.get(intent)?.intent.kind === "denied"
        ? intentRef(intent)
        : eventRef(at),
    );
  const source = intentOfEvent(place.event);
  const asked =
    source !== undefined && t.views.get(source)?.intent.kind === "model" ? [intentRef(source)] : [];
  return [...asked, eventRef(place)];
}

/** What was decided from its result: the decision that heard of it first, or what a machine did in the same step. */
function consequences(t: Whole, id: IntentId): string[] {
  const hearer = [...t.index.news].find(([, news]) => news.some(({ intent }) => intent === id))?.[0];
  const isDecision = t.index.news.has(id);
  const proposed = isDecision
    ? [...t.index.places.values()]
        .filter(({ proposedBy }) => proposedBy === id)
        .map(({ intent }) => intent.id)
    : [];
  const next = t.index.steps
    .filter(({ event }) => event.type === "result" && event.intent === id)
    .flatMap(({ intents }) =>
      intents.flatMap((intent) => (intent.kind === "retry" ? [] : [intentRef(intent.id)])),
    );
  return [...(hearer === undefined ? [] : refsOf(t, hearer)), ...proposed.map(intentRef), ...next];
}
