/**
 * Address: which open call a result from elsewhere is of, and which question a person's vote.
 *
 * QZ1 An intent's id says in which turn it was decided, and after an older copy of the ledger was put back another call may have
 *     that id, and the call another id. What a call is called under does not change: where a result says that, it counts for
 *     that call and for no other. One that says nothing, as those of former hosts and workers and of people do, counts by its id.
 * QZ2 The server fires a timer when it is due and never before. One that was armed in a turn that is lost may have the id of
 *    another by now, of a task's deadline say, which it must not end.
 * QZ3 A vote is on what was asked, which it names by the same key where its sender had read it: asked again under another id it
 *     is that question's, and never another's. A signed one names the id in what was signed, and is for no other.
 */
import { digestOf } from "../../protocol/digest.ts";
import type { Event, EventOf } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";
import type { Intent } from "../../protocol/intent.ts";
import { dueAtOf, type SagaState } from "../contract/state.ts";

/** What a call is called under, whatever its id: an effect's key, a child's id, the digest of what a model was sent or people are asked. */
export function callKeyOf(intent: Intent): string | undefined {
  switch (intent.kind) {
    case "tool":
      return intent.key;
    case "model":
      return intent.request;
    case "saga":
      return intent.undoes !== undefined && intent.starts !== true ? undoKeyOf(intent.saga) : intent.saga;
    case "task": {
      const { about, question, tool = "", digest = "" } = intent;
      return `task.${digestOf([about, question, tool, digest]).slice(0, 16)}`;
    }
    default:
      return undefined;
  }
}

/** That of the order to a child to undo what it did. */
export const undoKeyOf = (child: string): string => `undo.${child}`;

/** What a message says besides its event. */
export interface Told {
  /** What the call is called under; undefined where that is not said. */
  readonly key: string | undefined;
  /** When the server stored it, milliseconds since the epoch. */
  readonly storedAt: number;
}

/**
 * The event, of the call that it says it is of. `stale`: its id is another call's now, and its own is not open (QZ1). `known`:
 * a timer that fired before the one was due that has its id now (QZ2).
 */
export function addressed(
  state: SagaState,
  event: Event,
  { key, storedAt }: Told,
): Event | "stale" | "known" {
  if (event.type === "timer") return isOfAnother(state, event.intent, storedAt) ? "known" : event;
  if (key === undefined) return event;
  if (event.type === "task") return ofQuestion(state, event, key);
  if (event.type !== "result" && event.type !== "deferred") return event;
  const { open, doubts } = state;
  const { intent: id } = event;
  const own = Object.hasOwn(open, id) ? open[id] : undefined;
  const doubt = Object.hasOwn(doubts, id) ? doubts[id] : undefined;
  if ((own !== undefined && callKeyOf(own.intent) === key) || doubt?.key === key) return event;
  const [, found] = Object.entries(open).find(([, { intent }]) => callKeyOf(intent) === key) ?? [];
  if (found !== undefined) return of(event, found.intent.id);
  const [doubted] = Object.entries(doubts).find(([, one]) => one.key === key) ?? [];
  if (doubted !== undefined) return of(event, doubted as IntentId);
  return own === undefined && doubt === undefined ? event : "stale";
}

/** QZ3. One whose id is no open question's is judged by that, as one without a key is. */
function ofQuestion({ open }: SagaState, event: EventOf<"task">, key: string): Event | "stale" {
  const own = Object.hasOwn(open, event.intent) ? open[event.intent] : undefined;
  if (own !== undefined && callKeyOf(own.intent) === key) return event;
  const [found] = Object.values(open).filter(({ intent }) => callKeyOf(intent) === key);
  if (found !== undefined && event.vote.signature === undefined) return { ...event, intent: found.intent.id };
  return own === undefined ? event : "stale";
}

/** Between the time that a timer is due and its message's may lie the server's rounding. */
const earlyMsMax = 2_000;

function isOfAnother({ open }: SagaState, id: IntentId, firedAt: number): boolean {
  const own = Object.hasOwn(open, id) ? open[id] : undefined;
  const dueAt = own && dueAtOf(own);
  return dueAt !== undefined && firedAt < dueAt - earlyMsMax;
}

const of = (event: EventOf<"result"> | EventOf<"deferred">, intent: IntentId): Event => ({
  ...event,
  intent,
});
