/** Register: what a host serves, as documents for clients that start sagas by name. */
import { contractOf, jsonSchema } from "../../actors/define.ts";
import type { Definition } from "../../actors/definition.ts";
import { digestOf } from "../../protocol/digest.ts";
import type { App } from "../app.ts";
import { patiently } from "../patience.ts";
import type { Clock, Ports } from "../ports.ts";

/** Tells the mesh what this host serves, for clients that start sagas by name. */
export async function register(
  { ports, clock }: { ports: Pick<Ports, "registry">; clock: Clock },
  app: App,
): Promise<void> {
  const documents = [
    ...app.definitions.map(
      (one) => [`saga.${one.name}.${one.version}.${one.hash}`, documentOf(one, app)] as const,
    ),
    ...[...app.tools.values()]
      .map(contractOf)
      .map((tool) => [`tool.${String(tool["name"])}.${digestOf(tool).slice(0, 16)}`, tool] as const),
  ];
  for (const [key, document] of documents)
    await patiently(clock, () => ports.registry.put(key, Buffer.from(JSON.stringify(document))));
}

const documentOf = (
  { kind, name, version, hash, description, input, output, signals, tools, models, budget }: Definition,
  { fallbacks }: App,
) => ({
  ...{ kind, name, version, hash, description },
  input: jsonSchema(input),
  output: jsonSchema(output),
  signals: Object.fromEntries(
    Object.entries(signals).map(([signal, schema]) => [signal, jsonSchema(schema)]),
  ),
  tools: [...tools.keys()],
  // Those that stand in under a name are asked as well, and can be paused like it.
  models: [...new Set(models.flatMap((model) => [model, ...(fallbacks.get(model) ?? [])]))],
  ...(Object.keys(budget).length === 0 ? {} : { budget }),
});
