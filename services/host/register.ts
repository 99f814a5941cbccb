/** Register: what a host serves, as documents for clients that start sagas by name. */
import { contractOf, jsonSchema } from "../../actors/define.ts";
import type { Definition } from "../../actors/definition.ts";
import type { Tool } from "../../actors/tool.ts";
import { digestOf } from "../../protocol/digest.ts";
import type { App } from "../app.ts";
import { patiently } from "../patience.ts";
import type { Clock, Ports } from "../ports.ts";

const contractDigest = (tool: Tool): string => digestOf(contractOf(tool)).slice(0, 16);
const contractKey = (tool: Tool): string => `tool.${tool.name}.${contractDigest(tool)}`;

/** Tells the mesh what this host serves, for clients that start sagas by name. */
export async function register(
  { ports, clock }: { ports: Pick<Ports, "registry">; clock: Clock },
  app: App,
): Promise<void> {
  const documents = [
    ...app.definitions.map(
      (one) => [`saga.${one.name}.${one.version}.${one.hash}`, documentOf(one, app)] as const,
    ),
    ...[...app.tools.values()].map((tool) => [contractKey(tool), contractOf(tool)] as const),
  ];
  for (const [key, document] of documents)
    await patiently(clock, () => ports.registry.put(key, Buffer.from(JSON.stringify(document))));
}

const documentOf = (
  {
    kind,
    name,
    version,
    hash,
    description,
    input,
    output,
    signals,
    tools,
    sagas,
    models,
    budget,
  }: Definition,
  { fallbacks }: App,
) => ({
  ...{ kind, name, version, hash, description },
  input: jsonSchema(input),
  output: jsonSchema(output),
  signals: Object.fromEntries(
    Object.entries(signals).map(([signal, schema]) => [signal, jsonSchema(schema)]),
  ),
  tools: [...tools.keys()],
  contracts: Object.fromEntries([...tools.values()].map((tool) => [tool.name, contractDigest(tool)])),
  children: Object.fromEntries([...sagas.values()].map((child) => [child.name, child.hash])),
  // Those that stand in under a name are asked as well, and can be paused like it.
  models: [...new Set(models.flatMap((model) => [model, ...(fallbacks.get(model) ?? [])]))],
  ...(Object.keys(budget).length === 0 ? {} : { budget }),
});
