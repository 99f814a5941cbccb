/**
 * Why: the story of a saga in plain sentences, from its ledger alone.
 *
 * WY1 No sentence says more than the ledger proves. What it does not say, why a host fell silent above all, is told as
 *     what is not known.
 * WY2 Every event and every intent is told by a sentence, or is named with the reason in why-silent.ts.
 * WY3 With the definition (`app`) outcomes are the fold's, and what a decision was told is its very message; without
 *     it, what had come in.
 * WY4 A ledger is read once, and told on a guess of what its end alone tells: that no child stands in line then, that the saga was not
 *     moved, that nothing open was given what only the definition knows. Where that was wrong it is read and told once more. For the
 *     story of one intent it is read twice: to find what that rests on, and to choose. No turn is kept.
 */
import type { SagaState } from "../../../actors/contract/state.ts";
import { definitionOf } from "../../../actors/kernel/replay.ts";
import { MeshError } from "../../../protocol/errors.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { WhyDocument, WhySentence } from "../../../protocol/documents/why.ts";
import type { App } from "../../app/app.ts";
import type { Account } from "../../ledger/account.ts";
import { createAccountReader } from "../../ledger/account-reader.ts";
import { readFolded } from "../folded.ts";
import { findingSegments } from "../segments.ts";
import type { ReadUpTo, TurnTaker } from "../up-to.ts";
import { placesInLine } from "../view.ts";
import { choosing, lookingFor } from "./focus.ts";
import { createStoryteller, type Outlook, type Storyteller } from "./storyteller.ts";
import { sumOfIntent } from "./sum-of-intent.ts";
import type { Told } from "./telling.ts";

/** What a story is of. */
export type WhyHead = Omit<WhyDocument, "sentences" | "sum" | "intent">;

/** So many of what is over are known whole, beyond what any turn closes. */
const remembered = 4_000;

/** Takes a story as it is told. */
export interface Listener {
  /** Sentences of a turn. */
  say(sentences: readonly WhySentence[]): void;
}

/** A story that was told to the end. */
export interface ToldStory<L> {
  readonly head: WhyHead;
  /** The one that heard all of it. */
  readonly listener: L;
  readonly sum: WhySentence[];
}

/**
 * Tells the story of a ledger that is read some turns at a time, to a listener that is begun anew where it is told anew (WY4).
 * `remembers`: so many of what is over are known whole. Throws LEDGER_BROKEN unless it begins with a start, with `app` VERSION_UNSERVED
 * and FOLD_DIVERGED, and as `read`.
 */
export async function tellWhy<L extends Listener>(
  read: ReadUpTo,
  app: App | undefined,
  begin: () => L,
  remembers = remembered,
): Promise<ToldStory<L>> {
  const guess = () => tellingOnGuess(app, begin(), remembers);
  const folded = app === undefined ? undefined : await readFolded(app, read, guess);
  const { taker, last } = folded ?? (await read(guess));
  const told =
    taker.isRight(folded?.state) && taker.teller !== undefined
      ? { listener: taker.listener, teller: taker.teller }
      : (await read(() => tellingBy(taker.outlook(folded?.state), app, begin(), remembers), last?.turn))
          .taker;
  const { teller, listener } = told;
  return { head: headOf(teller.account, app), listener, sum: teller.sum().map(sentenceOf) };
}

/** The story of one intent. Throws INTENT_UNKNOWN, and as `tellWhy`. */
export async function whyIntent(
  read: ReadUpTo,
  app: App | undefined,
  intent: IntentId,
  remembers = remembered,
): Promise<WhyDocument> {
  const begin = () => lookingAhead(intent, remembers);
  const folded = app === undefined ? undefined : await readFolded(app, read, begin);
  const { taker, last } = folded ?? (await read(begin));
  const { saga } = taker.account();
  const found = taker.found();
  if (found === undefined) throw new MeshError("INTENT_UNKNOWN", `${saga} has no intent ${intent}`);
  const outlook = taker.outlook(folded?.state);
  const { taker: told } = await read(() => {
    const teller = createStoryteller(outlook, app, remembers);
    const chosen = choosing(found);
    const sentences: WhySentence[] = [];
    const take = (turn: Turn) => {
      const story = teller.take(turn);
      for (const one of chosen.of(turn, story, teller.account)) sentences.push(sentenceOf(one));
    };
    return { teller, sentences, take };
  }, last?.turn);
  const sum = sumOfIntent(told.teller.telling, found).map(sentenceOf);
  return { ...headOf(taker.account(), app), intent, sentences: told.sentences, sum };
}

