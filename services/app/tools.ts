/**
 * Tools: what an application has of tools, and what performs each, by contract.
 *
 * QT1 What a definition calls, a body is given by its contract and by nothing else: a body of `post@2` is never given a
 *     call of `post@1`.
 * QT2 Unless it accepts them. A contract's own body goes before one that accepts it.
 */
import { contractDigest } from "../../actors/contract/contract-digest.ts";
import { twiceNamed } from "../../actors/contract/define.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import { aTool } from "../../actors/contract/given.ts";
import type { Accepted, AnyBody, Tool } from "../../actors/contract/tool.ts";
import { toolLabel } from "../../protocol/tool.ts";
import { acceptingBody } from "./accepting-body.ts";
import type { AppConfig } from "./app-config.ts";

/** Tools and bodies by the digests of their contracts, and what is wrong with them. */
export interface AppTools {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly bodies: ReadonlyMap<string, AnyBody>;
  readonly faults: readonly string[];
}

/** All tools of an application: those of its definitions, of its implementations, and those it lists. */
export function collectTools(config: AppConfig, definitions: readonly Definition[]): AppTools {
  // What is no tool is a fault of its own, and has no contract.
  const implementations = (config.implementations ?? []).filter(({ tool }) => aTool.safeParse(tool).success);
  const all = new Set([
    ...definitions.flatMap((one) => [...one.tools.values()]),
    ...implementations.map((one) => one.tool),
    ...(config.tools ?? []).filter((tool) => aTool.safeParse(tool).success),
  ]);
  const tools = new Map([...all].map((tool) => [contractDigest(tool), tool]));
  const bodies = new Map<string, AnyBody>();
  for (const [contract, { body }] of tools) if (body !== undefined) bodies.set(contract, body);
  for (const { tool, body } of implementations) bodies.set(contractDigest(tool), body);
  const faults = [...nameFaults([...all], definitions), ...addAccepted(tools, bodies)];
  return { tools, bodies, faults };
}

/** QT2. What a body accepts is a tool here, with a body that makes its calls the body's own; returns what is wrong. */
function addAccepted(tools: Map<string, Tool>, bodies: Map<string, AnyBody>): string[] {
  const faults: string[] = [];
  for (const [contract, body] of [...bodies])
    for (const accepted of body.accepts ?? []) {
      const [tool, old] = [tools.get(contract), accepted.contract];
      if (tool === undefined) continue;
      const fault = acceptFault(tool, accepted);
      if (fault !== undefined) faults.push(`tool ${toolLabel(tool)} accepts ${fault}`);
      else {
        const its = contractDigest(old);
        if (!tools.has(its)) tools.set(its, old);
        if (!bodies.has(its)) bodies.set(its, acceptingBody(tool, body, accepted));
      }
    }
  return faults;
}

function acceptFault(tool: Tool, { contract: old, input }: Accepted): string | undefined {
  if (typeof old !== "object" || typeof input !== "function")
    return "what is no older tool with a function of its input";
  if (old.name !== tool.name) return `"${old.name}", which is another tool`;
  if (old.effect !== tool.effect)
    return `${toolLabel(old)}, which is "${old.effect}" and not "${tool.effect}": a call keeps the class that its saga went by`;
  if (contractDigest(old) === contractDigest(tool)) return "its own contract";
  return undefined;
}

/** Of each name and version there is one tool; versions are how two that differ are told apart. */
function nameFaults(all: readonly Tool[], definitions: readonly Definition[]): string[] {
  const byLabel = new Map<string, Tool>();
  return all.flatMap((tool) => {
    const label = toolLabel(tool);
    const other = byLabel.get(label);
    byLabel.set(label, tool);
    const isTold = definitions.some((one) => one.faults.includes(twiceNamed(one.name, "tools", tool.name)));
    if (other === undefined || isTold) return [];
    return [
      `two tools are named "${label}": raise the version of the newer one, or name them apart: toolsOf("space", { ... })`,
    ];
  });
}
