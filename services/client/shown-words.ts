/**
 * Shown words: what a listener was shown of replies that are still to come.
 */
import type { IntentId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { TokenPiece } from "../../protocol/live.ts";
import { ModelReply } from "../../protocol/model.ts";

/** What a listener is told of the words of models. */
export type WordsEvent =
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
    };

/** Each call returns what the listener is to be told, in this order. */
export interface ShownWords {
  /** A piece of a reply that may still be open, or that its host takes back what it said. */
  hear(piece: TokenPiece): WordsEvent[];
  /** The reply as the ledger has it. */
  settle(intent: IntentId, turn: number, output: Json): WordsEvent[];
  retract(intent: IntentId, because: string): WordsEvent[];
  retractAll(because: string): WordsEvent[];
}

interface Shown {
  readonly attempt: number;
  readonly by: string;
  text: string;
  thinking: number;
  missed: boolean;
}

/** Nothing was shown yet. */
export function createShownWords(): ShownWords {
  const shown = new Map<IntentId, Shown>();

  function retract(intent: IntentId, because: string): WordsEvent[] {
    const words = shown.get(intent);
    if (words === undefined) return [];
    shown.delete(intent);
    return [{ type: "retracted", intent, attempt: words.attempt, because }];
  }

  function hear(said: TokenPiece): WordsEvent[] {
    const { intent, attempt, by, from, retracted } = said;
    const former = shown.get(intent);
    const isFormers = former?.attempt === attempt && former.by === by;
    if (retracted !== undefined) return isFormers ? retract(intent, retracted) : [];
    if (isFormers) return add(former, said);
    if (former !== undefined && attempt < former.attempt) return [];
    // Of two hosts that ask under one attempt, the one that begins is the later.
    if (attempt === former?.attempt && from > 0) return [];
    const because = former !== undefined && attempt > former.attempt ? "RETRIED" : "TAKEN_OVER";
    const events = retract(intent, because);
    const words = { attempt, by, text: "", thinking: 0, missed: false };
    shown.set(intent, words);
    return [...events, ...add(words, said)];
  }

  function settle(intent: IntentId, turn: number, output: Json): WordsEvent[] {
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

  return {
    hear,
    settle,
    retract,
    retractAll: (because) => [...shown.keys()].flatMap((intent) => retract(intent, because)),
  };
}

/** Adds a piece to what was shown of its reply. What was said before is known; a gap is told. */
function add(words: Shown, { intent, attempt, kind, from, piece }: TokenPiece): WordsEvent[] {
  const have = kind === "text" ? words.text.length : words.thinking;
  if (from < have) return []; // Said twice.
  const events: WordsEvent[] = [];
  if (from > have) {
    words.missed ||= kind === "text";
    events.push({ type: "missed", intent, attempt, characters: from - have });
  }
  if (kind === "thinking") words.thinking = from + piece.length;
  else words.text = words.text.padEnd(from) + piece;
  events.push({ type: "token", intent, attempt, kind, piece });
  return events;
}
