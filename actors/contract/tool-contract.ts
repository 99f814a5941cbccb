/**
 * Tool contract: a tool as data, and what is wrong with one as it was declared.
 */
import { z } from "zod";
import { Name } from "../../protocol/ids.ts";
import { policyFaults, policyNames } from "./inherit.ts";
import { faultsOf, readApproval } from "./terms.ts";
import type { Tool } from "./tool.ts";

/** A tool's contract as data: what the registry shows and the definition's hash covers. */
export function contractOf(tool: Tool): Record<string, unknown> {
  const { name, description, effect, placement, timeoutMs, retry, onDoubt, concurrencyMax, compensation } =
    tool;
  const policies = policyNames(tool.policies);
  const approval = typeof tool.approval === "object" ? readApproval(tool.approval) : undefined;
  return {
    ...{ name, description, effect, placement, timeoutMs, retry, onDoubt, concurrencyMax },
    compensation: typeof compensation === "object" ? compensation.tool.name : compensation,
    ...(policies === undefined ? {} : { policies }),
    ...(approval === undefined || "fault" in approval ? {} : { approval: approval.asked }),
    input: jsonSchema(tool.input),
    output: jsonSchema(tool.output),
  };
}

/** A schema as data, with what JSON Schema cannot say left open. */
export const jsonSchema = (schema: z.ZodType): unknown =>
  z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });

/** Tools, and those that undo what they did, each once. */
export function withCompensations(tools: readonly Tool[]): Tool[] {
  const all = new Set(tools);
  for (const tool of all) if (typeof tool.compensation === "object") all.add(tool.compensation.tool);
  return [...all];
}

/** What is wrong with a tool, each fault a sentence. */
export function toolFaults(tool: Tool): string[] {
  const where = `tool ${tool.name}`;
  const faults = policyFaults(where, tool.policies ?? []);
  if (!Name.safeParse(tool.name).success) faults.push(`"${tool.name}" is not a tool's name`);
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
  if (tool.effect === "probe" && tool.body !== undefined && tool.body.probe === undefined)
    faults.push(`${where}: effect "probe" needs a probe beside its perform`);
  if (tool.timeoutMs <= 0) faults.push(`${where}: timeoutMs must be more than 0`);
  if (tool.retry.attemptsMax < 1) faults.push(`${where}: retry.attemptsMax must be 1 or more`);
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
