/**
 * Deployments: which definitions there are, who serves them and what lives under them; and what people declare of where
 * new sagas go.
 *
 * WV1 What is declared counts once every living host goes by it: only then does a call return. A host that joins later
 *    reads it before it takes anything; one that vanishes meanwhile may go by the former for as long as its entry would
 *    have lived, and is waited for that long.
 */
import { type Declaration, isSameDefinition, type ServedDefinition } from "../../protocol/deployments.ts";
import type { DefinitionDocument } from "../../protocol/documents/registry.ts";
import type {
  DeclaredDocument,
  DeploymentDocument,
  DrainDocument,
} from "../../protocol/documents/deployment.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import { limits } from "../../protocol/limits.ts";
import { scheduleDefinition } from "../../protocol/schedule.ts";
import { isServed, newestServed } from "../deployments/choose.ts";
import { declare, type Declared, readDeclared } from "../deployments/declared.ts";
import { findNamed, type Named, parseNamed } from "../deployments/named.ts";
import { type LivingHost, livingHosts } from "../deployments/served.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { type Many, manyOf } from "../ledger/many.ts";
import type { Ports } from "../wire/ports.ts";
import { stayOf } from "./list.ts";
import { type LivingSaga, livingSagas } from "./living.ts";
import { readRegistry } from "./registry.ts";
import type { ClientDeps } from "./send.ts";

/** A definition: `hire@2`, `hire@2#1f0c`, or an object that has name and version, such as a saga's definition. */
export type WhichDefinition = string | Named;

/** How long a caller waits for hosts, and is told of it. */
export interface Waiting {
  readonly signal?: AbortSignal | undefined;
  /** Told of each look that finds hosts which do not go by it yet, with their names. */
  readonly report?: ((hosts: readonly string[]) => void) | undefined;
}

interface Present {
  readonly hosts: readonly LivingHost[];
  readonly declared: Declared;
  readonly registered: readonly DefinitionDocument[];
}

async function readPresent({ membership, registry }: Ports): Promise<Present> {
  return {
    hosts: await livingHosts(membership),
    declared: await readDeclared(registry),
    registered: (await readRegistry(registry)).definitions,
  };
}

const servedIn = (hosts: readonly LivingHost[]): ServedDefinition[] => hosts.flatMap(({ serves }) => serves);

/** The definition that is meant. Throws USAGE, AGENT_UNKNOWN, DEFINITION_UNKNOWN. */
function whichOf({ hosts, registered }: Present, which: WhichDefinition): DefinitionRef {
  const served = servedIn(hosts);
  const named = typeof which === "string" ? parseNamed(which) : which;
  return findNamed(
    named,
    [...served, ...registered],
    served.filter(({ startable }) => startable),
  );
}

/** `Mesh.deployments`. */
export async function listDeployments(ports: Ports): Promise<Many<DeploymentDocument>> {
  const present = await readPresent(ports);
  const living = await livingSagas(ports);
  const all = new Map<string, DefinitionRef>();
  const declared = [...present.declared.names.values()].flatMap(declaredIn);
  const served = servedIn(present.hosts);
  // What is built in comes with the hosts, and is worth a word only where none of them has it.
  const isBuiltIn = (ref: DefinitionRef) =>
    ref.name === scheduleDefinition && served.some((one) => isSameDefinition(one, ref));
  for (const ref of [...served, ...declared, ...living.map(({ definition }) => definition)])
    if (!isBuiltIn(ref)) all.set(`${ref.name} ${ref.hash}`, ref);
  const sorted = [...all.values()].sort(
    (a, b) => compare(a.name, b.name) || b.version - a.version || compare(a.hash, b.hash),
  );
  const documents: DeploymentDocument[] = [];
  for (const ref of sorted)
    documents.push({
      ...describeDeployment(present, living, ref),
      ...(await movesOf(ports, present, living, ref)),
    });
  return manyOf(documents, living.unreadable);
}

