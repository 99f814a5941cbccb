/**
 * Turn: one ledger message. The events taken in, the intents decided from them, appended atomically.
 *
 * T1 `prev` is the SHA-256 of the previous turn's bytes as stored ("" before the first): nobody can change
 *    a turn without changing all that follow.
 * T2 What follows from the rest is not stored: a result's attempt where it is the first, who observed it where that
 *    is the turn's own host, and of an effect's key the saga and intent it begins with. Reading puts them back.
 */
import { z } from "zod";
import { Event, type EventOf } from "./event.ts";
import { keyPrefix, SagaId } from "./ids.ts";
import { Intent, type IntentOf } from "./intent.ts";

export const Step = z.object({ event: Event, intents: z.array(Intent) });
export type Step = z.infer<typeof Step>;

const StoredTurn = z.object({
  v: z.literal(1),
  saga: SagaId,
  turn: z.int().positive(),
  /** Milliseconds since the epoch by the deciding host's clock; what the fold calls `now`. */
  at: z.number(),
  /** The incarnation that decided it, new at each start of a process. */
  host: z.string(),
  prev: z.string(),
  steps: z.array(Step).min(1),
});

/** A stored turn, read. */
export const Turn = StoredTurn.transform((turn) => ({
  ...turn,
  steps: turn.steps.map(({ event, intents }) => ({
    event: event.type === "result" && event.by === "" ? { ...event, by: turn.host } : event,
    intents: intents.map((intent) =>
      intent.kind === "tool" && !intent.key.includes(".")
        ? { ...intent, key: keyPrefix(turn.saga, intent.id) + intent.key }
        : intent,
    ),
  })),
}));
export type Turn = z.infer<typeof Turn>;

/** A turn as it is stored (T2). */
export const toStored = (turn: Turn): z.input<typeof Turn> => ({
  ...turn,
  steps: turn.steps.map(({ event, intents }) => ({
    event: event.type === "result" ? shortenedResult(event, turn.host) : event,
    intents: intents.map((intent) => (intent.kind === "tool" ? shortenedTool(intent, turn.saga) : intent)),
  })),
});

function shortenedResult(event: EventOf<"result">, host: string): z.input<typeof Event> {
  const { attempt, by, ...rest } = event;
  return { ...rest, ...(attempt === 1 ? {} : { attempt }), ...(by === host ? {} : { by }) };
}

/** A fork keeps the keys of what it inherited whole: they begin with another saga. */
function shortenedTool(intent: IntentOf<"tool">, saga: SagaId): IntentOf<"tool"> {
  const prefix = keyPrefix(saga, intent.id);
  return intent.key.startsWith(prefix) ? { ...intent, key: intent.key.slice(prefix.length) } : intent;
}
