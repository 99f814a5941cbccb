/**
 * Why, storyteller: the story of a ledger as its turns are read, each told when it comes.
 *
 * WN1 What a sentence says follows from its turn and those before it, but for what the end alone tells: which children have got no
 *     place, and with the definition what the input is of that which is open. It is known before (`Outlook`).
 * WN2 Of an intent that is over a few words are kept, by which a later sentence names it: what is held grows by them, and by what
 *     is open, stands or failed.
 */
import { decideTurn } from "../../../actors/kernel/fold.ts";
import type { SagaState } from "../../../actors/contract/state.ts";
import type { Event } from "../../../protocol/event.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import type { MessagePart } from "../../../protocol/model.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { App } from "../../app/app.ts";
import type { Account, AccountReader, DecidedIntent, StepPlace } from "../../ledger/account.ts";
import { createAccountReader, stepsOf } from "../../ledger/account-reader.ts";
import type { Place } from "../ledger-index.ts";
import { createRequestReader } from "../requests.ts";
import type { Segment } from "../segments.ts";
import { tellForked, tellMigrated, tellStart } from "./origin.ts";
import { tellAdopted, tellChange } from "./hosts.ts";
import { tellBegun, tellIntent } from "./intents.ts";
import { tellSignal, tellVote } from "./people.ts";
import { tellDeferred, tellResult, tellTimer } from "./results.ts";
import { isSilent } from "./silent.ts";
import { gathering } from "./sum.ts";
import type { Known, Telling, Told } from "./telling.ts";

/** What the end of a ledger tells before its story is told (WN1). */
export interface Outlook {
  readonly inLine: ReadonlyMap<IntentId, number>;
  readonly segments: readonly Segment[];
  /** What the turns fold to; only with the definition. */
  readonly state: SagaState | undefined;
}

/** Tells a ledger turn by turn. */
export interface Storyteller {
  /** The sentences of the next turn. Throws LEDGER_BROKEN where another turn belongs. */
  take(turn: Turn): Told[];
  /** Takes the next turn and does not tell it; from then on none is told. Throws as `take`. */
  pass(turn: Turn): void;
  /** What it comes to, of what was told. */
  sum(): Told[];
  readonly telling: Telling;
  /** Throws LEDGER_BROKEN before the first turn. */
  readonly account: Account;
}

/** What is kept of an intent (WN2). */
interface Brief {
  readonly intent: DecidedIntent;
  readonly at: Pick<StepPlace, "turn" | "step" | "at">;
}

/** What a story looks up, of the turn that is told and of those before it. */
interface Lookup {
  readonly telling: Telling;
  /** All intents, in the order in which they were decided. */
  readonly briefs: ReadonlyMap<IntentId, Brief>;
  /** The account took this turn; what it decided is given. */
  readonly decide: (turn: Turn) => readonly Place[];
}

function createLookup(reader: AccountReader, { inLine, state }: Outlook, shown: Telling["shown"]): Lookup {
  const briefs = new Map<IntentId, Brief>();
  let fresh = new Map<IntentId, Place>();
  const told = (id: IntentId) => reader.account.intents.get(id);
  const known = (id: IntentId): Known | undefined => {
    const [own, brief] = [told(id), briefs.get(id)];
    if (brief === undefined) return undefined;
    const intent = own?.intent ?? fresh.get(id)?.intent ?? brief.intent;
    return { intent, input: own?.input ?? state?.open[id]?.input, inLine: inLine.get(id) };
  };
  const placeOf = (id: IntentId): Place | undefined => {
    const own = told(id);
    return fresh.get(id) ?? (own && { ...own.place, intent: own.intent, proposedBy: own.proposedBy });
  };
  const telling: Telling = {
    get fork() {
      return reader.account.fork;
    },
    get index() {
      const { numbers, news, superseded } = reader.account;
      return { numbers, news, superseded, places: { get: placeOf } };
    },
    get prices() {
      return reader.account.start.prices ?? {};
    },
    views: { get: known },
    decided: { get: (id) => briefs.get(id)?.at },
    shown,
    ...{ approvals: new Map(), settled: new Set(), undoing: new Map(), calledOff: undefined },
  };
  return {
    ...{ telling, briefs },
    decide: (turn) => {
      fresh = new Map();
      for (const at of stepsOf(turn))
        for (const intent of at.intents) {
          if (intent.kind === "retry") continue;
          const place = { turn: at.turn, step: at.step, at: at.at };
          briefs.set(intent.id, { intent: briefly(intent), at: place });
          fresh.set(intent.id, { ...at, intent, proposedBy: told(intent.id)?.proposedBy });
        }
      return [...fresh.values()];
    },
  };
}

