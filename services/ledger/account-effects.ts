/**
 * Account of effects: what stands of what a saga has done, by what each step closed.
 */
import type { IntentId } from "../../protocol/ids.ts";
import type { DecidedIntent, Ended, Reading, StandingEffect, StepPlace, Telling } from "./account.ts";

/** What an intent does to what stands as it is decided: it undoes something, or a human is asked to. */
export function takeUndoing(reading: Reading, intent: DecidedIntent): void {
  const undoes = undoneBy(intent);
  if (undoes !== undefined && reading.effects.has(undoes)) reading.undoing.set(undoes, intent.id);
  if (intent.kind === "task" && intent.about === "stuck" && intent.of !== undefined)
    reading.undoing.set(intent.of, "stuck");
}

/** What the end of an intent does to what stands. */
export function takeEffect(reading: Reading, { intent }: Telling, ended: Ended, at: StepPlace): void {
  const { id } = intent;
  const undoes = undoneBy(intent);
  if (ended.as !== "in_doubt") reading.doubts.delete(id);
  else if (intent.kind === "tool" && intent.for === undefined) reading.doubts.add(id);
  if (undoes !== undefined) return ended.as === "succeeded" ? undo(reading, undoes, id) : undefined;
  if (intent.kind === "task" && intent.about === "stuck" && intent.of !== undefined)
    return ended.as === "succeeded" ? undo(reading, intent.of, id) : undefined;
  const effect = effectOf(intent, ended, at);
  if (effect !== undefined) return stand(reading, effect);
  // That it did not happen after all; while it is being undone it stands until that is over.
  const being = reading.undoing.get(id);
  if (ended.as === "failed" && (being === undefined || being === "stuck")) reading.effects.delete(id);
}

const undoneBy = (intent: DecidedIntent): IntentId | undefined =>
  intent.kind === "tool" || intent.kind === "saga" ? intent.undoes : undefined;

function effectOf(intent: DecidedIntent, ended: Ended, { event }: StepPlace): StandingEffect | undefined {
  if (intent.kind === "saga") {
    const result = event.type === "result" && event.intent === intent.id ? event.result : undefined;
    const isUndoable = result?.outcome === "succeeded" && result.undoable === true;
    if (intent.for !== undefined || ended.as !== "succeeded") return undefined;
    if (!isUndoable && ended.stands !== true) return undefined;
    return { intent: intent.id, tool: intent.name, key: intent.saga, outcome: "succeeded" };
  }
  if (intent.kind !== "tool" || intent.for !== undefined || intent.reads === true) return undefined;
  const { id, name: tool, key } = intent;
  if (ended.as === "succeeded") return { intent: id, tool, key, outcome: "succeeded" };
  return ended.as === "in_doubt" || ended.stands === true
    ? { intent: id, tool, key, outcome: "in_doubt" }
    : undefined;
}

/** What stood in doubt keeps its place; an undoing that was decided before may have come before the effect. */
function stand(reading: Reading, effect: StandingEffect): void {
  reading.undoing.delete(effect.intent);
  reading.undone.delete(effect.intent);
  reading.effects.set(effect.intent, effect);
  reading.changes.push({ type: "stood", effect });
}

/** An effect whose success came in after its undoing was decided needs another. */
function undo(reading: Reading, id: IntentId, by: IntentId): void {
  const effect = reading.effects.get(id);
  const being = reading.undoing.get(id);
  if (effect === undefined || (being !== by && being !== "stuck")) return;
  reading.effects.delete(id);
  reading.undoing.delete(id);
  reading.undone.set(id, by);
  reading.changes.push({ type: "undone", effect });
}
