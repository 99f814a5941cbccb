/**
 * Hand-off: an agent's end, as the one that has taken its work over brings it.
 *
 * HO1 The successor is a child: it is started once, a cancel reaches it, and it undoes its own effects first.
 * HO2 Its output must be one that this agent could have given itself. What it fails with, this agent fails with, and
 *     then its own effects are undone.
 */
import { type Json, toJson } from "../../protocol/json.ts";
import type { AgentSpec } from "../request/agent-spec.ts";
import { readWith } from "../values/schema.ts";

/** What an agent ends with. */
export interface Ended {
  readonly status: "completed" | "failed" | "cancelled";
  readonly output?: Json;
  readonly code?: string;
  readonly reason?: string;
}

/** HO2. `result` is the successor's end as this agent's machine hears of it. */
export function endBy(
  spec: AgentSpec,
  result: { readonly output?: unknown; readonly error?: { readonly code: string; readonly reason: string } },
): Ended {
  const { error } = result;
  if (error !== undefined)
    return { status: "failed", code: error.code, reason: `who took the work over failed: ${error.reason}` };
  const output = toJson(result.output);
  const read = readWith(spec.output, output);
  if (read.success) return { status: "completed", output };
  return {
    status: "failed",
    code: "BAD_RESULT",
    reason: `the output of the agent that took the work over is not this agent's: ${read.reason}`,
  };
}
