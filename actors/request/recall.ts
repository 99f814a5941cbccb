/**
 * Recall: the call by which a model fetches back what a context policy left out.
 *
 * A tool intent like any other read, recorded and answered once; performed by the saga's own host from the saga's own
 * ledger, so it needs no body and no worker, on whichever host the saga is.
 */
import { z } from "zod";
import type { Json } from "../../protocol/json.ts";
import type { ModelMessage } from "../../protocol/model.ts";
import type { Result } from "../../protocol/result.ts";
import { recallCall } from "./sent.ts";
import { defineTool } from "../contract/tool.ts";

/** Offered under a selective policy, and only there. */
export const recallTool = defineTool({
  name: "recall",
  description:
    "Gives an earlier call of yours back whole, with its input and its result: where a result shows only `recall`, or was left out with its message.",
  effect: "read",
  placement: "host",
  input: z.object({ call: z.string() }),
  output: z.json(),
});

/** What the ledger's conversation says of a call. */
export function recallFrom(messages: readonly ModelMessage[], input: Json): Result {
  const { call } = recallTool.input.parse(input);
  const output = recallCall(messages, call);
  return output === undefined
    ? { outcome: "failed", code: "CALL_INVALID", reason: `you made no call "${call}"`, retry: false }
    : { outcome: "succeeded", output };
}
