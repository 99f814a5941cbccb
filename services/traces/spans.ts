/**
 * Spans: a ledger's turns as spans, one turn after another. A pure function of the ledger: whoever follows a saga, and whoever
 * reads it a year later, tells the same.
 *
 * YX1 A span is told with the turn that ended what it is of, and never again: the spans of a ledger's first turns are the first of
 *     the whole. What is not over has none. An outcome that is corrected later is a span of its own, below the one corrected.
 * YX2 Every span of a saga lies below the saga's own, and none begins before it or ends before it began.
 * YX3 A fork's spans are of its own turns. What it inherited and goes on with begins where the fork does.
 * YX4 A span keeps a bounded number of events and counts the rest. What is kept of a ledger follows from what is open.
 */
import type { SpanEvent } from "../../protocol/documents/trace.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { originOf, spanIdOf, traceOf } from "../../protocol/trace.ts";
import type { Turn } from "../../protocol/turn.ts";
import { usageOf } from "../../actors/kernel/settle.ts";
import { createAccountReader, stepsOf } from "../ledger/account-reader.ts";
import type { AccountReader, Change, Ended, StepPlace, ToldIntent } from "../ledger/account.ts";
import { attributesOf, codeShown, usageSum } from "./attributes.ts";
import { contentOfIntent } from "./content.ts";
import { isSpanned, refusedAs, toldOf } from "./intent-span.ts";
import { attribute, event as eventName, ownSpans } from "./names.ts";
import { againSpan, sagaEventOf, sagaSpan } from "./saga-span.ts";
import type { Drawn, Events, Lasting, Span, Spanning } from "./spanning.ts";

export interface SpanOptions {
  /** Whether it shows what people, models and tools said. Default false: a tracing system is read by more people than a ledger. */
  readonly content?: boolean;
  /** How many of the intents that are over the reader remembers; all unless given. What it tells is the same. */
  readonly remembers?: number;
}

export interface SpanReader {
  /** Takes the next turn, and tells what is over with it, in order. Throws LEDGER_BROKEN where another turn belongs. */
  take(turn: Turn): readonly Span[];
  /** What is not over, the saga last; nothing before the first turn. */
  open(): readonly Span[];
  /** Sagas that this one has begun, in order; a fork, since it is one. */
  children(): readonly SagaId[];
  /** The saga that began this one; undefined of a root, of a fork, and before the first turn. */
  parent(): SagaId | undefined;
}

/** Events of a span (YX4): as many as OpenTelemetry's own libraries keep. */
const eventsMax = 128;

const noEvents = (): Events => ({ kept: [], dropped: 0 });
function addEvent(events: Events, event: SpanEvent): void {
  if (events.kept.length < eventsMax) events.kept.push(event);
  else events.dropped += 1;
}

export function createSpanReader({ content = false, remembers }: SpanOptions = {}): SpanReader {
  const reader = createAccountReader(remembers);
  let self: Spanning | undefined;
  return {
    take(turn) {
      const changes = reader.take(turn);
      self ??= begin(reader, content);
      self.told = [];
      takeTurn(self, turn, changes);
      return turn.turn > self.inherited ? self.told : [];
    },
    open: () => (self?.startedAt === undefined ? [] : openSpans(self, self.startedAt)),
    children: () => [...(self?.children ?? [])],
    parent: () =>
      self === undefined ? undefined : originOf(reader.account.saga, reader.account.start).parent?.saga,
  };
}

function begin(reader: AccountReader, content: boolean): Spanning {
  const { saga, start } = reader.account;
  return {
    ...{ content, reader, place: traceOf(originOf(saga, start)), inherited: start.fork?.turn ?? 0 },
    ...{ startedAt: undefined, host: undefined, events: noEvents(), lasting: new Map() },
    ...{ children: new Set(), endedIn: undefined, againAt: undefined, told: [] },
  };
}

function takeTurn(self: Spanning, turn: Turn, changes: readonly Change[]): void {
  const { account } = self.reader;
  const isOwn = turn.turn > self.inherited;
  if (isOwn) {
    self.startedAt ??= turn.at;
    if (self.endedIn !== undefined) self.againAt ??= turn.at;
  }
  for (const step of stepsOf(turn)) takeStep(self, step, isOwn);
  for (const change of changes) takeChange(self, change, turn);
  self.host = turn.host;
  if (!isOwn || account.end?.turn !== turn.turn) return;
  const events = { events: self.events.kept, dropped: self.events.dropped };
  if (self.endedIn === undefined) tell(self, sagaSpan(self, events), turn.at);
  else tell(self, againSpan(self), turn.at);
  self.endedIn ??= turn.turn;
  self.againAt = undefined;
}

/** What no change tells: what came from outside, refusals, what attempts cost. */
function takeStep(self: Spanning, step: StepPlace, isOwn: boolean): void {
  const { event, intents, at } = step;
  if (event.type === "result") {
    const lasting = self.lasting.get(event.intent);
    if (lasting !== undefined) {
      lasting.usage = usageSum(lasting.usage, usageOf(event.result));
      lasting.code = event.result.outcome === "succeeded" ? undefined : event.result.code;
    }
  }
  if (!isOwn) return;
  for (const one of sagaEventOf(self, step)) addEvent(self.events, one);
  const { account } = self.reader;
  for (const intent of intents)
    if (intent.kind === "denied") {
      const told = refusedAs(intent, account.saga);
      const span = { ...told, spanId: spanIdOf(account.saga, intent.id), intent: intent.id, start: at };
      tell(self, { ...span, events: [] }, at);
    }
}

