/** Condition: when a node of a workflow may begin, in words. */
import type { PlanNode } from "../documents.ts";

type Condition = PlanNode["condition"];

export function conditionWords(condition: Condition): string {
  if ("all" in condition)
    return condition.all.length === 0 ? "the workflow begins" : condition.all.map(part).join(" and ");
  if ("any" in condition) return condition.any.length === 0 ? "never" : condition.any.map(part).join(" or ");
  if ("not" in condition) return `it is certain that not: ${part(condition.not)}`;
  const { node, is, at, value } = condition;
  if (is === undefined) return `${node} has committed`;
  const of = at === undefined || at === "" ? "its output" : at;
  return `${node} has committed with ${of} ${is}${value === undefined ? "" : ` ${JSON.stringify(value)}`}`;
}

/** In brackets where it has parts of its own. */
const part = (condition: Condition): string =>
  ("all" in condition && condition.all.length > 1) || ("any" in condition && condition.any.length > 1)
    ? `(${conditionWords(condition)})`
    : conditionWords(condition);
