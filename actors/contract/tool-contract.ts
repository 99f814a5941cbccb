/**
 * Tool contract: a tool as data, and what is wrong with one as it was declared.
 */
import { Name } from "../../protocol/ids.ts";
import { jsonSchema } from "../values/schema.ts";
import { contractDigest } from "./contract-digest.ts";
import { policyFaults, policyNames } from "./inherit.ts";
import { faultsOf, readApproval, readDoubtTerms } from "./terms.ts";
import type { Tool } from "./tool.ts";

/** A tool's contract as data: what the registry shows and the definition's hash covers. */
export function contractOf(tool: Tool): Record<string, unknown> {
  const { name, version, description, effect, placement, timeoutMs, retry, onDoubt, concurrencyMax } = tool;
  const { compensation } = tool;
  const policies = policyNames(tool.policies);
  const approval = typeof tool.approval === "object" ? readApproval(tool.approval) : undefined;
  const asking = typeof onDoubt === "object" ? readDoubtTerms(tool) : undefined;
  return {
    ...{ name, version, contract: contractDigest(tool) },
    ...{ description, effect, placement, timeoutMs, retry, concurrencyMax },
    onDoubt: asking === undefined || "fault" in asking ? onDoubt : { ask: asking.asked },
    ...(typeof compensation === "object"
      ? { compensation: compensation.tool.name, undoneBy: contractDigest(compensation.tool) }
      : { compensation }),
    ...(policies === undefined ? {} : { policies }),
    ...(approval === undefined || "fault" in approval ? {} : { approval: approval.asked }),
    input: jsonSchema(tool.input),
    output: jsonSchema(tool.output),
  };
}

/** Tools, and those that undo what they did, each once. */
export function withCompensations(tools: readonly Tool[]): Tool[] {
  const all = new Set(tools);
  for (const tool of all) if (typeof tool.compensation === "object") all.add(tool.compensation.tool);
  return [...all];
}

/** What is wrong with a tool, each fault a sentence. */
export function toolFaults(tool: Tool): string[] {
  const where = `tool ${tool.name}`;
  const faults = [...tool.faults, ...policyFaults(where, tool.policies ?? [])];
  if (!Name.safeParse(tool.name).success) faults.push(`"${tool.name}" is not a tool's name`);
  if (!Number.isInteger(tool.version) || tool.version < 1)
    faults.push(`${where}: version is ${tool.version}, not a whole number from 1`);
  for (const bound of ["concurrencyMax", "perSecondMax"] as const) {
    const value = tool[bound];
    if (value === undefined) continue;
    if (tool.placement === "host")
      faults.push(`${where}: ${bound} holds over the mesh, so it needs placement "worker"`);
    if (!(value > 0) || (bound === "concurrencyMax" && !Number.isInteger(value)))
      faults.push(`${where}: ${bound} is ${value}`);
  }
  if (typeof tool.approval === "object")
    faults.push(...faultsOf(`${where}: approval`, readApproval(tool.approval)));
  if (typeof tool.onDoubt === "object")
    faults.push(...faultsOf(`${where}: onDoubt`, readDoubtTerms(tool) ?? { fault: "it asks nobody" }));
  if (tool.effect === "probe" && tool.body !== undefined && tool.body.probe === undefined)
    faults.push(`${where}: effect "probe" needs a probe beside its perform`);
  if (tool.timeoutMs <= 0) faults.push(`${where}: timeoutMs must be more than 0`);
  if (typeof tool.compensation === "object") {
    const { effect, name } = tool.compensation.tool;
    if (effect !== "idempotent" && effect !== "probe")
      faults.push(
        `${where}: its compensation "${name}" is "${effect}"; only "idempotent" or "probe" can be retried until it is done`,
      );
  } else if (tool.onDoubt === "compensate")
    faults.push(`${where}: onDoubt "compensate" needs a compensation`);
  return faults;
}
