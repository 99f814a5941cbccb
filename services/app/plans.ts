/**
 * Plans: what an application offers to plans, and the workflows of those it lists.
 */
import type { SagaDefinition } from "../../actors/contract/definition.ts";
import { type PlanParts, workflowOfPlan } from "../../actors/plan/workflow.ts";
import { recallTool } from "../../actors/request/recall.ts";
import type { Implementation, Tool } from "../../actors/contract/tool.ts";
import type { PlanFinding } from "../../protocol/documents/plan.ts";

/** What of an application plans may name. */
interface Offering {
  readonly tools?: readonly Tool[];
  readonly implementations?: readonly Implementation[];
  readonly models?: Readonly<Record<string, unknown>>;
  readonly predicates?: PlanParts["predicates"];
  readonly validators?: PlanParts["validators"];
}

/** All tools and sagas of an application; of two of one name the first, and loading tells of the second. */
export function offeredBy(config: Offering, sagas: readonly SagaDefinition[]): PlanParts {
  const tools = [
    ...(config.tools ?? []),
    ...(config.implementations ?? []).map(({ tool }) => tool),
    ...sagas.flatMap(({ definition }) => [...definition.tools.values()]),
  ].filter((tool) => tool !== recallTool); // That one is of a conversation, and a plan has none.
  return {
    tools: [
      ...new Map<string, Tool>(tools.toReversed().map((tool) => [tool.name, tool])).values(),
    ].toReversed(),
    sagas,
    models: Object.keys(config.models ?? {}),
    predicates: config.predicates ?? {},
    validators: config.validators ?? [],
  };
}

/** The workflows of plans; all that is wrong with one that is none. */
export function workflowsOf(
  plans: readonly unknown[],
  offered: PlanParts,
): { readonly workflows: SagaDefinition[]; readonly faults: string[] } {
  const workflows: SagaDefinition[] = [];
  const faults: string[] = [];
  for (const [k, plan] of plans.entries()) {
    const made = workflowOfPlan(plan, offered);
    if ("workflow" in made) workflows.push(made.workflow);
    else faults.push(...made.findings.map((finding) => `plan ${nameOf(plan, k)}: ${findingLine(finding)}`));
  }
  return { workflows, faults };
}

const nameOf = (plan: unknown, k: number): string =>
  typeof plan === "object" && plan !== null && "name" in plan && typeof plan.name === "string"
    ? `"${plan.name}"`
    : `number ${k + 1}`;

/** A finding in one line. */
export const findingLine = ({ code, at, says }: PlanFinding): string =>
  `${code} ${at === "" ? "the plan" : at}: ${says}`;
