/**
 * Account, forgetting: which intents an account gives up that is to remember a few (AO4 of account.ts).
 */
import { type IntentId, turnOf } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { Reading, Telling } from "./account.ts";

export interface Forgetting {
  /** The account took this turn. */
  after(reading: Reading, turn: Turn): void;
}

/** Remembers so many of the intents that are over, those that were over last. */
export function createForgetting(remembers: number): Forgetting {
  /** What is over and remembered, what was over first being first. */
  const over = new Set<IntentId>();
  /** The last model call, which tells what an agent waits for. */
  let lastAsked: IntentId | undefined;
  const add = (id: IntentId) => {
    over.delete(id);
    over.add(id);
  };
  const takeOver = ({ steps }: Turn) => {
    for (const { closed, intents } of steps) {
      for (const { intent } of closed) add(intent);
      for (const { id, kind } of intents) {
        if (kind === "denied" || kind === "pause" || kind === "signal" || kind === "end") add(id);
        if (kind !== "model") continue;
        if (lastAsked !== undefined) add(lastAsked);
        lastAsked = id;
      }
    }
  };
  const forget = (reading: Reading, id: IntentId) => {
    const told = reading.intents.get(id);
    if (told === undefined || id === lastAsked || mayChange(reading, told)) return;
    reading.intents.delete(id);
    reading.news.delete(id);
    reading.forgotten += 1;
  };
  return {
    after: (reading, turn) => {
      takeOver(turn);
      for (const id of over) {
        // What the last turn decided is known, however much that is: whoever reads turn by turn looks it up.
        if (over.size <= remembers || turnOf(id) === turn.turn) break;
        over.delete(id);
        forget(reading, id);
      }
      if (reading.fresh.length > 2 * (remembers + 1))
        reading.fresh.splice(0, reading.fresh.length - remembers);
    },
  };
}

/** Whether a later turn may change what is told of it: it is tried again, corrected, or undone after a doubt. */
function mayChange({ open, decisions }: Reading, { intent: { id, kind }, ended }: Telling): boolean {
  if (open.has(id) || id === decisions.at(-1)) return true;
  if (kind !== "tool" && kind !== "saga") return false;
  return ended !== undefined && ended.as !== "succeeded" && ended.as !== "denied";
}