function takeChange(self: Spanning, change: Change, turn: Turn): void {
  if (!("intent" in change) && change.type !== "said") return;
  const told = change.type === "said" ? change.task : change.intent;
  const { intent } = told;
  if (!isSpanned(intent)) return;
  const lasting = self.lasting.get(intent.id);
  switch (change.type) {
    case "opened":
      self.lasting.set(intent.id, lastingOf(self, told, intent.id, turn.at));
      if (intent.kind === "saga" && !told.inLine) noteChild(self, told, turn);
      return;
    case "begun":
      noteChild(self, told, turn);
      return note(lasting, eventName.begun, turn.at);
    case "retried":
      if (lasting === undefined) {
        const part = `${intent.id}#${told.attempt}` as const; // YX1: the span of its earlier attempts was told.
        self.lasting.set(intent.id, lastingOf(self, told, part, turn.at));
      } else retried(lasting, told, turn.at);
      return;
    case "deferred":
      return note(lasting, eventName.deferred, turn.at);
    case "said":
      return note(lasting, eventName.vote, turn.at, { [attribute.vote]: change.said.vote.vote });
    case "closed":
      self.lasting.delete(intent.id);
      if (lasting !== undefined) tell(self, intentSpan(self, lasting, change.ended), turn.at);
      return;
    case "paid": // The end has what all attempts cost.
      return;
    case "corrected":
      tell(self, correctedSpan(self, told, change.ended, turn), turn.at);
  }
}

/** What a fork inherited its origin has begun. */
function noteChild(self: Spanning, { intent }: ToldIntent, { turn }: Turn): void {
  if (intent.kind !== "saga" || turn <= self.inherited) return;
  if (intent.undoes === undefined || intent.starts === true) self.children.add(intent.saga);
}

const lastingOf = (
  self: Spanning,
  told: ToldIntent,
  part: Parameters<typeof spanIdOf>[1],
  at: number,
): Lasting => ({
  ...{ told, spanId: spanIdOf(self.reader.account.saga, part), at },
  ...{ events: noEvents(), usage: undefined, code: undefined },
});

function note(
  lasting: Lasting | undefined,
  name: string,
  at: number,
  attributes: SpanEvent["attributes"] = {},
): void {
  if (lasting !== undefined) addEvent(lasting.events, { name, at, attributes });
}

function retried(lasting: Lasting, { attempt }: ToldIntent, at: number): void {
  const code = lasting.code === undefined ? undefined : codeShown(lasting.code);
  note(lasting, eventName.retry, at, attributesOf({ [attribute.attempt]: attempt, [attribute.code]: code }));
}

function intentSpan(self: Spanning, lasting: Lasting, ended: Ended | undefined): Drawn {
  const { told, spanId, at, events, usage } = lasting;
  const { account } = self.reader;
  const drawn = toldOf(account, self.place, told, { usage, ended });
  const content = self.content ? contentOfIntent(account, told, ended) : {};
  return {
    ...{ ...drawn, attributes: { ...drawn.attributes, ...content } },
    ...{ spanId, intent: told.intent.id, start: at, events: events.kept, dropped: events.dropped },
  };
}

/** YX1. It lies below the span whose outcome it corrects, and takes no time. */
function correctedSpan(self: Spanning, told: ToldIntent, ended: Ended, { turn, at }: Turn): Drawn {
  const { saga } = self.reader.account;
  const { id } = told.intent;
  const lasting = lastingOf(self, told, `${id}#corrected-${turn}`, at);
  const drawn = intentSpan(self, lasting, ended);
  return { ...drawn, name: `${ownSpans.corrected} ${drawn.name}`, below: spanIdOf(saga, id) };
}

function openSpans(self: Spanning, startedAt: number): Span[] {
  const { account } = self.reader;
  const intents = [...self.lasting.values()].map((one) => intentSpan(self, one, undefined));
  const events = { events: self.events.kept, dropped: self.events.dropped };
  const own = account.end === undefined ? [sagaSpan(self, events)] : [];
  return [...intents, ...own].map((drawn) =>
    spanOf(self, { ...drawn, start: Math.max(drawn.start, startedAt) }),
  );
}

function tell(self: Spanning, drawn: Drawn, at: number): void {
  const start = Math.max(drawn.start, self.startedAt ?? at); // YX2, YX3
  const events = self.inherited === 0 ? drawn.events : drawn.events.filter((one) => one.at >= start);
  self.told.push({ ...spanOf(self, { ...drawn, start, events }), end: Math.max(start, at) });
}

function spanOf({ reader, place }: Spanning, drawn: Drawn): Span {
  const { intent, dropped = 0, below, spanId, ...rest } = drawn;
  const { traceId, flags } = place;
  const parentSpanId = spanId === place.spanId ? place.parentSpanId : (below ?? place.spanId);
  return {
    ...{ traceId, spanId, flags, saga: reader.account.saga },
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    ...(intent === undefined ? {} : { intent }),
    ...(dropped === 0 ? {} : { droppedEvents: dropped }),
    ...rest,
  };
}
