/**
 * Folded: a ledger's turns and what today's code makes of them.
 */
import type { Definition } from "../../actors/definition.ts";
import { definitionOf, foldLedger } from "../../actors/replay.ts";
import type { SagaState } from "../../actors/state.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app.ts";

/** The definition a ledger was started with. Throws VERSION_UNSERVED if the application lacks it. */
export function servedDefinition(app: App, turns: readonly Turn[]): Definition {
  const [first] = turns;
  if (first === undefined) throw new MeshError("LEDGER_BROKEN", "a ledger has at least one turn");
  const ref = definitionOf(first);
  const definition = app.definition(ref);
  if (definition !== undefined) return definition;
  throw new MeshError(
    "VERSION_UNSERVED",
    `${first.saga} was started with ${ref.name} version ${ref.version} (${ref.hash}), which the application file does not define`,
  );
}

/** The state that turns fold to. Throws VERSION_UNSERVED, FOLD_DIVERGED, LEDGER_BROKEN. */
export const foldedState = (app: App, turns: readonly Turn[]): SagaState =>
  foldLedger(servedDefinition(app, turns), turns).state;
