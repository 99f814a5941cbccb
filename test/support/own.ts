/** What a definition has as an agent's or a workflow's; throws for one of another kind. */
import { type AgentOwn, isAgent } from "../../actors/agent/kind.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import { isWorkflow } from "../../actors/workflow/kind.ts";
import type { WorkflowSpec } from "../../actors/workflow/spec.ts";

export function agentOwn(definition: Definition): AgentOwn {
  if (!isAgent(definition)) throw new Error(`${definition.name} is no agent`);
  return definition.own;
}

export function workflowOwn(definition: Definition): WorkflowSpec {
  if (!isWorkflow(definition)) throw new Error(`${definition.name} is no workflow`);
  return definition.own;
}
