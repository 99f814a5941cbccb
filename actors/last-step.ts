/**
 * Last step: what of a reply is taken when the model was told that it is its last one.
 */
import type { Part } from "../protocol/model.ts";
import type { Reading, StartedCall } from "./reply.ts";

const isUndo = (call: StartedCall): boolean => call.type === "actor" && call.tool === "undo";

/** The reading with every call refused but `undo`; a `finish` is no call that is started. */
export function lastStepOf(reading: Reading): Reading {
  const refused = reading.started.filter((call) => !isUndo(call));
  if (refused.length === 0) return reading;
  const { handsOff: _handsOff, ...rest } = reading;
  return {
    ...rest,
    started: reading.started.filter(isUndo),
    answers: [...reading.answers, ...refused.map(refusalOf)],
  };
}

const refusalOf = (call: StartedCall): Part => ({
  type: "result",
  call: call.call,
  tool: call.type === "wait" ? "wait" : call.tool,
  outcome: "denied",
  code: "BUDGET_EXCEEDED",
  reason: "this was the last step: only finish and undo are taken",
});
