/**
 * Why: the story of a saga in plain sentences, from its ledger alone.
 *
 * WY1 No sentence says more than the ledger proves. What it does not say, why a host fell silent above all, is told as
 *     what is not known.
 * WY2 Every event and every intent is told by a sentence, or is named with the reason in why-silent.ts.
 * WY3 With the definition (`app`) outcomes are the fold's, and what a decision was told is its very message; without
 *     it, what had come in.
 */
import { decideTurn } from "../../../actors/kernel/fold.ts";
import type { SagaState } from "../../../actors/contract/state.ts";
import { MeshError } from "../../../protocol/errors.ts";
import type { Event } from "../../../protocol/event.ts";
import type { IntentId } from "../../../protocol/ids.ts";
import type { MessagePart } from "../../../protocol/model.ts";
import type { Turn } from "../../../protocol/turn.ts";
import type { WhyDocument, WhySentence } from "../../../protocol/documents/why.ts";
import type { App } from "../../app/app.ts";
import { viewingByFold } from "../folded.ts";
import { accounting } from "../../ledger/account-reader.ts";
import type { StepPlace } from "../../ledger/account.ts";
import { indexOf } from "../ledger-index.ts";
import { requestsOf } from "../requests.ts";
import { segmentsOf } from "../segments.ts";
import { type ViewOptions, viewOfAccount } from "../view.ts";
import { focused } from "./focus.ts";
import { tellForked, tellMigrated, tellStart } from "./origin.ts";
import { tellAdopted, tellChange } from "./hosts.ts";
import { tellBegun, tellIntent } from "./intents.ts";
import { tellSignal, tellVote } from "./people.ts";
import { tellDeferred, tellResult, tellTimer } from "./results.ts";
import { isSilent } from "./silent.ts";
import { sumOf, sumOfIntent } from "./sum.ts";
import { begunRef, eventRef, intentRef, retryRef, type Telling, type Told } from "./telling.ts";

export interface WhyOptions {
  /** Tell the story of this intent. */
  readonly intent?: IntentId | undefined;
  readonly viewing?: ViewOptions;
  readonly app?: App | undefined;
}

/**
 * The story of a ledger, or of its first turns, in pieces. Throws LEDGER_BROKEN unless it begins with a start, INTENT_UNKNOWN, and
 * with `app` VERSION_UNSERVED and FOLD_DIVERGED.
 */
export function* whyOf(
  turns: readonly Turn[],
  { intent, viewing = {}, app }: WhyOptions = {},
): Generator<undefined, WhyDocument> {
  const t = yield* tellingOf(turns, viewing, app);
  if (intent !== undefined && !t.views.has(intent))
    throw new MeshError("INTENT_UNKNOWN", `${t.view.saga} has no intent ${intent}`);
  const story = yield* storyOf(t, turns);
  const { saga, definition, status, startedAt, updatedAt } = t.view;
  const sentences = intent === undefined ? story : focused(t, intent, story, turns);
  const sum = intent === undefined ? sumOf(t, turns) : sumOfIntent(t, intent, turns);
  return {
    saga,
    ...(intent === undefined ? {} : { intent }),
    definition,
    status,
    turns: turns.length,
    startedAt,
    updatedAt,
    sentences: sentences.map(sentenceOf),
    sum: sum.map(sentenceOf),
    folded: app !== undefined,
  };
}

const sentenceOf = ({ tells: _tells, ...sentence }: Told): WhySentence => sentence;

function* tellingOf(
  turns: readonly Turn[],
  viewing: ViewOptions,
  app: App | undefined,
): Generator<undefined, Telling> {
  const account = yield* accounting(turns);
  const view = viewOfAccount(account, {
    ...viewing,
    ...(app === undefined ? {} : yield* viewingByFold(app, turns)),
  });
  const start = turns[0]?.steps[0]?.event;
  return {
    view,
    views: new Map(view.intents.map((one) => [one.intent.id, one])),
    index: indexOf(turns, account),
    prices: start?.type === "start" ? (start.prices ?? {}) : {},
    shown: app === undefined ? new Map() : yield* shownBy(app, turns),
    approvals: new Map(),
    settled: new Set(),
    undoing: new Map(),
    calledOff: undefined,
  };
}

/** WY3. What the last message of each request held, where the definition that asked it is at hand. */
function* shownBy(
  app: App,
  turns: readonly Turn[],
): Generator<undefined, Map<IntentId, readonly MessagePart[]>> {
  const shown = new Map<IntentId, readonly MessagePart[]>();
  for (const { definition: ref, from, to } of segmentsOf(turns)) {
    const definition = app.definition(ref);
    if (definition === undefined) continue;
    let state: SagaState | undefined;
    const until = turns.filter(({ turn }) => turn <= to);
    const all = yield* requestsOf(definition, until, ({ saga, at, steps }) => {
      const decided = decideTurn(definition, state, { saga, at, events: steps.map(({ event }) => event) });
      state = decided.state;
      return decided;
    });
    for (const { intent, turn, request } of all) {
      const last = request.messages.at(-1);
      if (turn >= from) shown.set(intent.id, last?.role === "user" ? last.parts : []);
    }
  }
  return shown;
}

function* storyOf(t: Telling, turns: readonly Turn[]): Generator<undefined, Told[]> {
  const story: Told[] = [];
  const changes = new Map(turns.map((turn, k) => [turn.turn, tellChange(t, turn, turns[k - 1])]));
  for (const at of t.index.steps) {
    if (at.step === 0) story.push(...(changes.get(at.turn) ?? []));
    if (!isSilent(t, at.event)) story.push(tellEvent(t, at, at.event));
    for (const intent of at.intents) story.push(tellIntent(t, at, intent));
    for (const one of at.begun ?? []) story.push(tellBegun(t, at, one));
    yield;
  }
  return story;
}

function tellEvent(t: Telling, at: StepPlace, event: Event): Told {
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

/** WY2. What of a ledger no sentence tells and nothing declares silent: nothing, or the story is wrong. */
export function* untoldOf(turns: readonly Turn[], viewing: ViewOptions = {}): Generator<undefined, string[]> {
  const t = yield* tellingOf(turns, viewing, undefined);
  const told = new Set((yield* storyOf(t, turns)).flatMap(({ tells }) => tells));
  return t.index.steps.flatMap((at) =>
    [
      ...(isSilent(t, at.event) ? [] : [eventRef(at)]),
      ...at.intents.map((intent) =>
        intent.kind === "retry" ? retryRef(intent.id, intent.attempt) : intentRef(intent.id),
      ),
      ...(at.begun ?? []).map(({ intent }) => begunRef(intent)),
    ].filter((ref) => !told.has(ref)),
  );
}
