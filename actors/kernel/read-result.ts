/**
 * Read result: what a result says of an intent, as the schemas of its definition read it.
 *
 * RZ1 A malformed success is no success: `failed`, or in doubt where the effect cannot be repeated.
 */
import { z } from "zod";
import type { Json } from "../../protocol/json.ts";
import { ModelReply } from "../../protocol/model.ts";
import type { Result } from "../../protocol/result.ts";
import type { Effect } from "../../protocol/tool.ts";
import type { OpenIntent, Unread } from "../contract/state.ts";
import { readOutputWith, readWith } from "../values/schema.ts";
import { type Folding, toolOf } from "./folding.ts";
import { UndoneChild } from "./undo-child.ts";

/** RZ1. The result, and its output as the definition's own schema reads it. */
export function checked(f: Folding, open: OpenIntent, said: Result): { result: Result; output: unknown } {
  const { intent } = open;
  const effect = intent.kind === "tool" ? toolOf(f, intent.name)?.effect : undefined;
  const result =
    said.outcome === "in_doubt" && canRunAgain(effect) ? { ...said, outcome: "failed" as const } : said;
  if (result.outcome !== "succeeded") return { result, output: undefined };
  if (intent.kind === "signal" || intent.kind === "end") return { result, output: result.output };
  const reading = f.state.follows === undefined ? readWith : readOutputWith;
  const parsed = reading(schemaOf(f, open), result.output);
  if (parsed.success)
    return {
      result,
      output: intent.kind === "model" ? f.definition.kind.heard(parsed.data as ModelReply) : parsed.data,
    };
  const { reason } = parsed;
  return effect === "once"
    ? { result: { outcome: "in_doubt", code: "BAD_RESULT", reason }, output: undefined }
    : { result: { outcome: "failed", code: "BAD_RESULT", reason, retry: false }, output: undefined };
}

/** What a schema of the user's has read. */
export function unreadOf({ intent }: OpenIntent, value: Json): Unread | undefined {
  return intent.kind === "tool" || intent.kind === "saga"
    ? { by: intent.kind, name: intent.name, value }
    : undefined;
}

/** Effect classes that are run again without asking how the last attempt ended. */
export const canRunAgain = (effect: Effect | undefined): boolean =>
  effect === "read" || effect === "idempotent";

function schemaOf(f: Folding, open: OpenIntent): z.ZodType {
  const { intent } = open;
  if (intent.kind === "model") return ModelReply;
  if (intent.kind === "tool") return toolOf(f, intent.name)?.output ?? z.json();
  if (intent.kind === "saga" && intent.undoes !== undefined && intent.starts !== true) return UndoneChild;
  if (intent.kind === "saga") return f.definition.sagas.get(intent.name)?.output ?? z.json();
  return z.json();
}
