/**
 * Account of steering: whether a saga is paused, and its flags.
 *
 * A pause is a signal or, after a flag, an intent of the saga's own; a resume, a cancel and the end are over it. The
 * signals that the door let through stand in the ledger, so nothing of the fold is repeated here but that.
 */
import { isReserved, readReserved, type ReservedData } from "../../actors/contract/reserved-signals.ts";
import type { EventOf } from "../../protocol/event.ts";
import { limits } from "../../protocol/limits.ts";
import type { Reading, StepPlace } from "./account.ts";

export function takeSteering(reading: Reading, { event, intents, at }: StepPlace): void {
  if (event.type === "signal") takeSignal(reading, event, at);
  for (const intent of intents) {
    if (intent.kind === "pause") pause(reading, at, intent.by, intent.reason);
    if (intent.kind === "end") reading.paused = undefined;
  }
}

function takeSignal(reading: Reading, { name, data, from }: EventOf<"signal">, at: number): void {
  const read = isReserved(name) ? readReserved(name, data) : undefined;
  if (read?.success !== true) return;
  if (name === "cancel") reading.paused = undefined;
  if (name === "pause") pause(reading, at, from, (read.data as ReservedData<"pause">).reason);
  if (name === "resume") Object.assign(reading, { paused: undefined, flags: [] });
  if (name !== "flagged") return;
  const { reason, severity, by = from } = read.data as ReservedData<"flagged">;
  const flag = { reason, ...(severity === undefined ? {} : { severity }), by, at };
  reading.flags = [...reading.flags, flag].slice(-limits.flagsMax);
}

function pause(reading: Reading, at: number, by: string, reason: string | undefined): void {
  reading.paused = { at: reading.paused?.at ?? at, by, ...(reason === undefined ? {} : { reason }) };
}
