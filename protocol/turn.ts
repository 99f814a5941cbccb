/**
 * Turn: one ledger message. The events taken in, the intents decided from them, appended atomically.
 *
 * TU1 `prev` is the SHA-256 of the previous turn's bytes as stored ("" before the first): a turn
 *     cannot be changed without changing all that follow.
 * TU2 What follows from the rest of the same turn is not stored. Of a result: its attempt where it is the first, the
 *     observer where that is the turn's own host, and the words that say it succeeded. Of an intent: its id where
 *     that is its place in the turn, of an effect's key the saga and intent it begins with, and the tool's name where
 *     the reply that proposed the call has it. Reading puts all of it back, and takes what is written out as well.
 */
import { z } from "zod";
import { Event, type EventOf, StoredEvent } from "./event.ts";
import { type IntentId, intentId, keyPrefix, SagaId } from "./ids.ts";
import { Intent, StoredIntent } from "./intent.ts";
import type { Json } from "./json.ts";

/** One event that a turn took in, and the intents decided from it, in order. */
export const Step = z.object({ event: Event, intents: z.array(Intent) });
export type Step = z.infer<typeof Step>;

const StoredStep = z.object({ event: StoredEvent, intents: z.array(StoredIntent) });

const StoredTurn = z.object({
  v: z.literal(1),
  saga: SagaId,
  turn: z.int().positive(),
  /** Milliseconds since the epoch by the deciding host's clock; what the fold calls `now`. */
  at: z.number(),
  /** The incarnation that decided it, new at each start of a process. */
  host: z.string(),
  prev: z.string(),
  steps: z.array(StoredStep).min(1),
});
type StoredTurn = z.infer<typeof StoredTurn>;

/** One ledger message, read: `v` is the format's version, `turn` counts from 1. */
export type Turn = Omit<StoredTurn, "steps"> & { steps: Step[] };

/** A stored turn, read (TU2). */
export const Turn = StoredTurn.transform((turn, context): Turn => {
  const places = placesOf(turn);
  const steps = turn.steps.map((step) => {
    const event = wholeEvent(step.event, turn.host);
    return { event, intents: step.intents.map((intent) => wholeIntent(intent, event, turn.saga, places)) };
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
    steps: turn.steps.map(({ event, intents }) => ({
      event: event.type === "result" ? shortResult(event, turn.host) : event,
      intents: intents.map((intent) => shortIntent(intent, event, turn.saga, places)),
    })),
  };
}

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

/** The tool of a call, if the event is the reply that proposed it; else "", which is no tool's name. */
function nameInReply(event: Event, call: string | undefined): string {
  if (call === undefined || event.type !== "result" || event.result.outcome !== "succeeded") return "";
  const calls = memberOf(event.result.output, "calls");
  const tool = memberOf(Array.isArray(calls) ? calls[placeOfCall(call)] : undefined, "tool");
  return typeof tool === "string" ? tool : "";
}

const memberOf = (value: Json | undefined, name: string): Json | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value[name] : undefined;

/** A call's id is `<decision>.<place among the reply's calls>`. */
const placeOfCall = (call: string): number => Number(call.slice(call.indexOf(".") + 1));
