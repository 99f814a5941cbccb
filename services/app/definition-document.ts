/** Definition document: a definition and its tools as the registry, and a bundle, show them. */
import { contractDigest } from "../../actors/contract/contract-digest.ts";
import { contractOf } from "../../actors/contract/tool-contract.ts";
import { jsonSchema } from "../../actors/values/schema.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import type { Tool } from "../../actors/contract/tool.ts";
import { digestOf } from "../../protocol/digest.ts";

/** By what a tool's document is told from another of its name: it says more than was agreed (contract-digest.ts). */
export const documentDigest = (tool: Tool): string => digestOf(contractOf(tool)).slice(0, 16);

/** `fallbacks`: names of models under which others stand in, who are asked as well, and can be paused like it. */
export const definitionDocument = (
  definition: Definition,
  fallbacks: ReadonlyMap<string, readonly string[]> = new Map(),
) => {
  const { kind, name, version, hash, parts, moves, description, input, output, signals } = definition;
  const { tools, sagas, models, budget } = definition;
  return {
    ...{ kind: kind.name, takes: [...kind.takes], name, version, hash, parts, moves, description },
    input: jsonSchema(input),
    output: jsonSchema(output),
    signals: Object.fromEntries(
      Object.entries(signals).map(([signal, schema]) => [signal, jsonSchema(schema)]),
    ),
    tools: [...tools.keys()],
    contracts: Object.fromEntries([...tools.values()].map((tool) => [tool.name, documentDigest(tool)])),
    calls: Object.fromEntries([...tools.values()].map((tool) => [tool.name, contractDigest(tool)])),
    children: Object.fromEntries([...sagas.values()].map((child) => [child.name, child.hash])),
    models: [...new Set(models.flatMap((model) => [model, ...(fallbacks.get(model) ?? [])]))],
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
  };
};

/** The contracts of its tools. */
export const toolDocuments = ({ tools }: Pick<Definition, "tools">): Record<string, unknown>[] =>
  [...tools.values()].map(contractOf);
