/** Register: what a host serves, as documents for clients that start sagas by name, and for its entry among the hosts. */
import { contractOf } from "../../actors/contract/tool-contract.ts";
import type { ServedDefinition } from "../../protocol/deployments.ts";
import type { App } from "../app/app.ts";
import { documentDigest, definitionDocument } from "../app/definition-document.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Ports } from "../wire/ports.ts";

/** Tells the mesh what this host serves, for clients that start sagas by name. */
export async function register(
  { ports, clock }: { ports: Pick<Ports, "registry">; clock: Clock },
  app: App,
): Promise<void> {
  const documents = [
    ...app.definitions.map(
      (one) =>
        [`saga.${one.name}.${one.version}.${one.hash}`, definitionDocument(one, app.fallbacks)] as const,
    ),
    ...[...app.tools.values()].map(
      (tool) => [`tool.${tool.name}.${documentDigest(tool)}`, contractOf(tool)] as const,
    ),
  ];
  for (const [key, document] of documents)
    await patiently(clock, () => ports.registry.put(key, Buffer.from(JSON.stringify(document))));
}

/** What a host of this application says that it serves. */
export const servedBy = (app: App): ServedDefinition[] =>
  app.definitions.map((one) => ({
    name: one.name,
    version: one.version,
    hash: one.hash,
    startable: app.startable.includes(one),
  }));