/** How its sagas move, and which of them a host found to stay. */
async function movesOf(
  ports: Ports,
  { registered }: Present,
  living: readonly LivingSaga[],
  ref: DefinitionRef,
): Promise<Pick<DeploymentDocument, "moves" | "stays">> {
  const moves = registered.find((one) => isSameDefinition(one, ref))?.moves;
  if (moves !== "auto") return moves === undefined ? {} : { moves };
  const stays: NonNullable<DeploymentDocument["stays"]> = [];
  for (const one of living) {
    const stay = isSameDefinition(one.definition, ref) ? await stayOf(ports, one) : undefined;
    if (stay !== undefined) stays.push({ saga: one.saga, ...stay });
  }
  return stays.length === 0 ? { moves } : { moves, stays };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const declaredIn = ({ current, ramp }: Declaration): DefinitionRef[] =>
  ramp === undefined ? [current] : [current, ramp.to];

function describeDeployment(
  { hosts, declared }: Present,
  living: readonly LivingSaga[],
  ref: DefinitionRef,
): DeploymentDocument {
  const { name, version, hash } = ref;
  const own = living.filter(({ definition }) => isSameDefinition(definition, ref));
  const sleeping = own.filter(({ asleep }) => asleep).length;
  const { current, ramp } = declared.names.get(name) ?? {};
  const isRamped = ramp !== undefined && isSameDefinition(ramp.to, ref);
  return {
    ...{ name, version, hash },
    hosts: hosts
      .filter(({ serves }) => serves.some((one) => isSameDefinition(one, ref)))
      .map(({ host, since, draining }) => ({ host, since, draining }))
      .sort((a, b) => a.since - b.since || compare(a.host, b.host)),
    starts: startsOf(ref, hosts, declared),
    current: current !== undefined && isSameDefinition(current, ref),
    ...(isRamped ? { ramp: ramp.share } : {}),
    sagas: isServed(ref, hosts)
      ? { running: own.length - sleeping, sleeping, waiting: 0 }
      : { running: 0, sleeping: 0, waiting: own.length },
  };
}

/** What a start that names no version makes of this definition. */
function startsOf(
  ref: DefinitionRef,
  hosts: readonly LivingHost[],
  declared: Declared,
): DeploymentDocument["starts"] {
  const { current, ramp } = declared.names.get(ref.name) ?? {};
  if (current === undefined) {
    const newest = newestServed(ref.name, undefined, hosts);
    return newest !== undefined && isSameDefinition(newest, ref) ? "all" : "none";
  }
  const share = ramp !== undefined && isServed(ramp.to, hosts) ? ramp.share : 0;
  if (ramp !== undefined && isSameDefinition(ramp.to, ref)) return share === 0 ? "none" : share;
  if (!isSameDefinition(current, ref)) return "none";
  return share === 0 ? "all" : share === 1 ? "none" : 1 - share;
}

/** `Mesh.promote`. */
export async function promote(
  deps: ClientDeps,
  which: WhichDefinition,
  waiting: Waiting = {},
): Promise<DeclaredDocument> {
  const before = await readPresent(deps.ports);
  const current = whichOf(before, which);
  const { name } = current;
  const declared = await declareOf(deps, name, (present) =>
    present !== undefined && isSameDefinition(present.current, current) && present.ramp === undefined
      ? present
      : { current, by: deps.from, at: deps.clock.now() },
  );
  return everywhere(deps, name, declared, before.hosts, waiting);
}

/** `Mesh.ramp`. */
export async function ramp(
  deps: ClientDeps,
  which: WhichDefinition,
  share: number,
  waiting: Waiting = {},
): Promise<DeclaredDocument> {
  if (!(share >= 0 && share <= 1))
    throw new MeshError("USAGE", `a share of ${share}: expected from 0 to 1, or 0% to 100%`);
  const present = await readPresent(deps.ports);
  const to = whichOf(present, which);
  const { name } = to;
  const declared = await declareOf(deps, name, (before) => {
    if (share === 0 && (before?.ramp === undefined || !isSameDefinition(before.ramp.to, to))) return before;
    const current = before?.current ?? othersOf(to, present.hosts);
    if (share > 0 && isSameDefinition(current, to))
      throw new MeshError("USAGE", `${name}@${to.version} is current: all new sagas begin with it already`, {
        remedy: `Ramp another definition of ${name}; \`sagamesh deployments\` lists them.`,
      });
    const by = { by: deps.from, at: deps.clock.now() };
    return share === 0 ? { current, ...by } : { current, ramp: { to, share }, ...by };
  });
  return everywhere(deps, name, declared, present.hosts, waiting);
}

/** What gets the rest of a ramp of a name of which nothing was declared: what new sagas begin with but for it. */
function othersOf(to: DefinitionRef, hosts: readonly LivingHost[]): DefinitionRef {
  const others = hosts.map((host) => ({
    ...host,
    serves: host.serves.filter((one) => !isSameDefinition(one, to)),
  }));
  const newest = newestServed(to.name, undefined, others);
  if (newest !== undefined) return newest;
  throw new MeshError("USAGE", `no host serves another definition of ${to.name}, which would get the rest`, {
    remedy: "Promote it: `sagamesh deployments promote`.",
  });
}

const declareOf = (
  { ports, clock }: ClientDeps,
  name: string,
  change: (present: Declaration | undefined) => Declaration | undefined,
): Promise<Declared> => declare({ registry: ports.registry, clock }, name, change);

/** WV1. `before` lived when it was declared, or just before. */
async function everywhere(
  { ports, clock }: ClientDeps,
  name: string,
  { revision, names }: Declared,
  before: readonly LivingHost[],
  { signal, report }: Waiting,
): Promise<DeclaredDocument> {
  const vanishedUntil = clock.elapsed() + limits.hostTtlMs;
  for (;;) {
    const hosts = await livingHosts(ports.membership);
    const vanished =
      clock.elapsed() < vanishedUntil
        ? before.filter(({ host }) => hosts.every((one) => one.host !== host))
        : [];
    const behind = [...hosts.filter(({ deployments }) => deployments < revision), ...vanished].map(
      ({ host }) => host,
    );
    const declared = names.get(name);
    if (behind.length === 0)
      return {
        name,
        ...(declared === undefined ? {} : { declared }),
        hosts: hosts.length,
        unserved: declared === undefined ? [] : declaredIn(declared).filter((ref) => !isServed(ref, hosts)),
      };
    report?.(behind);
    await clock.sleep(limits.hostBeatMs / 2, signal);
  }
}

/** Looks once at what needs a definition; throws as `Mesh.promote`. `ended` is filled, and spares reading. */
export async function needsOf(
  ports: Ports,
  which: WhichDefinition,
  ended = new Set<SagaId>(),
): Promise<DrainDocument> {
  const present = await readPresent(ports);
  const definition = whichOf(present, which);
  const ancestors = ancestorsOf(definition, present.registered);
  const isAncestor = (ref: DefinitionRef) => ancestors.some((one) => isSameDefinition(one, ref));
  const living = await livingSagas(ports, {
    under: (ref) => isSameDefinition(ref, definition) || isAncestor(ref),
    ended,
  });
  const sagas = living.flatMap((one) => (isSameDefinition(one.definition, definition) ? [one.saga] : []));
  const starts = startsOf(definition, present.hosts, present.declared);
  const parents = ancestors.filter(
    (one) =>
      startsOf(one, present.hosts, present.declared) !== "none" ||
      living.some((saga) => isSameDefinition(saga.definition, one)),
  );
  return {
    definition,
    needed: sagas.length > 0 || starts !== "none" || parents.length > 0,
    sagas,
    starts: starts === "all" || starts === "none" ? starts : "share",
    parents: parents.map(({ name, version, hash }) => ({ name, version, hash })),
    ...(living.unreadable.length === 0 ? {} : { unreadable: [...living.unreadable] }),
  };
}

/** The definitions that may start it as a child, or start one that may. */
function ancestorsOf(of: DefinitionRef, registered: readonly DefinitionDocument[]): DefinitionDocument[] {
  const found = new Set<DefinitionDocument>();
  const hashes = new Set([of.hash]);
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const one of registered)
      if (Object.values(one.children).some((hash) => hashes.has(hash))) {
        found.add(one);
        hashes.add(one.hash);
      }
  }
  return [...found].filter((one) => one.hash !== of.hash);
}
