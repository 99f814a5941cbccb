/**
 * Open work: which open intents a turn leaves to be handed on, and which of a state's are its host's own to perform.
 */
import type { DecidedTurn } from "../../actors/kernel/fold.ts";
import { isSimulated } from "../../actors/kernel/lineage.ts";
import { isInLine, isOwnWork, type OpenIntent, type SagaState } from "../../actors/contract/state.ts";
import type { Event } from "../../protocol/event.ts";
import type { IntentId } from "../../protocol/ids.ts";

/**
 * The open intents that this turn brought: new ones, next attempts, children that left the line, deferred ones that need
 * their limit. Those in line among them are handed on by nobody (hands.ts). All of them
 * where a fork begins: what it inherited was never handed on for it.
 */
export function intentsToDispatch(decided: DecidedTurn, events: readonly Event[]): OpenIntent[] {
  if (events.some(({ type }) => type === "forked")) return Object.values(decided.state.open);
  const ids = new Set<IntentId>();
  for (const { intents, begun = [] } of decided.steps) {
    for (const { id } of intents) ids.add(id);
    for (const { intent } of begun) ids.add(intent);
  }
  for (const event of events) if (event.type === "deferred") ids.add(event.intent);
  return [...ids].flatMap((id) => decided.state.open[id] ?? []);
}

/** What the host performs itself, now or after a backoff, or answers for a fork. */
export const ownWorkOf = (
  state: SagaState,
  placementOf: (contract: string) => "worker" | "host",
): OpenIntent[] =>
  Object.values(state.open).filter(
    (open) => isOwnWork(open, placementOf) || (isSimulated(state, open.intent) && !isInLine(open)),
  );
