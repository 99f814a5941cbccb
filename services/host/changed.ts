/**
 * Changed: a definition that is not the one which sagas of its name and version go on under.
 *
 * Owns: whether a host may begin to serve an application, by what the mesh has heard of its definitions before, and what it
 * says where it may not. Does not own: counting (living.ts).
 *
 * XD1 A definition that the mesh has not heard of is refused while sagas of another one of its name and version live: a
 *     host that serves it would take their starts, and no host need serve them. Nothing is taken or registered before.
 * XD2 One that was served beside the other before needs no leave to come back: where its own sagas live, where starts go
 *     to it as was declared, or where a living host serves the other.
 * XD3 Ledgers are looked at only where hashes conflict; a mesh whose definitions have one hash each pays one listing.
 */
import { changeInWords, changedParts } from "../../actors/contract/parts.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import type { DefinitionDocument } from "../../protocol/documents/registry.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { App } from "../app/app.ts";
import { registeredDefinitions } from "../app/old-contracts.ts";
import { isServed } from "../deployments/choose.ts";
import { readDeclared } from "../deployments/declared.ts";
import { livingHosts } from "../deployments/served.ts";
import { patiently } from "../wire/patience.ts";
import type { Ports } from "../wire/ports.ts";
import { countLiving, type CountingDeps, type Living } from "./living.ts";

/** What judging takes, and whether the author will keep a host of the old definitions. */
export interface AdmittingDeps extends CountingDeps {
  readonly ports: Pick<Ports, "ledger" | "blobs" | "registry" | "membership">;
  /** Serve what has changed as a generation beside the old one. */
  readonly beside?: boolean | undefined;
}

/** A registered definition that the application has no more, and what it has under that name and version. */
interface Conflict {
  readonly old: DefinitionDocument;
  readonly now: readonly Definition[];
}

/**
 * Throws DEFINITION_CHANGED with every definition that was changed under its old version while sagas of the old one live,
 * unless they are to be served beside each other; then the log says so. Throws UNAVAILABLE.
 */
export async function assertUnchanged(deps: AdmittingDeps, app: App): Promise<void> {
  const { ports, clock, log } = deps;
  const registered = await registeredDefinitions({ registry: ports.registry, clock });
  const conflicts = conflictsOf(registered, app);
  if (conflicts.length === 0) return; // XD3
  const living = await countLiving(
    deps,
    new Set(conflicts.flatMap(({ old, now }) => [old.hash, ...now.map(({ hash }) => hash)])),
  );
  const known = await knownOf(deps, registered, living);
  const changed = conflicts.filter(
    (one) => living.byHash.has(one.old.hash) && one.now.some((now) => !known(now, one.old)),
  );
  if (changed.length === 0) return;
  const lines = changed.map((conflict) => inWords(conflict, living));
  if (deps.beside !== true)
    throw new MeshError(
      "DEFINITION_CHANGED",
      lines.length === 1
        ? (lines[0] ?? "")
        : `${lines.length} definitions:\n${lines.map((line) => `  - ${line}`).join("\n")}`,
    );
  for (const line of lines) log.warn({ detail: line }, "serves a definition beside the old one");
}

function conflictsOf(registered: readonly DefinitionDocument[], { definitions }: App): Conflict[] {
  return registered.flatMap((old) => {
    const now = definitions.filter(({ name, version }) => name === old.name && version === old.version);
    return now.length === 0 || now.some(({ hash }) => hash === old.hash) ? [] : [{ old, now }];
  });
}

/** Whether a definition comes back beside the other (XD2). */
async function knownOf(
  { ports, clock }: AdmittingDeps,
  registered: readonly DefinitionDocument[],
  { byHash }: Living,
): Promise<(now: Definition, old: DefinitionDocument) => boolean> {
  const hosts = await patiently(clock, () => livingHosts(ports.membership));
  const { names } = await patiently(clock, () => readDeclared(ports.registry));
  return (now, old) => {
    if (byHash.has(now.hash)) return true;
    if (!registered.some(({ hash }) => hash === now.hash)) return false;
    return names.get(now.name)?.current.hash === now.hash || isServed(old, hosts);
  };
}

function inWords({ old, now }: Conflict, { byHash, isAll }: Living): string {
  const count = byHash.get(old.hash) ?? 0;
  const [nearest] = now
    .map((one) => ({ one, distance: changedParts(old.parts, one.parts).length }))
    .sort((a, b) => a.distance - b.distance);
  const one = nearest?.one;
  const sagas = `${isAll ? "" : "at least "}${count} ${count === 1 ? "saga lives" : "sagas live"}`;
  return (
    `${old.name}@${old.version} (${one?.hash}) is not the one that ${sagas} under (${old.hash}). ` +
    `Changed: ${changeInWords(old.parts, one?.parts ?? {})}`
  );
}
