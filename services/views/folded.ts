/**
 * Folded: a ledger's turns and what today's code makes of them.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { foldingLedger, presentDefinition } from "../../actors/kernel/replay.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";

/** The definition that a ledger's next turn is decided by. Throws VERSION_UNSERVED if the application lacks it. */
export function servedDefinition(app: App, turns: readonly Turn[]): Definition {
  const ref = presentDefinition(turns);
  const definition = app.definition(ref);
  if (definition !== undefined) return definition;
  throw new MeshError(
    "VERSION_UNSERVED",
    `${turns[0]?.saga ?? ""} goes on under ${ref.name} version ${ref.version} (${ref.hash}), which the application file does not define`,
  );
}

/** What a view takes from the definition itself, in pieces. Throws VERSION_UNSERVED, FOLD_DIVERGED, LEDGER_BROKEN. */
export function* viewingByFold(
  app: App,
  turns: readonly Turn[],
): Generator<undefined, { readonly state: SagaState }> {
  const { state } = yield* foldingLedger(servedDefinition(app, turns), turns);
  return { state };
}
