/**
 * Turn: one ledger message. The events taken in, the intents decided from them and those that they closed, appended
 * atomically.
 *
 * TU1 `prev` is the SHA-256 of the previous turn's bytes as stored ("" before the first): a turn
 *     cannot be changed without changing all that follow.
 * TU2 What follows from the rest of the same turn is not stored. Of a result: its attempt where it is the first, the
 *     observer where that is the turn's own host, and the words that say it succeeded. Of an intent: its id where
 *     that is its place in the turn, of an effect's key the saga and intent it begins with, and the tool's name where
 *     the reply that proposed the call has it. Of closings: the one that the event implies (closing.ts). Reading puts
 *     all of it back, and takes what is written out as well; that an event closed nothing must be said (`stays`).
 */
import { z } from "zod";
import { Amounts } from "./budget.ts";
import { Closing, impliedClosing, StoredClosing } from "./closing.ts";
import { Event, type EventOf, StoredEvent } from "./event.ts";
import { IntentId, intentId, keyPrefix, placeOfCall, SagaId } from "./ids.ts";
import { Intent, StoredIntent } from "./intent.ts";
import type { Json } from "./json.ts";

/** A child that stood in line and begins, with what is reserved for it from here on. */
export const Begun = z.object({ intent: IntentId, budget: Amounts.optional() });
export type Begun = z.infer<typeof Begun>;

/** One event, what was decided from it, and which intents it closed: all of them, in the order in which they closed. */
export const Step = z.object({
  event: Event,
  intents: z.array(Intent),
  closed: z.array(Closing),
  /** Absent where no child left the line. In the order in which they did. */
  begun: z.array(Begun).optional(),
});
export type Step = z.infer<typeof Step>;

const StoredStep = z.object({
  event: StoredEvent,
  /** Absent where nothing was decided. */
  intents: z.array(StoredIntent).default([]),
  /** Without the closing that the event implies, which holds unless another one of the same intent is here. */
  closed: z.array(StoredClosing).optional(),
  /** The event closed nothing that it names. */
  stays: z.literal(true).optional(),
  begun: Step.shape.begun,
});

/** Of the ledger's format. A host, a client and an archive read this one and refuse every other. */
export const ledgerVersion = 3;

const StoredTurn = z.object({
  v: z.literal(ledgerVersion),
  saga: SagaId,
  turn: z.int().positive(),
  /** Milliseconds since the epoch by the deciding host's clock; what the fold calls `now`. */
  at: z.number(),
  /** The incarnation that decided it, new at each start of a process. */
  host: z.string(),
  prev: z.string(),
  steps: z.array(StoredStep).min(1),
  /** What its machine logged, a text each, where the saga keeps that. Nothing is decided from it. */
  logged: z.array(z.string()).optional(),
});
type StoredTurn = z.infer<typeof StoredTurn>;

/** One ledger message, read: `v` is the format's version, `turn` counts from 1. */
export type Turn = Omit<StoredTurn, "steps"> & { steps: Step[] };

/** A stored turn, read (TU2). */
export const Turn = StoredTurn.transform((turn, context): Turn => {
  const places = placesOf(turn);
  const steps = turn.steps.map((step) => {
    const event = wholeEvent(step.event, turn.host);
    const intents = step.intents.map((intent) => wholeIntent(intent, event, turn.saga, places));
    return { event, intents, closed: wholeClosed(step, event, intents), ...begunOf(step) };
  });
  if (steps.some(({ intents }) => intents.some((intent) => intent.kind === "tool" && intent.name === "")))
    context.addIssue("an intent names neither its tool nor a call of the reply beside it");
  return { ...turn, steps };
});

/** A turn as it is stored (TU2). */
export function toStored(turn: Turn): z.input<typeof Turn> {
  const places = placesOf(turn);
  return {
    ...turn,
    steps: turn.steps.map((step) => ({
      event: step.event.type === "result" ? shortResult(step.event, turn.host) : step.event,
      ...(step.intents.length === 0
        ? {}
        : { intents: step.intents.map((intent) => shortIntent(intent, step.event, turn.saga, places)) }),
      ...shortClosed(step),
      ...begunOf(step),
    })),
  };
}

