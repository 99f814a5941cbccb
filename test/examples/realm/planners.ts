/**
 * Planners that are scripts: they say what a model said or would say, as pure functions of what a model is sent.
 * `scriptedModel(name, planner)` makes a model port of one.
 *
 * The plan is the output of the reserved call `finish`: `{ output: { schedule } }`. What the search answers is the
 * result of a `read` tool, so a planner that asks for it leaves the answer in the ledger.
 */
import type { ModelRequest } from "sagamesh/models";
import type { ScriptedAnswer } from "sagamesh/testing";
import { toJson } from "../../../protocol/json.ts";
import { Answer } from "./answer.ts";
import type { SearchInput } from "./search.ts";
import { storedSchedule, type Schedule } from "./schedule.ts";

export type Planner = (request: ModelRequest) => ScriptedAnswer;

/** One plan as a model's reply. */
export const planReply = (schedule: Schedule): ScriptedAnswer => ({
  calls: [{ tool: "finish", input: toJson({ output: { schedule } }) }],
});

/** Emits the printed schedules one after the other, the last one for ever: a model that does not learn. */
export const printedPlanner =
  (...ids: readonly [string, ...string[]]): Planner =>
  ({ step }) =>
    planReply(storedSchedule(ids[Math.min(step, ids.length) - 1] ?? ids[0]).actions);

/**
 * Asks the search, by the question it makes of what it was sent, and proposes what that found, or says with the
 * search's own words that there is nothing to find. What a signal makes old it asks again.
 */
export const searchingPlanner =
  (question: (request: ModelRequest) => SearchInput, tool = "search"): Planner =>
  (request) => {
    const answer = lastAnswer(request, tool);
    if (answer === undefined) return { calls: [{ tool, input: toJson(question(request)) }] };
    if (answer.feasible) return planReply(answer.schedule);
    const { why, lateMin = null } = answer;
    const relax = answer.relax.map(({ what, byMin = null }) => ({ what, byMin }));
    return { calls: [{ tool: "finish", input: { output: { infeasible: { why, lateMin, relax } } } }] };
  };

/** The answer of the search that no news has followed: a signal after it makes it old. */
function lastAnswer({ messages }: ModelRequest, tool: string): Answer | undefined {
  const parts = messages.flatMap((message) => (message.role === "user" ? message.parts : []));
  const last = parts.findLast(({ type }) => type === "signal" || type === "result");
  if (last?.type !== "result" || last.tool !== tool || last.outcome !== "succeeded") return undefined;
  return Answer.parse(last.output);
}
