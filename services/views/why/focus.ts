/**
 * Why, focus: which sentences of a saga's story are the story of one intent.
 *
 * In it: the decision that proposed the intent and what had come in before that; the approvals, refusals and changes on
 * its way; its attempts and results; what undid it, or what it undid; and what was decided from its result.
 */
import { minOf } from "../../../protocol/extremes.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import type { Account } from "../../ledger/account.ts";
import { intentOfEvent } from "../../ledger/account-decisions.ts";
import type { LedgerIndex } from "../ledger-index.ts";
import type { IntentView } from "../view.ts";
import { begunRef, eventRef, intentRef, retryRef, type Told } from "./telling.ts";

/** A ledger that is held whole, for an intent is related to others before and after it. */
export interface Whole extends Pick<Account, "effects"> {
  readonly index: LedgerIndex;
  readonly views: ReadonlyMap<IntentId, IntentView>;
}

/** These of the story's sentences; the ledger has so many turns. */
export function focused(t: Whole, id: IntentId, story: readonly Told[], turns: number): Told[] {
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
