/**
 * Why, of a ledger that is held whole: the story and its sum as they are told where all of a ledger is looked at, back and forth.
 * The reference of what `tellWhy` tells as a ledger is read.
 */
import { decideTurn } from "../../actors/kernel/fold.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { MessagePart } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../../services/app/app.ts";
import { accountOf } from "../../services/ledger/account-reader.ts";
import { viewingByFold } from "../../services/views/folded.ts";
import { indexOf, type LedgerIndex } from "../../services/views/ledger-index.ts";
import { requestsOf } from "../../services/views/requests.ts";
import { segmentsOf } from "../../services/views/segments.ts";
import { type SagaView, viewOfAccount } from "../../services/views/view.ts";
import { atOnce } from "../../services/wire/loop.ts";
import { tellHosts, type Run } from "../../services/views/why/hosts.ts";
import { approvedBy, tellBegun, tellIntent } from "../../services/views/why/intents.ts";
import { isSilent } from "../../services/views/why/silent.ts";
import { tellEvent } from "../../services/views/why/storyteller.ts";
import { nameOf, type Telling } from "../../services/views/why/telling.ts";
import { dateOf, lasting, listed } from "../../services/views/why/words.ts";

interface WholeTelling extends Telling {
  readonly view: SagaView;
  readonly index: LedgerIndex;
}

/** The texts of the sentences, and of what they come to but for what it cost. */
export function whyWhole(turns: readonly Turn[], app: App | undefined): { story: string[]; sum: string[] } {
  const t = tellingOf(turns, app);
  const story = t.index.steps.flatMap((at) => [
    ...(at.step === 0 ? changeAt(t, turns, at.turn) : []),
    ...(isSilent(t, at.event) ? [] : [tellEvent(t, at, at.event).text]),
    ...at.intents.map((intent) => tellIntent(t, at, intent).text),
    ...(at.begun ?? []).map((one) => tellBegun(t, at, one).text),
  ]);
  return { story, sum: sumOf(t, turns) };
}

function tellingOf(turns: readonly Turn[], app: App | undefined): WholeTelling {
  const account = accountOf(turns);
  const view = viewOfAccount(account, app === undefined ? {} : atOnce(viewingByFold(app, turns)));
  const index = indexOf(turns, account);
  const start = turns[0]?.steps[0]?.event;
  return {
    ...{ view, index, fork: view.fork, decided: index.places },
    views: new Map(view.intents.map((one) => [one.intent.id, one])),
    prices: start?.type === "start" ? (start.prices ?? {}) : {},
    shown: app === undefined ? new Map() : shownBy(app, turns),
    ...{ approvals: new Map(), settled: new Set(), undoing: new Map(), calledOff: undefined },
  };
}

function shownBy(app: App, turns: readonly Turn[]): Map<IntentId, readonly MessagePart[]> {
  const shown = new Map<IntentId, readonly MessagePart[]>();
  for (const { definition: ref, from, to } of segmentsOf(turns)) {
    const definition = app.definition(ref);
    if (definition === undefined) continue;
    let state: SagaState | undefined;
    const until = turns.filter(({ turn }) => turn <= to);
    const fold = ({ saga, at, steps }: Turn) => {
      const decided = decideTurn(definition, state, { saga, at, events: steps.map(({ event }) => event) });
      state = decided.state;
      return decided;
    };
    for (const { intent, turn, request } of atOnce(requestsOf(definition, until, fold))) {
      const last = request.messages.at(-1);
      if (turn >= from) shown.set(intent.id, last?.role === "user" ? last.parts : []);
    }
  }
  return shown;
}

