/**
 * Planner: the planning saga with its judge, and what an application offers to plans.
 */
import type { SagaDefinition } from "../../actors/contract/definition.ts";
import { catalogueOf } from "../../actors/plan/catalogue.ts";
import { judgeProposal } from "../../actors/plan/proposal.ts";
import {
  JudgePlan,
  type PlannerConfig,
  type PlanMade,
  plannerWith,
  type PlanRequest,
} from "../../actors/plan/planner.ts";
import { defineTool } from "../../actors/contract/tool.ts";
import type { PlanCatalogue } from "../../protocol/documents/plan.ts";
import type { App } from "../app/app.ts";

/** Pure, and a tool all the same: so the ledger holds each verdict as it was given. */
const judgePlan = defineTool({
  name: "judge_plan",
  description: "Takes an answer into the plan and says what is wrong with it by now.",
  effect: "read",
  placement: "host",
  ...JudgePlan,
  perform: async ({ step, draft, said, catalogue }) => {
    const { findings, ...judged } = judgeProposal(step, draft, said, catalogue);
    return { ...judged, findings: [...findings] };
  },
});

/**
 * A planner on a model: a saga whose input is a specification and what may be named, and whose output is a plan. It
 * asks for roles, nodes and edges, has the graph judged before it asks for anything else, then asks for logs, agents
 * and compensations, and has the whole judged; what is wrong is shown to the model, at most `rounds` times (4). Fails
 * with PLAN_INVALID and the findings, with BUDGET_EXCEEDED, or as its model does.
 */
export const definePlanner = (
  config: PlannerConfig,
): SagaDefinition<typeof PlanRequest, typeof PlanMade, Record<string, never>> =>
  plannerWith(judgePlan, config);

/** What plans may name of an application, as data. */
export const catalogueOfApp = ({ offered }: App): PlanCatalogue =>
  catalogueOf({ ...offered, predicates: Object.keys(offered.predicates) });
