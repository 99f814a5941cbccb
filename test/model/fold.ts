/**
 * Fold: what a ledger says: which of its messages are turns, and what the saga is after them.
 *
 * FO1 A message is the next turn only if it decodes, is of this saga, has the next number and names the hash of the
 *     turn before it; and, for who has keys, if its signature holds where the ledger is signed. All else is foreign.
 * FO2 Whether a message is foreign follows from those before it alone, so all who judge alike agree on every prefix.
 */
import { type EventText, type Outcome, readEvent, type ResultEvent } from "./event.ts";
import type { Part } from "./part.ts";
import { type Entry, type Ledger, none } from "./state.ts";
import { type IntentSpec, intentsOf, type World } from "./world.ts";

export interface OpenIntent {
  readonly intent: number;
  readonly attempt: number;
}

/** A saga after some messages of its ledger. */
export interface View {
  readonly started: boolean;
  readonly turns: number;
  /** The place of the last turn. */
  readonly head: number;
  readonly archived: boolean;
  readonly signalled: boolean;
  readonly step: number;
  readonly open: readonly OpenIntent[];
  /** How each intent that was settled ended. */
  readonly outcomes: Readonly<Record<number, Outcome>>;
  /** Nothing is open and no step is left. */
  readonly ended: boolean;
  /** The first event that was taken twice. */
  readonly twice?: string;
  /** The first foreign message that was taken for a turn, where it could be told. */
  readonly mistaken?: string;
}

const attemptsMax = 3;

const unborn: View = {
  ...{ started: false, turns: 0, head: none, archived: false, signalled: false, step: none },
  ...{ open: [], outcomes: {}, ended: false },
};

/** Reads ledgers of one world. */
export interface Folds {
  /** After the first `count` messages, as one with or without keys has read them, who found `from` of them gone. */
  view(saga: number, ledger: Part<Ledger>, read: { from: number; count: number; hasKeys: boolean }): View;
  /** After all that ever were, by one that has the keys: what is so. */
  truth(saga: number, ledger: Part<Ledger>): View;
  /** Whether a message would be the next turn (FO1). */
  chains(saga: number, view: View, entry: Entry, hasKeys: boolean): boolean;
  intents(saga: number): readonly IntentSpec[];
}

/** The folds of a world, each made once. */
export function createFolds(world: World): Folds {
  const { rules, signed } = world;
  const programs = world.sagas.map(intentsOf);
  const known = new Map<string, View>();

  const chains: Folds["chains"] = (saga, view, entry, hasKeys) =>
    entry.what !== "stray" &&
    (entry.saga === saga || !rules.chainsBySaga) &&
    entry.number === view.turns + 1 &&
    (entry.prev === view.head || !rules.chainsByPredecessor) &&
    (!signed || !hasKeys || entry.signed);

  const view: Folds["view"] = (saga, ledger, { from, count, hasKeys }) => {
    const key = `${saga}.${ledger.id}.${from}.${count}.${hasKeys && signed}`;
    const made = known.get(key);
    if (made !== undefined) return made;
    const { entries } = ledger.is;
    let after = unborn;
    for (let place = from; place < count; place++) {
      const entry = entries[place];
      if (entry === undefined) break;
      // Where all before it is gone, a tombstone follows nothing that could be compared.
      const isFirstLeft = place === from && from > 0 && entry.what === "tombstone";
      if (isFirstLeft || chains(saga, after, entry, hasKeys))
        after = take(programs[saga] ?? [], after, entry, place);
    }
    known.set(key, after);
    return after;
  };

  return {
    view,
    truth: (saga, ledger) => view(saga, ledger, { from: 0, count: ledger.is.entries.length, hasKeys: true }),
    chains,
    intents: (saga) => programs[saga] ?? [],
  };
}

function take(program: readonly IntentSpec[], before: View, entry: Entry, place: number): View {
  const isMistaken = entry.what !== "turn" && entry.what !== "tombstone" && entry.what !== "imitation";
  const turned: View = {
    ...{ ...before, turns: entry.number, head: place },
    ...(isMistaken ? { mistaken: before.mistaken ?? entry.what } : {}),
  };
  if (entry.what === "tombstone") return { ...turned, started: true, archived: true, open: [], ended: true };
  return entry.events.reduce((view, event) => fold(program, view, event), turned);
}

/** One event of a turn. */
function fold(program: readonly IntentSpec[], view: View, text: EventText): View {
  const event = readEvent(text);
  const again = event.type !== "adopted" && accept(view, text) !== "new" ? { twice: view.twice ?? text } : {};
  switch (event.type) {
    case "adopted":
      return view;
    case "signal":
      return { ...view, ...again, signalled: true };
    case "start":
      return goOn(program, { ...view, ...again, started: true });
    case "result":
      return { ...settle(program, view, event), ...again };
  }
}

function settle(program: readonly IntentSpec[], view: View, event: ResultEvent): View {
  const { intent, attempt, outcome } = event;
  const isOpen = view.open.some((open) => open.intent === intent);
  const others = view.open.filter((open) => open.intent !== intent);
  if (!isOpen) return { ...view, outcomes: { ...view.outcomes, [intent]: outcome } };
  if (outcome === "not" && attempt < attemptsMax)
    return { ...view, open: [...others, { intent, attempt: attempt + 1 }] };
  const settled = outcome === "not" ? "failed" : outcome;
  return goOn(program, { ...view, open: others, outcomes: { ...view.outcomes, [intent]: settled } });
}

/** To the next step, once nothing is open. */
function goOn(program: readonly IntentSpec[], view: View): View {
  if (view.open.length > 0) return view;
  const step = view.step + 1;
  const open = program.flatMap((spec, intent) => (spec.step === step ? [{ intent, attempt: 1 }] : []));
  return { ...view, step, open, ended: open.length === 0 };
}

/** What an input is to a saga now. `stale`: of a turn that this reader has not seen. */
export function accept(view: View, text: EventText): "new" | "known" | "stale" {
  const event = readEvent(text);
  if (view.archived) return "known";
  if (event.type !== "result") {
    if (event.type === "adopted") return "new";
    return (event.type === "start" ? view.started : view.signalled) ? "known" : "new";
  }
  const open = view.open.find(({ intent }) => intent === event.intent);
  if (open !== undefined) {
    if (open.attempt === event.attempt) return "new";
    return event.attempt > open.attempt ? "stale" : "known";
  }
  const settled = view.outcomes[event.intent];
  if (settled === undefined) return "stale";
  return settled === "doubt" && event.outcome === "ok" ? "new" : "known";
}
