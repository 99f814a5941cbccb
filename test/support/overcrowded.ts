/**
 * Overcrowded: what of a line of children is not as it should be, by the ledgers alone: of a parent, which says who begins, and
 * of its children, which tell by their first turns when they did.
 */
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { StoredTurn } from "../../services/ledger/reader.ts";

/** In words. Of parents alone that have a line: all others have as many children as they may. */
export function overcrowded(ledgers: ReadonlyMap<SagaId, readonly StoredTurn[]>, places: number): string[] {
  return [...ledgers].flatMap(([saga, turns]) => {
    const children = childrenIn(turns);
    const hasLine = [...children.values()].some(({ inLine }) => inLine === true);
    return hasLine ? [...tooMany(saga, turns, places), ...early(turns, children, ledgers)] : [];
  });
}

const childrenIn = (turns: readonly StoredTurn[]): Map<IntentId, IntentOf<"saga">> =>
  new Map(
    turns.flatMap(({ turn }) =>
      turn.steps.flatMap(({ intents }) =>
        intents.flatMap((one) =>
          one.kind === "saga" && one.undoes === undefined ? [[one.id, one] as const] : [],
        ),
      ),
    ),
  );

function tooMany(saga: SagaId, turns: readonly StoredTurn[], places: number): string[] {
  const running = new Set<IntentId>();
  const found: string[] = [];
  for (const { turn } of turns)
    for (const { intents, closed, begun = [] } of turn.steps) {
      for (const { intent } of closed) running.delete(intent);
      for (const one of intents)
        if (one.kind === "saga" && one.undoes === undefined && one.inLine !== true) running.add(one.id);
      for (const { intent } of begun) running.add(intent);
      if (running.size > places)
        found.push(`${saga} has ${running.size} children at once in turn ${turn.turn}, and ${places} places`);
    }
  return found;
}

/** A child that began before its parent said so, or although it never did. */
function early(
  turns: readonly StoredTurn[],
  children: ReadonlyMap<IntentId, IntentOf<"saga">>,
  ledgers: ReadonlyMap<SagaId, readonly StoredTurn[]>,
): string[] {
  const begunAt = new Map<IntentId, number>();
  for (const { turn, storedAt } of turns)
    for (const { begun = [] } of turn.steps) for (const { intent } of begun) begunAt.set(intent, storedAt);
  return [...children.values()].flatMap(({ id, saga, inLine }) => {
    const first = ledgers.get(saga)?.[0];
    const since = begunAt.get(id);
    if (inLine !== true || first === undefined || (since !== undefined && since <= first.storedAt)) return [];
    return [`${saga} (${id}) began at ${first.storedAt}, and left the line ${since ?? "never"}`];
  });
}
