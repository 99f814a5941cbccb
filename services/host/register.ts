/** Register: what a host serves, as documents for clients that start sagas by name, and for its entry among the hosts. */
import { contractOf } from "../../actors/contract/tool-contract.ts";
import type { ServedDefinition } from "../../protocol/deployments.ts";
import type { App } from "../app/app.ts";
import { documentDigest, definitionDocument } from "../app/definition-document.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Ports } from "../wire/ports.ts";

interface RegisterDeps {
  readonly ports: Pick<Ports, "registry">;
  readonly clock: Clock;
}

/** Tells the mesh what this host serves, for clients that start sagas by name. */
export async function register({ ports, clock }: RegisterDeps, app: App): Promise<void> {
  for (const [key, document] of documentsOf(app))
    await patiently(clock, () => ports.registry.put(key, Buffer.from(JSON.stringify(document))));
}

/** Tells it again where the registry has forgotten, by the first of it. Throws UNAVAILABLE. */
export async function registerAgain({ ports, clock }: RegisterDeps, app: App): Promise<void> {
  const [first] = documentsOf(app);
  if (first !== undefined && (await ports.registry.read(first[0])) === undefined)
    await register({ ports, clock }, app);
}

const documentsOf = (app: App): [key: string, document: object][] => [
  ...app.definitions.map((one): [string, object] => [
    `saga.${one.name}.${one.version}.${one.hash}`,
    definitionDocument(one, app.fallbacks),
  ]),
  ...[...app.tools.values()].map((tool): [string, object] => [
    `tool.${tool.name}.${documentDigest(tool)}`,
    contractOf(tool),
  ]),
];

/** What a host of this application says that it serves. */
export const servedBy = (app: App): ServedDefinition[] =>
  app.definitions.map((one) => ({
    name: one.name,
    version: one.version,
    hash: one.hash,
    startable: app.startable.includes(one),
  }));
