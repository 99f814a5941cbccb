/**
 * Every decision of turns at hand, whatever definitions they were decided under: the reference of what a replay walks as it reads.
 */
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../../services/app/app.ts";
import { recordedDecisions, type RecordedDecision } from "../../services/replay/decisions.ts";
import { segmentsOf, servedBy } from "../../services/views/segments.ts";

/** In pieces of a turn each. Throws VERSION_UNSERVED where a definition is not served. */
export function* everyDecision(app: App, turns: readonly Turn[]): Generator<undefined, RecordedDecision[]> {
  const decisions: RecordedDecision[] = [];
  for (const segment of segmentsOf(turns)) {
    const definition = servedBy(app, { saga: turns[0]?.saga ?? "" }, segment);
    const recorded = yield* recordedDecisions(definition, turns.slice(0, segment.to), segment.from);
    for (const decision of recorded) decisions.push(decision);
  }
  return decisions;
}
