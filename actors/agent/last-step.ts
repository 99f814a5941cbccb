/**
 * Last step: what of a reply is taken when the model was told that it is its last one.
 */
import { onlyTaken, type Reading, type StartedCall } from "./reply.ts";

const isUndo = (call: StartedCall): boolean => call.type === "actor" && call.tool === "undo";

/** The reading with every call refused but `undo`; a `finish` is no call that is started. */
export const lastStepOf = (reading: Reading): Reading =>
  onlyTaken(reading, isUndo, {
    code: "BUDGET_EXCEEDED",
    reason: "this was the last step: only finish and undo are taken",
  });
