/**
 * What an application imports as `sagamesh/policies`: which calls may be made and on what terms, and how much of its
 * conversation an agent's model is sent.
 */
export {
  type ContextPolicy,
  fullContext,
  selectiveContext,
  type SummaryTerms,
  windowedContext,
} from "../contract/context-policy.ts";
export { definePolicy, type Policy, type PolicyQuestion, type PolicyVerdict } from "../contract/policy.ts";
export {
  allowOnly,
  argumentsMatch,
  callsAtMost,
  denyTools,
  needsApproval,
  noTwoOfAKind,
  spendAtMost,
} from "./ready-made.ts";
export { type Weekday, type WorkingHours, workingHours } from "./working-hours.ts";
