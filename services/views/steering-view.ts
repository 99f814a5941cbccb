/**
 * Steering view: whether a saga is paused, and its flags, as its ledger tells without its definition.
 *
 * A pause is a signal or, after a flag, an intent of the saga's own; a resume, a cancel and the end are over it. The
 * signals that the door let through stand in the ledger, so nothing of the fold is repeated here but that.
 */
import { isReserved, readReserved, type ReservedData } from "../../actors/contract/reserved-signals.ts";
import type { Flag, Paused } from "../../actors/contract/state.ts";
import type { EventOf } from "../../protocol/event.ts";
import type { Intent } from "../../protocol/intent.ts";
import { limits } from "../../protocol/limits.ts";
import type { Turn } from "../../protocol/turn.ts";

export interface Steering {
  readonly paused?: Paused;
  /** That nobody has acknowledged, oldest first. */
  readonly flags?: Flag[];
}

interface Steered {
  paused: Paused | undefined;
  flags: Flag[];
}

/** How a saga stands after these turns, the first of its ledger and all that follow. */
export function steeringOf(turns: readonly Turn[]): Steering {
  const now: Steered = { paused: undefined, flags: [] };
  for (const { steps, at } of turns)
    for (const { event, intents } of steps) {
      if (event.type === "signal") takeSignal(now, event, at);
      for (const intent of intents) takeIntent(now, intent, at);
    }
  const { paused, flags } = now;
  return {
    ...(paused === undefined ? {} : { paused }),
    ...(flags.length === 0 ? {} : { flags }),
  };
}

function takeSignal(now: Steered, { name, data, from }: EventOf<"signal">, at: number): void {
  const read = isReserved(name) ? readReserved(name, data) : undefined;
  if (read?.success !== true) return;
  if (name === "cancel") now.paused = undefined;
  if (name === "pause") pause(now, at, from, (read.data as ReservedData<"pause">).reason);
  if (name === "resume") Object.assign(now, { paused: undefined, flags: [] });
  if (name !== "flagged") return;
  const { reason, severity, by = from } = read.data as ReservedData<"flagged">;
  const flag = { reason, ...(severity === undefined ? {} : { severity }), by, at };
  now.flags = [...now.flags, flag].slice(-limits.flagsMax);
}

function takeIntent(now: Steered, intent: Intent, at: number): void {
  if (intent.kind === "pause") pause(now, at, intent.by, intent.reason);
  if (intent.kind === "end") now.paused = undefined;
}

function pause(now: Steered, at: number, by: string, reason: string | undefined): void {
  now.paused = { at: now.paused?.at ?? at, by, ...(reason === undefined ? {} : { reason }) };
}
