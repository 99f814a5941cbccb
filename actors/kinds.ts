/**
 * Kinds: every kind of definition that there is. A kind is one record of functions (contract/definition.ts) that its
 * folder exports and this list registers; how to add one stands in actors/README.md.
 *
 * KI1 Of each name there is one record: a definition's hash holds its kind by name, and two that decide differently
 *     must not have one hash. The application's load refuses a definition whose kind is not the registered one.
 */
import { MeshError } from "../protocol/errors.ts";
import { agentKind } from "./agent/kind.ts";
import type { Definition, Kind } from "./contract/definition.ts";
import { sagaKind } from "./saga/kind.ts";
import { workflowKind } from "./workflow/kind.ts";

const registered = new Map<string, Kind>();

/** Registers a kind, once in each process that serves it. Throws APP_INVALID where its name is another's (KI1). */
export function registerKind(kind: Kind): void {
  const known = registered.get(kind.name);
  if (known !== undefined && known !== kind)
    throw new MeshError("APP_INVALID", `two kinds of definitions are named "${kind.name}"`);
  registered.set(kind.name, kind);
}

for (const kind of [sagaKind, agentKind, workflowKind]) registerKind(kind);

/** KI1: what is wrong with a definition's kind, as a sentence. */
export const kindFaults = ({ name, kind }: Pick<Definition, "name" | "kind">): string[] =>
  registered.get(kind.name) === kind
    ? []
    : [`${name}: its kind "${kind.name}" is not registered; call registerKind where the kind is made`];
