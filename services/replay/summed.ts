/**
 * Summed: what a report says of a run beside its decisions, gathered as its turns come.
 */
import { definitionOf } from "../../actors/kernel/replay.ts";
import type { Fired, Outcome, PathStep } from "../../protocol/documents/replay.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { IntentOf } from "../../protocol/intent.ts";
import type { Turn } from "../../protocol/turn.ts";
import { firedInTurn } from "./fired.ts";
import { type AnswerOrigins, tracing } from "./path.ts";

/** A recorded run, or one that was decided anew. */
export interface Summed {
  readonly saga: SagaId;
  /** That it goes on under. */
  readonly definition: DefinitionRef;
  readonly outcome: Outcome;
  readonly fired: readonly Fired[];
  /** `origins`: where the answers to what it asked for came from. */
  readonly path: (origins?: AnswerOrigins) => PathStep[];
}

export interface Summing {
  take(turn: Turn): void;
  /** Of the turns taken. Throws LEDGER_BROKEN before the first. */
  sum(): Summed;
}

/** Nothing was taken yet. */
export function summing(): Summing {
  const path = tracing();
  const fired: Fired[] = [];
  let begun: Pick<Summed, "saga" | "definition"> | undefined;
  let end: IntentOf<"end"> | undefined;
  return {
    take: (turn) => {
      begun ??= { saga: turn.saga, definition: definitionOf(turn) };
      for (const { event, intents } of turn.steps) {
        if (event.type === "migrated") begun = { ...begun, definition: event.to };
        // The first end counts: what a parent has undone later is another story.
        for (const intent of intents) if (intent.kind === "end") end ??= intent;
      }
      for (const one of firedInTurn(turn)) fired.push(one);
      path.take(turn);
    },
    sum: () => {
      if (begun === undefined) throw new MeshError("LEDGER_BROKEN", "a ledger has at least one turn");
      return { ...begun, outcome: outcomeOf(end), fired, path: (origins) => path.steps(origins) };
    },
  };
}

function outcomeOf(end: IntentOf<"end"> | undefined): Outcome {
  if (end === undefined) return { status: "running" };
  const { status, output, code, reason } = end;
  return {
    status,
    ...(output === undefined ? {} : { output }),
    ...(code === undefined ? {} : { code }),
    ...(reason === undefined ? {} : { reason }),
  };
}
