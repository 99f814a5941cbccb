/**
 * Folded: a ledger's turns and what today's code makes of them.
 *
 * FY1 A ledger that is read some turns at a time is folded on the way by the definition that it began under. Whether it was moved
 *     to another one shows later, and then it is read once more and folded by that.
 * FY2 What is wrong with the fold is told after the ledger was read: what is wrong with the ledger comes first.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import type { Growing } from "../../actors/kernel/folding.ts";
import { definitionOf, foldingLedger, foldTurn, presentDefinition } from "../../actors/kernel/replay.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import type { ReadUpTo, SoFar, TurnTaker } from "./up-to.ts";

/** The definition that a ledger's next turn is decided by. Throws VERSION_UNSERVED if the application lacks it. */
export const servedDefinition = (app: App, turns: readonly Turn[]): Definition =>
  servedAs(app, turns[0]?.saga ?? "", presentDefinition(turns));

/** The same of a saga that goes on under this one. Throws VERSION_UNSERVED. */
export function servedAs(app: App, saga: string, ref: DefinitionRef): Definition {
  const definition = app.definition(ref);
  if (definition !== undefined) return definition;
  throw unserved(saga, ref);
}

const unserved = (saga: string, ref: DefinitionRef): MeshError =>
  new MeshError(
    "VERSION_UNSERVED",
    `${saga} goes on under ${ref.name} version ${ref.version} (${ref.hash}), which the application file does not define`,
  );

/** What a view takes from the definition itself, in pieces. Throws VERSION_UNSERVED, FOLD_DIVERGED, LEDGER_BROKEN. */
export function* viewingByFold(
  app: App,
  turns: readonly Turn[],
): Generator<undefined, { readonly state: SagaState }> {
  const { state } = yield* foldingLedger(servedDefinition(app, turns), turns);
  return { state };
}

/** What the turns of a ledger fold to, and by which definition. */
export interface FoldedTurns {
  readonly definition: Definition;
  readonly state: SagaState;
}

/** The last move of a saga to another definition. */
interface Move {
  readonly turn: number;
  readonly to: DefinitionRef;
}

/** Folds turns as they are read. */
interface FoldingTaker extends TurnTaker {
  /** Of what was taken, where it was begun without one (FY1). */
  moved(): Move | undefined;
  /** Throws VERSION_UNSERVED, FOLD_DIVERGED, LEDGER_BROKEN. */
  folded(): FoldedTurns;
}

function foldingBy(app: App, known: Move | undefined): FoldingTaker {
  const growing: Growing = new WeakSet(); // No state between two turns is kept.
  let moved: Move | undefined;
  let saga: string | undefined;
  let definition: Definition | undefined;
  let state: SagaState | undefined;
  let fault: unknown;
  const fold = (turn: Turn) => {
    if (saga === undefined) {
      saga = turn.saga;
      const ref = known?.to ?? definitionOf(turn);
      definition = app.definition(ref);
      if (definition === undefined) fault = unserved(saga, ref);
    }
    const comparison = turn.turn < (known?.turn ?? 0) ? "but for requests" : "strict";
    if (definition !== undefined) ({ state } = foldTurn(definition, state, turn, comparison, growing));
  };
  return {
    take: (turn) => {
      for (const { event } of turn.steps)
        if (event.type === "migrated") moved = { turn: turn.turn, to: event.to };
      if (fault !== undefined || (known === undefined && moved !== undefined)) return;
      try {
        fold(turn);
      } catch (error) {
        fault = error; // FY2
      }
    },
    moved: () => moved,
    folded: () => {
      if (fault !== undefined) throw fault as Error; // Proof: what was thrown or made here.
      if (definition !== undefined && state !== undefined) return { definition, state };
      throw new MeshError("LEDGER_BROKEN", "a ledger has at least one turn");
    },
  };
}

/**
 * Reads a ledger and folds it on the way, beside who else takes its turns; `begin` is called for each time it is read anew. Throws
 * as `read` does, VERSION_UNSERVED, FOLD_DIVERGED.
 */
export async function readFolded<T extends TurnTaker>(
  app: App,
  read: ReadUpTo,
  begin: () => T,
): Promise<SoFar<T> & FoldedTurns> {
  const first = await read(() => {
    const [own, folding] = [begin(), foldingBy(app, undefined)];
    return {
      ...{ own, folding },
      take: (turn) => {
        own.take(turn);
        folding.take(turn);
      },
      beyond: (turn) => own.beyond?.(turn),
    } satisfies TurnTaker & { own: T; folding: FoldingTaker };
  });
  const { own: taker, folding } = first.taker;
  const move = folding.moved();
  const last =
    move === undefined ? folding : (await read(() => foldingBy(app, move), first.last?.turn)).taker;
  return { ...first, taker, ...last.folded() };
}
