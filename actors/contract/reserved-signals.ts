/**
 * Reserved signals: what every saga takes from outside without declaring it, one row each: the schema of its data.
 *
 * Owns: names, schemas, and how a body that is no object is read. Does not own: what a signal does (steering.ts,
 * fold.ts, agent.ts), nor whether a saga takes it now (accept.ts).
 *
 * RS1 A definition cannot declare a signal by a name of this table.
 * RS2 A body that is no object stands for the row's first member, so `nats pub saga.<id>.signal.instruct 'Only
 *     Tuesday'` works; no body stands for an object without members.
 */
import { z } from "zod";
import { BudgetRaise } from "../../protocol/budget.ts";
import { MeshError } from "../../protocol/errors.ts";
import { DefinitionRef } from "../../protocol/event.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { didYouMean } from "../../protocol/nearest.ts";
import { Invalidation } from "../../protocol/workflow.ts";
import { readWith } from "../values/schema.ts";

const reason = z.string().min(1).max(limits.reasonLengthMax);

/** Each row is a name and the schema of its data. */
export const reservedSignals = {
  /** Undo what was done, then end. Takes any data, because a person who wants to stop a saga should not fail at a schema. */
  cancel: z.json(),
  /** Take nothing more until `resume`. With `tree` its open children too, and theirs. */
  pause: z.object({ reason: reason.optional(), tree: z.boolean().optional() }),
  /** Go on with what came meanwhile, in order. Acknowledges every flag. */
  resume: z.object({ reason: reason.optional(), tree: z.boolean().optional() }),
  /** New instructions from a human, for an agent's model. */
  instruct: z.object({ text: z.string().min(1) }),
  /** From an outside evaluator: no call of the agent's model begins within this time from now. */
  rate_limited: z.object({ forMs: z.int().min(0).max(limits.rateLimitMaxMs), reason: reason.optional() }),
  /** From an outside evaluator: something is wrong with what this saga does. */
  flagged: z.object({
    reason,
    severity: z.enum(["low", "medium", "high"]).optional(),
    by: z.string().min(1).max(200).optional(),
  }),
  /** Something that a workflow had done holds no more. What rests on it is undone, and done again or not. */
  invalidate: Invalidation,
  /** Nothing that a workflow did will be invalidated any more: once all is done, it ends. */
  conclude: z.object({ reason: reason.optional() }),
  /** Adds to the limits of the saga's budget, at any time; a number alone adds steps. */
  budget: BudgetRaise,
  /** Go on under this definition, if it decides all that was decided (migrate.ts). The host answers it, not the fold. */
  migrate: z.object({ definition: DefinitionRef }),
} as const satisfies Readonly<Record<string, z.ZodType>>;

/** A signal of this table. */
export type ReservedSignal = keyof typeof reservedSignals;
/** What a signal of this table holds. */
export type ReservedData<K extends ReservedSignal> = z.input<(typeof reservedSignals)[K]>;

/** What only some kinds take, and what such a signal speaks of. A kind names those it takes. */
const notForAll: Readonly<Record<string, string>> = {
  instruct: "speaks to a model, and {} has none of its own",
  rate_limited: "speaks to a model, and {} has none of its own",
  invalidate: "speaks of nodes, and {} has none",
  conclude: "speaks of nodes, and {} has none",
} satisfies Partial<Record<ReservedSignal, string>>;

/** Whether a name is one of this table's. */
export const isReserved = (name: string): name is ReservedSignal => Object.hasOwn(reservedSignals, name);

/** Names of what a definition takes beside its own signals; `takes` are its kind's. */
export const reservedFor = (takes: readonly string[]): ReservedSignal[] =>
  (Object.keys(reservedSignals) as ReservedSignal[]).filter((name) => isTaken(takes, name));

/** Whether a definition takes a signal that it does not declare; `takes` are its kind's. */
export const isTaken = (takes: readonly string[], name: string): name is ReservedSignal =>
  isReserved(name) && (!Object.hasOwn(notForAll, name) || takes.includes(name));

/** Why a saga takes no signal of this name, and what to do. `declared` are those that its definition names. */
export function unknownSignal(
  takes: readonly string[],
  definition: string,
  signal: string,
  declared: readonly string[] = [],
): MeshError {
  const known = [...reservedFor(takes), ...declared];
  const taken = `it takes ${known.join(", ")}${didYouMean(signal, known)}`;
  const why = isReserved(signal) ? notForAll[signal] : undefined;
  if (why === undefined)
    return new MeshError("SIGNAL_UNKNOWN", `${definition} declares no signal "${signal}"; ${taken}`);
  return new MeshError("SIGNAL_UNKNOWN", `"${signal}" ${why.replace("{}", definition)}; ${taken}`, {
    remedy: "Declare a signal of another name in the machine's definition, and let its states take it.",
  });
}

/** A reserved signal's data as its row takes it (RS2), or why it does not. */
export function readReserved(
  name: ReservedSignal,
  data: Json,
): { success: true; data: Json } | { success: false; reason: string } {
  const schema: z.ZodType = reservedSignals[name];
  const whole = schema instanceof z.ZodObject ? wholeBody(schema, data) : data;
  const read = readWith(schema, whole);
  return read.success ? { success: true, data: whole } : read;
}

function wholeBody(schema: z.ZodObject, data: Json): Json {
  if (data === null) return {};
  if (typeof data === "object") return data;
  const [first] = Object.keys(schema.shape);
  return first === undefined ? data : { [first]: data };
}