const begunOf = ({ begun }: Pick<Step, "begun">): Pick<Step, "begun"> =>
  begun === undefined ? {} : { begun };

/** Gives the ids of a turn's intents by their places, one at each call. A retry has the id of an earlier intent. */
const placesOf = ({ turn }: { turn: number }) => {
  let place = 0;
  return () => intentId(turn, place++);
};

function wholeEvent(event: StoredEvent, host: string): Event {
  if (event.type !== "result") return event;
  const { attempt = 1, by = host, output, ...rest } = event;
  const result = rest.result ?? { outcome: "succeeded" as const, output: output ?? null };
  return { ...rest, attempt, by, result };
}

function shortResult({ attempt, by, result, ...rest }: EventOf<"result">, host: string): StoredEvent {
  return {
    ...rest,
    ...(attempt === 1 ? {} : { attempt }),
    ...(by === host ? {} : { by }),
    ...(result.outcome === "succeeded" && result.undoable === undefined
      ? { output: result.output }
      : { result }),
  };
}

function wholeIntent(stored: StoredIntent, event: Event, saga: SagaId, places: () => IntentId): Intent {
  if (stored.kind === "retry") return stored;
  const place = places();
  if (stored.kind !== "tool") return { ...stored, id: stored.id ?? place };
  const { kind, id = place, name = nameInReply(event, stored.call), key, ...rest } = stored;
  return { kind, id, name, key: key.includes(".") ? key : keyPrefix(saga, id) + key, ...rest };
}

function shortIntent(intent: Intent, event: Event, saga: SagaId, places: () => IntentId): StoredIntent {
  if (intent.kind === "retry") return intent;
  const { id, ...named } = intent;
  const stored = id === places() ? named : intent;
  if (stored.kind !== "tool") return stored;
  const { name, key, ...rest } = stored;
  const prefix = keyPrefix(saga, id);
  return {
    ...rest,
    ...(name === nameInReply(event, stored.call) ? {} : { name }),
    // A fork keeps the keys of what it inherited whole: they begin with another saga.
    key: key.startsWith(prefix) ? key.slice(prefix.length) : key,
  };
}

function wholeClosed(
  { closed = [], stays }: z.infer<typeof StoredStep>,
  event: Event,
  intents: readonly Intent[],
): Closing[] {
  const told = closed.map((one) =>
    typeof one === "string" ? ({ intent: one, as: "cancelled" } as const) : one,
  );
  const implied = stays === true ? undefined : impliedClosing(event, intents);
  return implied === undefined || told.some(({ intent }) => intent === implied.intent)
    ? told
    : [implied, ...told];
}

function shortClosed({ event, intents, closed }: Step): Pick<z.infer<typeof StoredStep>, "closed" | "stays"> {
  const implied = impliedClosing(event, intents);
  const [first, ...rest] = closed;
  const isImplied = implied !== undefined && first !== undefined && isSame(first, implied);
  const told = (isImplied ? rest : closed).map((one) => (isPlain(one) ? one.intent : one));
  return {
    ...(told.length === 0 ? {} : { closed: told }),
    ...(implied === undefined || closed.some(({ intent }) => intent === implied.intent)
      ? {}
      : { stays: true }),
  };
}

/** All that a closing says is texts and `true`; a member that is undefined is not there. */
const isSame = (one: Closing, other: Closing): boolean => saysAll(one, other) && saysAll(other, one);

function saysAll(one: Closing, other: Closing): boolean {
  for (const member in other)
    if (one[member as keyof Closing] !== other[member as keyof Closing]) return false;
  return true;
}

const isPlain = (closing: Closing): boolean =>
  closing.as === "cancelled" && Object.values(closing).filter((one) => one !== undefined).length === 2;

/** The tool of a call, if the event is the reply that proposed it; else "", which is no tool's name. */
function nameInReply(event: Event, call: string | undefined): string {
  if (call === undefined || event.type !== "result" || event.result.outcome !== "succeeded") return "";
  const calls = memberOf(event.result.output, "calls");
  const tool = memberOf(Array.isArray(calls) ? calls[placeOfCall(call)] : undefined, "tool");
  return typeof tool === "string" ? tool : "";
}

const memberOf = (value: Json | undefined, name: string): Json | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value[name] : undefined;
