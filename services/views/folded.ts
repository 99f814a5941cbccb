/**
 * Folded: a ledger's turns and what today's code makes of them.
 */
import type { z } from "zod";
import type { Definition } from "../../actors/contract/definition.ts";
import { readWith } from "../../actors/values/schema.ts";
import { foldLedger, presentDefinition } from "../../actors/kernel/replay.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { Json } from "../../protocol/json.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app/app.ts";
import type { ViewOptions } from "./view.ts";

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

/**
 * What a view takes from the definition itself: what the turns fold to, and each tool's contract. Throws
 * VERSION_UNSERVED, FOLD_DIVERGED, LEDGER_BROKEN.
 */
export const viewingByFold = (
  app: App,
  turns: readonly Turn[],
): { readonly state: SagaState; readonly contractOf: NonNullable<ViewOptions["contractOf"]> } => {
  const definition = servedDefinition(app, turns);
  const { tools } = definition;
  return {
    state: foldLedger(definition, turns).state,
    contractOf: (name) => {
      const tool = tools.get(name);
      return tool && { effect: tool.effect, misfitOf: (output) => misfitOf(tool.output, output) };
    },
  };
};

function misfitOf(schema: z.ZodType, output: Json): string | undefined {
  const read = readWith(schema, output);
  return read.success ? undefined : read.reason;
}
