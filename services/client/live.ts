/**
 * Live: a saga as it runs, its turns and what is said between them, as one stream.
 *
 * LW1 Ledger and live lane are merged so that for each settled reply: what was shown and not retracted, and `rest`,
 *     are together its text, once. A reader that comes back after a turn sees nothing of it or of the ones before again.
 * LW2 Words count for an attempt of one host. Those of a newer attempt, or of a host that asks anew, retract the
 *     former's; so do a failure and a signal that supersedes.
 * LW3 Words that were missed are not asked for: they come with the settled reply.
 */
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { turnOf } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { lanes, ProgressNote, TokenPiece } from "../../protocol/live.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { Ports } from "../wire/ports.ts";
import { followTurns } from "./follow-turns.ts";
import { createShownWords, type WordsEvent } from "./shown-words.ts";

/** What `SagaHandle.tokens` tells: a turn, words of a model, words that were missed, progress of a tool. */
export type LiveEvent =
  | { readonly type: "turn"; readonly turn: Turn }
  | WordsEvent
  | { readonly type: "progress"; readonly intent: IntentId; readonly attempt: number; readonly note: Json };

export interface LiveMerge {
  /** A message of the live lane; one that cannot be read is nothing. */
  heard(lane: string, data: Json): LiveEvent[];
  read(turn: Turn): LiveEvent[];
}

/** Merges turns, from the first on, with what is heard meanwhile. Turns up to `afterTurn` are known and not told. */
export function createLiveMerge(afterTurn = 0): LiveMerge {
  const words = createShownWords();
  /** Model intents of the turns read that have no result yet. */
  const open = new Set<IntentId>();
  let head = 0;

  /** Of a turn that was not read yet, or open in one that was. What is retracted may have been settled. */
  const counts = ({ intent, retracted }: TokenPiece): boolean =>
    retracted !== undefined || turnOf(intent) > head || open.has(intent);

  function readSteps({ turn, steps }: Turn): LiveEvent[] {
    const events: LiveEvent[] = [];
    for (const { event, intents } of steps) {
      if (event.type === "result" && open.delete(event.intent)) {
        const { result } = event;
        if (result.outcome === "succeeded") events.push(...words.settle(event.intent, turn, result.output));
        else events.push(...words.retract(event.intent, result.code));
        if (intents.some((next) => next.kind === "retry" && next.id === event.intent)) open.add(event.intent);
      }
      for (const intent of intents) if (intent.kind === "model") open.add(intent.id);
      if (intents.some(({ kind }) => kind === "end")) events.push(...words.retractAll("SUPERSEDED"));
    }
    return events;
  }

  return {
    heard: (lane, data) => {
      if (lane === lanes.tokens) {
        const piece = TokenPiece.safeParse(data);
        return piece.success && counts(piece.data) ? words.hear(piece.data) : [];
      }
      const note = lane === lanes.progress ? ProgressNote.safeParse(data) : undefined;
      return note?.success === true ? [{ type: "progress", ...note.data }] : [];
    },
    read: (turn) => {
      head = turn.turn;
      const events = readSteps(turn);
      return turn.turn <= afterTurn ? [] : [...events, { type: "turn", turn }];
    },
  };
}

/**
 * Follows a saga to its end, or to the signal: each turn after `afterTurn` (0: all), and between them what is said.
 * After a restart, name the last turn that was seen whole. Throws SAGA_ARCHIVED, LEDGER_BROKEN.
 */
export async function* followLive(
  ports: Ports,
  saga: SagaId,
  { signal, afterTurn }: { signal?: AbortSignal | undefined; afterTurn?: number | undefined } = {},
): AsyncGenerator<LiveEvent> {
  const own = new AbortController();
  const following = signal === undefined ? own.signal : AbortSignal.any([signal, own.signal]);
  const merge = createLiveMerge(afterTurn);
  const events: LiveEvent[] = [];
  let failure: { readonly error: unknown } | undefined;
  let isOver = false;
  let wake = () => {};
  const push = (more: readonly LiveEvent[]) => {
    events.push(...more);
    wake();
  };
  // Listened to from here on, so nothing that is said after the turns read is missed.
  const live = ports.live.follow(saga, following);
  const hearing = (async () => {
    for await (const { lane, data } of live) push(merge.heard(lane, parse(data)));
  })().catch(() => undefined); // Best effort: the turns go on without it.
  const reading = (async () => {
    for await (const turn of followTurns(ports, saga, following)) push(merge.read(turn));
  })()
    .catch((error: unknown) => void (failure = { error }))
    .finally(() => {
      isOver = true;
      wake();
    });
  try {
    for (;;) {
      const next = events.shift();
      if (next !== undefined) yield next;
      else if (isOver) break;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    if (failure !== undefined) throw failure.error;
  } finally {
    own.abort();
    await Promise.all([hearing, reading]);
  }
}

function parse(data: Uint8Array): Json {
  try {
    return JSON.parse(Buffer.from(data).toString()) as Json;
  } catch {
    return null; // Every client may publish there; what is no piece is dropped.
  }
}
