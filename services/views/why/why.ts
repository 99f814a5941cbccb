/**
 * Why: the story of a saga in plain sentences, from its ledger alone.
 *
 * WY1 No sentence says more than the ledger proves. What it does not say, why a host fell silent above all, is told as
 *     what is not known.
 * WY2 Every event and every intent is told by a sentence, or is named with the reason in why-silent.ts.
 * WY3 With the definition (`app`) outcomes are the fold's, and what a decision was told is its very message; without
 *     it, what had come in.
 * WY4 A ledger is read twice: for how it ends, and to be told. No turn is kept but for the story of one intent, which rests on what
 *     was before and after it.
 */
import type { SagaState } from "../../../actors/contract/state.ts";
import { MeshError } from "../../../protocol/errors.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { WhyDocument, WhySentence } from "../../../protocol/documents/why.ts";
import type { App } from "../../app/app.ts";
import { readFolded, viewingByFold } from "../folded.ts";
import { createAccountReader, stepsOf } from "../../ledger/account-reader.ts";
import { indexOf } from "../ledger-index.ts";
import { findingSegments } from "../segments.ts";
import type { ReadUpTo, TurnTaker } from "../up-to.ts";
import { placesInLine, type ViewOptions, viewOfAccount } from "../view.ts";
import { focused, type Whole } from "./focus.ts";
import { isSilent } from "./silent.ts";
import { createStoryteller, type Outlook, type Storyteller } from "./storyteller.ts";
import { sumOfIntent } from "./sum-of-intent.ts";
import { begunRef, eventRef, intentRef, retryRef, type Told } from "./telling.ts";

export interface WhyOptions {
  /** Tell the story of this intent. */
  readonly intent?: IntentId | undefined;
  readonly viewing?: ViewOptions;
  readonly app?: App | undefined;
}

/** What a story is of. */
export type WhyHead = Omit<WhyDocument, "sentences" | "sum" | "intent">;

/**
 * The story of a ledger at hand, or of its first turns, in pieces. Throws LEDGER_BROKEN unless it begins with a start,
 * INTENT_UNKNOWN, and with `app` VERSION_UNSERVED and FOLD_DIVERGED.
 */
export function* whyOf(
  turns: readonly Turn[],
  { intent, viewing = {}, app }: WhyOptions = {},
): Generator<undefined, WhyDocument> {
  const looking = lookingAhead(undefined);
  for (const turn of turns) {
    looking.take(turn);
    yield;
  }
  const state = app === undefined ? undefined : (yield* viewingByFold(app, turns)).state;
  const teller = createStoryteller(looking.outlook(state), app);
  const story: Told[] = [];
  for (const turn of turns) {
    for (const told of teller.take(turn)) story.push(told);
    yield;
  }
  const head = looking.head(app !== undefined);
  if (intent === undefined)
    return { ...head, sentences: story.map(sentenceOf), sum: teller.sum().map(sentenceOf) };
  const whole = wholeOf(teller, turns, { ...viewing, ...(state === undefined ? {} : { state }) });
  if (!whole.views.has(intent)) throw new MeshError("INTENT_UNKNOWN", `${head.saga} has no intent ${intent}`);
  return {
    ...{ ...head, intent },
    sentences: focused(whole, intent, story, turns.length).map(sentenceOf),
    sum: sumOfIntent(teller.telling, whole, intent).map(sentenceOf),
  };
}

/** So many of what is over are known whole, beyond what any turn closes. */
const remembered = 4_000;

/** Takes a story as it is told. */
export interface Listener {
  /** Before the first sentence. */
  begin(head: WhyHead): void;
  /** Sentences of a turn. */
  say(sentences: readonly WhySentence[]): void;
}

/**
 * Tells the story of a ledger that is read some turns at a time, and gives what it comes to (WY4). `remembers`: so many of what is
 * over are known whole. Throws as `whyOf` does and as `read`, all before it begins.
 */
export async function tellWhy(
  read: ReadUpTo,
  app: App | undefined,
  listener: Listener,
  remembers = remembered,
): Promise<WhySentence[]> {
  const begin = () => lookingAhead(remembers);
  const folded = app === undefined ? undefined : await readFolded(app, read, begin);
  const { taker, last } = folded ?? (await read(begin));
  listener.begin(taker.head(app !== undefined));
  const outlook = taker.outlook(folded?.state);
  const { taker: told } = await read(() => {
    const teller = createStoryteller(outlook, app, remembers);
    return {
      take: (turn: Turn) => listener.say(teller.take(turn).map(sentenceOf)),
      sum: () => teller.sum(),
    };
  }, last?.turn);
  return told.sum().map(sentenceOf);
}

const sentenceOf = ({ tells: _tells, ...sentence }: Told): WhySentence => sentence;

interface LookingAhead extends TurnTaker {
  head(folded: boolean): WhyHead;
  outlook(state: SagaState | undefined): Outlook;
}

/** How a ledger ends, for its story. */
function lookingAhead(remembers: number | undefined): LookingAhead {
  const reader = createAccountReader(remembers);
  const finder = findingSegments();
  return {
    take: (turn) => {
      reader.take(turn);
      finder.take(turn);
    },
    head: (folded) => {
      const { saga, definition, end, turns, startedAt, updatedAt } = reader.account;
      const status = end?.intent.status ?? "running";
      return { saga, definition, status, turns, startedAt, updatedAt, folded };
    },
    outlook: (state) => ({ inLine: placesInLine(reader.account), segments: finder.segments(), state }),
  };
}

function wholeOf({ account }: Storyteller, turns: readonly Turn[], options: ViewOptions): Whole {
  const { intents } = viewOfAccount(account, options);
  const views = new Map(intents.map((one) => [one.intent.id, one]));
  return { index: indexOf(turns, account), views, effects: account.effects };
}

/** WY2. What of a ledger no sentence tells and nothing declares silent: nothing, or the story is wrong. */
export function* untoldOf(turns: readonly Turn[]): Generator<undefined, string[]> {
  const looking = lookingAhead(undefined);
  for (const turn of turns) looking.take(turn);
  const teller = createStoryteller(looking.outlook(undefined), undefined);
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