const sentenceOf = ({ tells: _tells, ...sentence }: Told): WhySentence => sentence;

function headOf(
  { saga, definition, end, turns, startedAt, updatedAt }: Account,
  app: App | undefined,
): WhyHead {
  const status = end?.intent.status ?? "running";
  return { saga, definition, status, turns, startedAt, updatedAt, folded: app !== undefined };
}

interface Telling<L> extends TurnTaker {
  readonly listener: L;
  /** Undefined before the first turn. */
  readonly teller: Storyteller | undefined;
}

function tellingBy<L extends Listener>(
  outlook: Outlook,
  app: App | undefined,
  listener: L,
  remembers: number,
) {
  const teller = createStoryteller(outlook, app, remembers);
  const take = (turn: Turn) => listener.say(teller.take(turn).map(sentenceOf));
  return { listener, teller, take };
}

interface Guessing<L> extends Telling<L> {
  /** Whether the story is what it is with all that its end tells. */
  isRight(state: SagaState | undefined): boolean;
  outlook(state: SagaState | undefined): Outlook;
}

/** WY4. Where the guess shows to be wrong, turns are still counted and not told. */
function tellingOnGuess<L extends Listener>(
  app: App | undefined,
  listener: L,
  remembers: number,
): Guessing<L> {
  const finder = findingSegments();
  let teller: Storyteller | undefined;
  let isWrong = false;
  const tell = (one: Storyteller, turn: Turn) => {
    try {
      listener.say(one.take(turn).map(sentenceOf));
    } catch (error) {
      if (app === undefined) throw error;
      isWrong = true; // Told anew, it throws what is to be thrown, after what is wrong with the ledger and its fold.
    }
  };
  return {
    listener,
    get teller() {
      return teller;
    },
    take: (turn) => {
      finder.take(turn);
      teller ??= createStoryteller(guessAt(turn), app, remembers);
      isWrong ||= app !== undefined && turn.steps.some(({ event }) => event.type === "migrated");
      if (isWrong) teller.pass(turn);
      else tell(teller, turn);
    },
    isRight: (state) => {
      if (isWrong || teller === undefined) return false;
      const { account } = teller;
      return placesInLine(account).size === 0 && (state === undefined || !isGivenBy(state, account));
    },
    outlook: (state) => outlookOf(teller?.account, finder, state),
  };
}

const guessAt = (first: Turn): Outlook => ({
  inLine: new Map(),
  segments: [{ definition: definitionOf(first), from: first.turn, to: Number.POSITIVE_INFINITY }],
  state: undefined,
});

/** Whether something that is open was given what its ledger does not say. */
function isGivenBy(state: SagaState, { open }: Account): boolean {
  return [...open].some(([id, { intent, input }]) => {
    const isShown = intent.kind === "tool" || intent.kind === "saga" || intent.kind === "task";
    return isShown && input === undefined && state.open[id]?.input !== undefined;
  });
}

const outlookOf = (
  account: Account | undefined,
  finder: ReturnType<typeof findingSegments>,
  state: SagaState | undefined,
): Outlook => ({
  inLine: account === undefined ? new Map() : placesInLine(account),
  ...{ segments: finder.segments(), state },
});

/** How a ledger ends, for the story of one intent, and what that rests on. */
function lookingAhead(intent: IntentId, remembers: number) {
  const reader = createAccountReader(remembers);
  const finder = findingSegments();
  const looking = lookingFor(intent);
  return {
    take: (turn: Turn) => {
      const changes = reader.take(turn);
      finder.take(turn);
      looking.took(reader.account, turn, changes);
    },
    account: () => reader.account,
    found: () => looking.found(reader.account),
    outlook: (state: SagaState | undefined) => outlookOf(reader.account, finder, state),
  };
}
