/**
 * Read signal: what a signal says, if the saga takes it now; else why not, as a coded error.
 */
import { z } from "zod";
import type { BudgetRaise } from "../../protocol/budget.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { EventOf } from "../../protocol/event.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { Definition } from "../contract/definition.ts";
import {
  isReserved,
  isTaken,
  readReserved,
  type ReservedSignal,
  unknownSignal,
} from "../contract/reserved-signals.ts";
import type { SagaState } from "../contract/state.ts";
import { givenFor, readWith } from "../values/schema.ts";
import { refusalOfRaise } from "./raise.ts";
import { orderOf } from "./undo-child.ts";

/**
 * Its data as its schema takes it. Throws SIGNAL_EXPIRED, SIGNAL_UNKNOWN, SAGA_ENDED, INPUT_INVALID,
 * MIGRATION_REFUSED, and what the saga's kind refuses it with.
 */
export function readSignal(
  definition: Definition,
  state: SagaState,
  event: EventOf<"signal">,
  now: number,
): Json {
  assertFresh(event, now);
  assertAddressee(definition, state, event);
  if (event.name === "migrate")
    throw new MeshError(
      "MIGRATION_REFUSED",
      `${state.saga} goes on as ${definition.name} ${definition.hash}`,
    );
  const isUndone = event.name === "cancel" && orderOf(state, event.data) !== undefined;
  if (!isUndone) assertTaken(definition, state, event.name);
  const data = readData(definition, event);
  if (event.name === "budget") assertRaise(state, data as BudgetRaise);
  assertTimely(definition, state, { name: event.name, data });
  return data;
}

/** Throws SIGNAL_EXPIRED: of an older signal it is no longer known whether it was taken. */
export function assertFresh({ name, sentAt }: EventOf<"signal">, now: number): void {
  const ageMs = now - sentAt;
  if (ageMs > limits.signalHorizonMs)
    throw new MeshError(
      "SIGNAL_EXPIRED",
      `signal "${name}" is ${Math.round(ageMs / 1000)} s old, over ${limits.signalHorizonMs / 1000} s`,
    );
}

function assertRaise(state: SagaState, raise: BudgetRaise): void {
  const refusal = refusalOfRaise(state, raise);
  if (refusal !== undefined) throw new MeshError("INPUT_INVALID", refusal);
}

/** What the kind takes only as the saga is now: an edit of its memory, say. The fold looks again. */
function assertTimely(
  definition: Definition,
  state: SagaState,
  signal: { readonly name: string; readonly data: Json },
): void {
  const refusal = definition.kind.refusalOf?.(definition, state, signal);
  if (refusal !== undefined) throw new MeshError(refusal.code, refusal.reason);
}

/** Another saga writes to one of a definition, and knows only an id: what it says means nothing to any other. */
function assertAddressee({ name }: Definition, { saga }: SagaState, event: EventOf<"signal">): void {
  if (event.to !== undefined && event.to !== name)
    throw new MeshError(
      "SIGNAL_UNKNOWN",
      `"${event.name}" from ${event.from} is for a saga of ${event.to}, and ${saga} is one of ${name}`,
      { remedy: "Send it to the id of a saga of that definition." },
    );
}

function assertTaken(definition: Definition, { saga, phase }: SagaState, signal: string): void {
  const isOwn = Object.hasOwn(definition.signals, signal);
  if (!isOwn && !isTaken(definition.kind.takes, signal))
    throw unknownSignal(definition.kind.takes, definition.name, signal, Object.keys(definition.signals));
  if (phase.kind === "ended")
    throw new MeshError("SAGA_ENDED", `${saga} has ended; "${signal}" came too late`);
  if (phase.kind !== "running" && (signal === "pause" || signal === "instruct"))
    throw new MeshError(
      "SAGA_ENDED",
      `${saga} is about to end and decides nothing more; "${signal}" came too late`,
    );
}

const readData = (definition: Definition, { name, data }: EventOf<"signal">): Json => {
  const schema = isReserved(name) ? undefined : definition.signals[name];
  if (schema !== undefined) return readBody(schema, data, name);
  const read = readReserved(name as ReservedSignal, data); // Proof: assertTaken has let it through.
  if (read.success) return read.data;
  throw new MeshError("INPUT_INVALID", `signal "${name}": ${read.reason}`);
};

/**
 * A signal's data as its schema takes it. A plain text also fits a schema of one text member, so that
 * `nats pub saga.<id>.signal.note 'Tuesday only'` works where the schema is `{ text }`; no data fits `{}`.
 */
function readBody(schema: z.ZodType, given: Json, name: string): Json {
  const data = givenFor(schema, given);
  const read = readWith(schema, data);
  if (read.success) return data;
  if (typeof data === "string" && schema instanceof z.ZodObject) {
    const [key, ...more] = Object.keys(schema.shape);
    if (key !== undefined && more.length === 0 && readWith(schema, { [key]: data }).success)
      return { [key]: data };
  }
  throw new MeshError("INPUT_INVALID", `signal "${name}": ${read.reason}`);
}
