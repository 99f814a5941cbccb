/**
 * Long ledger: a saga of n calls, one after the other, each of which stands for good, as its ledger keeps it.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { decideTurn } from "../../actors/kernel/fold.ts";
import { layBy, partOf, pastWith } from "../../actors/kernel/past.ts";
import type { Event } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { ledgerVersion, type Turn } from "../../protocol/turn.ts";

/**
 * The turns of a saga that is given `input` and whose calls all succeed, so many at most. What stands is laid by on the way, as
 * in a host: else each turn would copy all of it.
 */
export function longLedger(definition: Definition, saga: SagaId, input: object, turnsMax: number): Turn[] {
  const { name, version, hash } = definition;
  const turns: Turn[] = [];
  let state: SagaState | undefined;
  let event: Event = { type: "start", definition: { name, version, hash }, input: { ...input } };
  while (turns.length < turnsMax) {
    const turn = turns.length + 1;
    const decided = decideTurn(definition, state, { saga, at: turn, events: [event] });
    turns.push({ v: ledgerVersion, saga, turn, at: turn, host: "h", prev: "", steps: decided.steps });
    const part = partOf(decided.state);
    state =
      part === undefined
        ? decided.state
        : layBy(decided.state, part, pastWith(decided.state.past, part, `${turn}`));
    const [open] = Object.values(decided.state.open);
    if (open === undefined) break;
    const result = { outcome: "succeeded" as const, output: {} };
    event = { type: "result", intent: open.intent.id, attempt: 1, by: "h", result };
  }
  return turns;
}