/** Of a change of hosts what is said of the open, by the whole ledger: what was decided before and settled by it or later. */
function changeAt(t: WholeTelling, turns: readonly Turn[], at: number): string[] {
  const [before, turn] = [turns[at - 2], turns[at - 1]];
  if (turn === undefined || before === undefined || before.host === turn.host) return [];
  if (turn.steps[0]?.event.type === "forked") return [];
  const open = t.view.intents.filter(
    ({ intent, turn: decided, outcome, settledTurn }) =>
      intent.kind !== "end" &&
      decided < at &&
      (settledTurn === undefined ? outcome === undefined : settledTurn >= at),
  );
  const names = open.map(({ intent }) => nameOf(t, intent.id));
  const waiting = names.length === 0 ? "" : ` Still open: ${listed(names)}.`;
  const gap = lasting(turn.at - before.at);
  return [
    `Another host went on: ${turn.host}, ${gap} after the last turn of ${before.host}. The ledger does not say why that one wrote no more.${waiting}`,
  ];
}

function sumOf(t: WholeTelling, turns: readonly Turn[]): string[] {
  const { view, index } = t;
  const last = turns.at(-1)!;
  const names = (ids: readonly IntentId[]) => listed(ids.map((id) => nameOf(t, id)));
  const times = new Map(turns.map(({ turn, at }) => [turn, at]));
  const waited = view.intents
    .filter(({ intent }) => intent.kind !== "end" && intent.kind !== "denied")
    .flatMap(({ intent: { id }, settledTurn }) =>
      settledTurn === undefined ? [] : [{ id, ms: times.get(settledTurn)! - index.places.get(id)!.at }],
    )
    .filter(({ ms }) => ms >= 1_000)
    .sort((a, b) => b.ms - a.ms)
    .slice(0, 3)
    .map(({ id, ms }) => `${nameOf(t, id)} (${lasting(ms)})`);
  const on = waited.length === 0 ? "" : `; the longest waits were for ${listed(waited)}`;
  const { startedAt, updatedAt } = view;
  const open = view.open.map(
    ({ intent: { id } }) => `${nameOf(t, id)}, since ${dateOf(index.places.get(id)!.at)}`,
  );
  const refused = view.intents
    .filter(({ intent, outcome }) => outcome === "denied" && !("for" in intent && intent.for !== undefined))
    .map(({ intent: { id }, reason }) => `${nameOf(t, id)}${reason ? `: ${reason}` : ""}`);
  const approved = [...index.places.values()].flatMap((place) => {
    const task = approvedBy(t, place);
    if (task === undefined) return [];
    const by = t.approvals.get(task);
    const whom = by ? listed([...by]) : "nobody spoke against it in time, or a saga did for people";
    return [`${nameOf(t, place.intent.id)} (${whom})`];
  });
  const runs: Run[] = [];
  for (const { host, turn } of turns) {
    const run = runs.at(-1);
    if (run?.host === host) run.to = turn;
    else runs.push({ host, from: turn, to: turn });
  }
  const often = view.intents
    .filter(({ attempt }) => attempt > 1)
    .map(({ intent, attempt }) => `${nameOf(t, intent.id)} in ${attempt} attempts`);
  const undone = view.intents.flatMap(({ intent: { id } }) => (index.undone.has(id) ? [id] : []));
  const standing = (as: string) =>
    view.effects.flatMap(({ intent, outcome }) => (outcome === as ? [intent] : []));
  const [certain, doubtful] = [standing("succeeded"), standing("in_doubt")];
  const stands = certain.length === 0 ? "No effect is known to stand" : `What stands: ${names(certain)}`;
  const ended = {
    running: "has not ended",
    completed: "completed",
    failed: "failed",
    cancelled: "was cancelled",
  };
  const or = (list: readonly string[], text: string) => (list.length === 0 ? [] : [text]);
  return [
    `It took ${lasting(updatedAt - startedAt)}, from ${dateOf(startedAt)} to ${dateOf(updatedAt)}${on}.`,
    ...or(open, `Open at its last turn: ${listed(open)}.`),
    ...or(refused, `Refused: ${refused.join("; ")}.`),
    ...or(approved, `Approved before it was done: ${listed(approved)}.`),
    tellHosts(runs, last).text,
    ...or(often, `Tried more than once: ${listed(often)}.`),
    ...or(undone, `Undone: ${names(undone)}.`),
    `${stands}${doubtful.length === 0 ? "" : `; in doubt: ${names(doubtful)}`}.`,
    `It ${ended[view.status]}.`,
  ].map((text) => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, " "));
}