/**
 * Nothing was told yet. `remembers`: so many of the intents that are over are known whole; all unless given. With `app` what a
 * decision was told is its very message.
 */
export function createStoryteller(outlook: Outlook, app: App | undefined, remembers?: number): Storyteller {
  const reader = createAccountReader(remembers);
  let shown: ReadonlyMap<IntentId, readonly MessagePart[]> = new Map();
  let before: Pick<Turn, "turn" | "at" | "host"> | undefined;
  const reads = app === undefined ? [] : outlook.segments.flatMap((one) => showing(app, one) ?? []);
  const { telling, briefs, decide } = createLookup(reader, outlook, { get: (id) => shown.get(id) });
  const gathered = gathering(telling, () => reader.account);
  /** In the order in which it was decided. */
  const openNow = (): IntentId[] =>
    [...reader.account.open].flatMap(([id, { intent }]) => (intent.kind === "end" ? [] : [id]));

  return {
    take: (turn) => {
      const story = before === undefined ? [] : tellChange(telling, turn, before, openNow());
      const changes = reader.take(turn);
      before = { turn: turn.turn, at: turn.at, host: turn.host };
      const places = decide(turn);
      shown = new Map(reads.flatMap((one) => one.take(turn)));
      for (const at of stepsOf(turn)) {
        if (!isSilent(telling, at.event)) story.push(tellEvent(telling, at, at.event));
        for (const intent of at.intents) story.push(tellIntent(telling, at, intent));
        for (const one of at.begun ?? []) story.push(tellBegun(telling, at, one));
      }
      for (const place of places) gathered.decided(place);
      gathered.turned(turn, changes);
      return story;
    },
    pass: (turn) => void reader.take(turn),
    sum: () => gathered.sum(briefs.keys()),
    telling,
    get account() {
      return reader.account;
    },
  };
}

/** What names an intent and says what it is about, without what it was given. */
function briefly(intent: DecidedIntent): DecidedIntent {
  const { kind, id } = intent;
  const kept: Record<string, unknown> = { kind, id };
  const all: Readonly<Record<string, unknown>> = { ...intent };
  for (const name of named) if (all[name] !== undefined) kept[name] = all[name];
  return kept as unknown as DecidedIntent; // A part of it, which is all that a later sentence looks up.
}

const named = [
  "name",
  "about",
  "saga",
  "for",
  "undoes",
  "tool",
  "quorum",
  "next",
  "otherwise",
  "of",
] as const;

/** What the last message of each request held, where the definition that asked it is at hand. */
function showing(app: App, { definition: ref, from, to }: Segment) {
  const definition = app.definition(ref);
  if (definition === undefined) return undefined;
  let state: SagaState | undefined;
  const requests = createRequestReader(definition, ({ saga, at, steps }) => {
    const decided = decideTurn(definition, state, { saga, at, events: steps.map(({ event }) => event) });
    state = decided.state;
    return decided;
  });
  return {
    take: (turn: Turn): [IntentId, readonly MessagePart[]][] => {
      if (turn.turn > to) return [];
      const asked = requests.take(turn);
      if (turn.turn < from) return [];
      return asked.map(({ intent, request }) => {
        const last = request.messages.at(-1);
        return [intent.id, last?.role === "user" ? last.parts : []];
      });
    },
  };
}

/** The sentence of an event. */
export function tellEvent(t: Telling, at: StepPlace, event: Event): Told {
  switch (event.type) {
    case "start":
      return tellStart(t, at, event);
    case "signal":
      return tellSignal(t, at, event);
    case "result":
      return tellResult(t, at, event);
    case "deferred":
      return tellDeferred(t, at, event);
    case "timer":
      return tellTimer(t, at, event);
    case "task":
      return tellVote(t, at, event);
    case "adopted":
      return tellAdopted(at, event);
    case "forked":
      return tellForked(t, at, event);
    case "migrated":
      return tellMigrated(at, event);
  }
}
