/**
 * Old contracts: those of the tools and children of a definition that perhaps no host serves any more.
 *
 * OC1 The registry forgets nothing: what some host has ever served can be looked up by its content hash.
 */
import { contractsOf, type OldContracts } from "../../actors/kernel/migrate.ts";
import { DefinitionDocument, ToolDocument } from "../../protocol/documents/registry.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { App } from "./app.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, RegistryPort } from "../wire/ports.ts";

/** By the definition itself where the application has it; undefined where only the registry may know. */
export const servedContracts = (app: App, ref: DefinitionRef): OldContracts | undefined => {
  const definition = app.definition(ref);
  return definition && contractsOf(definition);
};

/** By the registry (OC1). Throws UNAVAILABLE. */
export async function registeredContracts(
  { registry, clock }: { registry: RegistryPort; clock: Clock },
  { name, version, hash }: DefinitionRef,
): Promise<OldContracts> {
  const entries = await patiently(clock, () => registry.list());
  const documents = new Map(entries.map(({ key, data }) => [key, data]));
  const definition = read(DefinitionDocument, documents.get(`saga.${name}.${version}.${hash}`));
  return {
    tool: (tool) => {
      const digest = definition?.contracts[tool];
      return digest === undefined ? undefined : read(ToolDocument, documents.get(`tool.${tool}.${digest}`));
    },
    child: (child) => {
      const own = definition?.children[child];
      const key = entries.find(
        (entry) => entry.key.startsWith(`saga.${child}.`) && entry.key.endsWith(`.${own}`),
      )?.key;
      const found =
        own === undefined || key === undefined ? undefined : read(DefinitionDocument, documents.get(key));
      return found && { input: found.input, output: found.output };
    },
  };
}

/** How the sagas of a definition move, as it was registered; asked for once, for its hash covers that. Throws UNAVAILABLE. */
export function registeredMoves({
  registry,
  clock,
}: {
  readonly registry: Pick<RegistryPort, "read">;
  readonly clock: Clock;
}): (definition: DefinitionRef) => Promise<DefinitionDocument["moves"]> {
  const known = new Map<string, DefinitionDocument["moves"]>();
  return async ({ name, version, hash }) => {
    const found = known.get(hash);
    if (found !== undefined) return found;
    const entry = await patiently(clock, () => registry.read(`saga.${name}.${version}.${hash}`));
    const document = read(DefinitionDocument, entry?.data);
    if (document === undefined) return "pinned"; // It may be registered yet.
    known.set(hash, document.moves);
    return document.moves;
  };
}

/** Every definition that some host has served (OC1). Throws UNAVAILABLE. */
export async function registeredDefinitions({
  registry,
  clock,
}: {
  registry: Pick<RegistryPort, "list">;
  clock: Clock;
}): Promise<DefinitionDocument[]> {
  const entries = await patiently(clock, () => registry.list());
  return entries.flatMap(({ key, data }) =>
    key.startsWith("saga.") ? (read(DefinitionDocument, data) ?? []) : [],
  );
}

function read<T>(
  schema: { safeParse(value: unknown): { success: true; data: T } | { success: false } },
  data: Uint8Array | undefined,
): T | undefined {
  if (data === undefined) return undefined;
  try {
    const parsed = schema.safeParse(JSON.parse(Buffer.from(data).toString()));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined; // Not ours.
  }
}
