/**
 * Frozen: a state that no later turn can write into. Of the machine's snapshot what a turn could reach: its context and
 * the record of its children; the machine itself is shared by all.
 */
import type { SagaState } from "../../actors/contract/state.ts";

export function frozenState(state: SagaState): SagaState {
  const { snapshot, ...rest } = state;
  freeze(rest);
  if (snapshot !== undefined) {
    freeze(snapshot.context);
    Object.freeze(snapshot.children);
    Object.freeze(snapshot.historyValue);
  }
  return Object.freeze(state);
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const member of Object.values(value)) freeze(member);
}
