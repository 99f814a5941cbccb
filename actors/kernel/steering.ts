/**
 * Steering: what people and evaluators outside tell a saga about its course: pause, flag, slow down.
 *
 * Owns: what of it the state keeps, and that a pause reaches the tree where that is asked for. Does not own: what is
 * held meanwhile (held.ts), the order in which it is let go (fold.ts), what an agent's model is told (agent.ts).
 *
 * ST1 While a saga is paused no decision is made and nothing that a decision would bring about begins. What was
 *     decided before goes on: effects in flight end by their own result and stand, undoing goes on, timers and votes
 *     count. A decision in flight may finish; it is held.
 * ST2 A flag stands until a `resume` acknowledges it, which is a human's word: the saga cannot wave it away.
 */
import type { EventOf } from "../../protocol/event.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { type Folding, newId, openEntries } from "./folding.ts";
import { isPaused } from "./held.ts";
import { isRunningChild } from "./open-index.ts";
import { tellChild } from "./tell-child.ts";
import type { ReservedData } from "../contract/reserved-signals.ts";
import { isOpen, type Paused } from "../contract/state.ts";

type Signal = EventOf<"signal">;

/** Takes what a signal says of the saga's course. False if the machine is not to be told of the signal. */
export function steer(f: Folding, event: Signal): boolean {
  switch (event.name) {
    case "pause":
      beginPause(f, event);
      return false;
    case "rate_limited":
      slowDown(f, event);
      return false;
    case "flagged":
      raiseFlag(f, event);
      return f.definition.kind.decision !== undefined;
    default:
      return true;
  }
}

/** The door has read what these signals hold. */
const dataOf = <K extends "pause" | "rate_limited" | "flagged">({ data }: Signal): ReservedData<K> =>
  data as ReservedData<K>;

/** A second pause renews the reason, as with a paused tool. */
function beginPause(f: Folding, event: Signal): void {
  if (f.state.phase.kind !== "running") return;
  const { reason, tree } = dataOf<"pause">(event);
  pause(f, event.from, reason);
  if (tree === true) tellChildren(f, "pause", event.data);
}

function pause(f: Folding, by: string, reason: string | undefined): void {
  const paused: Paused = { at: f.state.paused?.at ?? f.at, by };
  f.state.paused = reason === undefined ? paused : { ...paused, reason };
}

/** The machine goes on, and every flag is acknowledged (ST2). */
export function endPause(f: Folding, event: Signal): void {
  f.state.paused = undefined;
  f.state.flags = undefined;
  if (dataOf<"pause">(event).tree === true) tellChildren(f, "resume", event.data);
}

function tellChildren(f: Folding, name: "pause" | "resume", data: Json): void {
  for (const [, open] of openEntries(f))
    if (isRunningChild(open) && isOpen(open, "saga")) tellChild(f, open.intent.saga, name, data);
}

/** An agent's machine is told the time until which it does not ask its model; a second limit may shorten the first. */
function slowDown(f: Folding, event: Signal): void {
  if (f.state.phase.kind !== "running") return;
  const until = f.at + dataOf<"rate_limited">(event).forMs;
  f.state.modelNotBefore = until;
  f.queue.push({ event: { type: "sagamesh.limited", until, at: f.at } });
}

function raiseFlag(f: Folding, event: Signal): void {
  const { reason, severity, by = event.from } = dataOf<"flagged">(event);
  const flag = { reason, ...(severity === undefined ? {} : { severity }), by, at: f.at };
  f.state.flags = [...(f.state.flags ?? []), flag].slice(-limits.flagsMax);
  const mayPause = f.state.phase.kind === "running" && f.definition.whenFlagged === "pause";
  if (!mayPause || isPaused(f)) return;
  const because = `flagged by ${by}: ${reason}`;
  f.intents.push({ kind: "pause", id: newId(f), by, reason: because });
  pause(f, by, because);
}
