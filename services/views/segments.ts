/**
 * Segments: a ledger by the definitions that decided it. One that was never moved is one segment.
 *
 * SG1 A turn is proved by the definition that decided it, folded over all turns before it. Its own turns are compared
 *     strictly, those before it as they were when it took over (actors/kernel/migrated.ts).
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { definitionOf } from "../../actors/kernel/replay.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";

export interface Segment {
  readonly definition: DefinitionRef;
  /** Its first turn and its last one. */
  readonly from: number;
  readonly to: number;
}

/** Finds them as turns are read. */
export interface SegmentFinder {
  take(turn: Turn): void;
  /** Of the turns taken, in their order. Throws LEDGER_BROKEN for a ledger without a start. */
  segments(): readonly [Segment, ...Segment[]];
}

/** Nothing was taken yet. */
export function findingSegments(): SegmentFinder {
  let first: Turn | undefined;
  let last = 0;
  const moves: Pick<Segment, "definition" | "from">[] = [];
  return {
    take: (turn) => {
      first ??= turn;
      last = turn.turn;
      for (const { event } of turn.steps)
        if (event.type === "migrated") moves.push({ from: turn.turn, definition: event.to });
    },
    segments: () => {
      if (first === undefined) throw new MeshError("LEDGER_BROKEN", "a ledger has at least one turn");
      const began = [{ from: first.turn, definition: definitionOf(first) }, ...moves];
      const segments = began.map(({ from, definition }, index) => ({
        ...{ definition, from },
        to: (began[index + 1]?.from ?? last + 1) - 1,
      }));
      return segments as [Segment, ...Segment[]]; // Proof: a ledger begins with a definition.
    },
  };
}

/** Of turns at hand. Throws as `SegmentFinder.segments`. */
export function segmentsOf(turns: readonly Turn[]): readonly [Segment, ...Segment[]] {
  const finder = findingSegments();
  for (const turn of turns) finder.take(turn);
  return finder.segments();
}

/** The definition of a segment. Throws VERSION_UNSERVED if the application lacks it. */
export function servedBy(app: App, { saga }: { readonly saga: string }, segment: Segment): Definition {
  const { definition: ref, from, to } = segment;
  const definition = app.definition(ref);
  if (definition !== undefined) return definition;
  throw new MeshError(
    "VERSION_UNSERVED",
    `turns ${from} to ${to} of ${saga} were decided by ${ref.name} version ${ref.version} (${ref.hash}), which the application file does not define`,
    { remedy: "Name an application file that defines that version, too." },
  );
}
