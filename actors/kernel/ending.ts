/**
 * Ending: what the final state of a saga's machine comes to.
 */
import { type Json, toJson } from "../../protocol/json.ts";
import type { Definition } from "../contract/definition.ts";
import { readWith } from "../values/schema.ts";
import type { statusOf } from "../machine/machine.ts";
import type { Ending } from "../contract/state.ts";

/** How the machine's final state ends the saga. An output that does not fit is a failure nobody handled. */
export function endingOf(
  definition: Definition,
  { tags, output, value }: ReturnType<typeof statusOf>,
): Ending {
  const status = tags.includes("cancelled") ? "cancelled" : tags.includes("failed") ? "failed" : "completed";
  const said = toJson(output);
  const fields = (typeof said === "object" && said !== null && !Array.isArray(said) ? said : {}) as Record<
    string,
    Json
  >;
  const { reason, because, code } = fields;
  if (definition.kind !== "saga") {
    if (status === "completed") return { status, output: fields["output"] ?? null };
    return { status, reason: textOf(reason) ?? "", code: textOf(code) ?? "" };
  }
  if (status !== "completed")
    return {
      status,
      output: said,
      reason: textOf(because) ?? textOf(reason) ?? `ended in ${JSON.stringify(value)}`,
      ...(typeof code === "string" && code !== "" ? { code } : {}), // As of an agent or a workflow.
    };
  // What is recorded must fit, for the parent and the client read no more than that; null stands for nothing.
  const read = readWith(definition.output, said);
  const saysNothing = output === undefined && readWith(definition.output, undefined).success;
  if (read.success || saysNothing) return { status, output: said };
  return {
    status: "failed",
    code: "BAD_RESULT",
    reason: `the machine's output does not fit: ${read.reason}`,
  };
}

const textOf = (value: Json | undefined): string | undefined =>
  typeof value === "string" ? value : undefined;
