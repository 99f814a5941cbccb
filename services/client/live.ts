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
import { ModelReply } from "../../protocol/model.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { Ports } from "../wire/ports.ts";
import { followTurns } from "./follow-turns.ts";

/** What `SagaHandle.tokens` tells: a turn, words of a model, words that were missed, progress of a tool. */
export type LiveEvent =
  | { readonly type: "turn"; readonly turn: Turn }
  | {
      readonly type: "token";
      readonly intent: IntentId;
      readonly attempt: number;
      readonly kind: "text" | "thinking";
      readonly piece: string;
    }
  /** Words were said that did not come here; what follows goes on after them. */
  | {
      readonly type: "missed";
      readonly intent: IntentId;
      readonly attempt: number;
      readonly characters: number;
    }
  /** Everything shown of this attempt counts no more. */
  | {
      readonly type: "retracted";
      readonly intent: IntentId;
      readonly attempt: number;
      readonly because: string;
    }
  /** A reply as the ledger has it; `rest` is what was not shown of its text. */
  | {
      readonly type: "settled";
      readonly intent: IntentId;
      readonly turn: number;
      readonly text: string;
      readonly rest: string;
    }
  | { readonly type: "progress"; readonly intent: IntentId; readonly attempt: number; readonly note: Json };

/** What was shown of a reply that is still to come. */
interface Shown {
  readonly attempt: number;
  readonly by: string;
  text: string;
  thinking: number;
  missed: boolean;
}

export interface LiveMerge {
  /** A message of the live lane; one that cannot be read is nothing. */
  heard(lane: string, data: Json): LiveEvent[];
  read(turn: Turn): LiveEvent[];
}

/** Merges turns, from the first on, with what is heard meanwhile. Turns up to `afterTurn` are known and not told. */
export function createLiveMerge(afterTurn = 0): LiveMerge {
  const shown = new Map<IntentId, Shown>();
  /** Model intents of the turns read that have no result yet. */
  const open = new Set<IntentId>();
  let head = 0;

  /** Of a turn that was not read yet, or open in one that was. */
  const mayBeOpen = (intent: IntentId): boolean => turnOf(intent) > head || open.has(intent);

  function retract(intent: IntentId, because: string): LiveEvent[] {
    const words = shown.get(intent);
    if (words === undefined) return [];
    shown.delete(intent);
    return [{ type: "retracted", intent, attempt: words.attempt, because }];
  }

  function hearTokens({ intent, attempt, by, kind, from, piece, retracted }: TokenPiece): LiveEvent[] {
    const former = shown.get(intent);
    const isFormers = former?.attempt === attempt && former.by === by;
    if (retracted !== undefined) return isFormers ? retract(intent, retracted) : [];
    if (!mayBeOpen(intent) || (former !== undefined && attempt < former.attempt)) return [];
    const events: LiveEvent[] = [];
    if (former !== undefined && !isFormers) {
      // Of two hosts that ask under one attempt, the one that begins is the later.
      if (attempt === former.attempt && from > 0) return [];
      events.push(...retract(intent, attempt > former.attempt ? "RETRIED" : "TAKEN_OVER"));
    }
    const words = isFormers ? former : { attempt, by, text: "", thinking: 0, missed: false };
    shown.set(intent, words);
    const have = kind === "text" ? words.text.length : words.thinking;
    if (from < have) return events; // Said twice.
    if (from > have) {
      words.missed ||= kind === "text";
      events.push({ type: "missed", intent, attempt, characters: from - have });
    }
    if (kind === "thinking") words.thinking = from + piece.length;
    else words.text = words.text.padEnd(from) + piece;
    events.push({ type: "token", intent, attempt, kind, piece });
    return events;
  }

  function settle(intent: IntentId, turn: number, output: Json): LiveEvent[] {
    const reply = ModelReply.safeParse(output);
    const text = reply.success ? (reply.data.text ?? "") : "";
    const words = shown.get(intent);
    const goesOn = words !== undefined && !words.missed && text.startsWith(words.text);
    if (!goesOn && words?.text !== "") {
      const events = retract(intent, words?.missed === true ? "MISSED" : "SETTLED_OTHERWISE");
      return [...events, { type: "settled", intent, turn, text, rest: text }];
    }
    shown.delete(intent);
    return [{ type: "settled", intent, turn, text, rest: text.slice(words?.text.length ?? 0) }];
  }

  function readSteps({ turn, steps }: Turn): LiveEvent[] {
    const events: LiveEvent[] = [];
    for (const { event, intents } of steps) {
      if (event.type === "result" && open.delete(event.intent)) {
        const { result } = event;
        if (result.outcome === "succeeded") events.push(...settle(event.intent, turn, result.output));
        else events.push(...retract(event.intent, result.code));
        if (intents.some((next) => next.kind === "retry" && next.id === event.intent)) open.add(event.intent);
      }
      for (const intent of intents) if (intent.kind === "model") open.add(intent.id);
      if (intents.some(({ kind }) => kind === "end"))
        for (const intent of [...shown.keys()]) events.push(...retract(intent, "SUPERSEDED"));
    }
    return events;
  }

  return {
    heard: (lane, data) => {
      if (lane === lanes.tokens) {
        const piece = TokenPiece.safeParse(data);
        return piece.success ? hearTokens(piece.data) : [];
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
