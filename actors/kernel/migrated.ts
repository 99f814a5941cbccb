/**
 * Migrated: what the record of a move to another definition does to the state, and how turns from before it are read.
 *
 * Owns: the event `migrated` in the fold; what of an intent is compared across definitions. Does not own: whether a
 * saga may be moved (migrate.ts), who serves what (services/host).
 *
 * MG1 The state after a move is the fold of the whole ledger under the new definition: nothing is carried over from
 *     the old one's state.
 * MG2 A request that was asked for under the old definition is not what the new one would send. So every open call of
 *     a model is closed, and asked anew under the new frame, with a digest of its own.
 */
import type { Closing } from "../../protocol/closing.ts";
import { limits } from "../../protocol/limits.ts";
import type { EventOf } from "../../protocol/event.ts";
import type { Intent } from "../../protocol/intent.ts";
import type { Turn } from "../../protocol/turn.ts";
import { askAnew } from "./ask-anew.ts";
import { closedAs, closeIntent, type Folding, openEntries } from "./folding.ts";
import { reservedSignals } from "../contract/reserved-signals.ts";
import type { SagaState } from "../contract/state.ts";
import { remember } from "./seen.ts";

/**
 * How a fold is held against the record. `but for requests`: of a model call only that one is asked for there, and
 * about what. Neither of which model and with which digest, which are the definition's, nor what was reserved for it,
 * which follows from the prompt's length. Nor the contract of a call, or of a call that people approve: what is over
 * is over under the old one, and what is open is held to it when the saga is moved (migrate.ts).
 */
export type Comparison = "strict" | "but for requests";

/** What of an intent is compared. */
export function compared(intent: Intent, comparison: Comparison): Partial<Intent> {
  if (comparison === "strict") return intent;
  if (intent.kind === "tool" || intent.kind === "task") return { ...intent, ...ofContract };
  if (intent.kind !== "model") return intent;
  const { name: _name, request: _request, budget: _budget, outputTokensMax: _max, ...rest } = intent;
  return rest;
}

/** What a tool intent and a task say of a contract; canonical JSON leaves out what is undefined. */
const ofContract = { contract: undefined, digest: undefined };

/** What of a closing is compared: words about a request's size follow from the prompt. */
export function comparedClosing(closing: Closing, comparison: Comparison): Partial<Closing> {
  if (comparison === "strict") return closing;
  const { reason: _reason, ...rest } = closing;
  return rest;
}

/** The last move of a ledger to another definition, and its turn. */
export function lastMigration(
  turns: readonly Turn[],
): { readonly turn: number; readonly event: EventOf<"migrated"> } | undefined {
  for (const { turn, steps } of turns.toReversed())
    for (const { event } of steps) if (event.type === "migrated") return { turn, event };
  return undefined;
}

/** From now on the saga is the new definition's, whose fold `f` is already (MG1). */
export function takeMigrated(f: Folding, { from, to, id: signal, sentAt }: EventOf<"migrated">): void {
  const until = Math.max(sentAt, f.at) + limits.signalHorizonMs + limits.clockSkewMs;
  f.state.seen = remember(f.state.seen, { type: "signal", id: signal }, until);
  f.state.startedAs ??= from;
  f.state.definition = to;
  for (const [id, open] of openEntries(f)) {
    if (open.intent.kind !== "model") continue;
    // MG2. What the old call costs is charged when it comes in, like that of any superseded one.
    closeIntent(f, id, closedAs("superseded", "moved"));
    askAnew(f, open);
  }
}

/** A saga is asked to go on under the definition it has. To any other it is moved before anything is judged. */
export const isMovedTo = ({ definition }: SagaState, { name, data }: EventOf<"signal">): boolean => {
  const read = name === "migrate" ? reservedSignals.migrate.safeParse(data) : undefined;
  return read?.data?.definition.hash === definition.hash;
};
