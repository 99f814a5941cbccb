/**
 * Migrate: which running sagas could go on under the definitions of an application, and asking that they do.
 *
 * Owns: what each saga would be moved to, the report, the signal. Does not own: the judgement (actors/migrate.ts); the
 * move itself, which a host makes after it has judged again (services/host/migrate.ts).
 *
 * CM1 A dry run reads and writes nothing.
 * CM2 The signal of a saga, a definition and a head is one: asked twice, it is moved once.
 */
import type { Definition } from "../../actors/definition.ts";
import { judgeMigration, type Migration, noContracts } from "../../actors/migrate.ts";
import { definitionOf, presentDefinition } from "../../actors/replay.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef, ParentRef } from "../../protocol/event.ts";
import { parseSagaId, type SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { MigrateDocument } from "../../protocol/migrate-document.ts";
import type { Turn } from "../../protocol/turn.ts";
import type { App } from "../app.ts";
import { isTombstone } from "../ledger-reader.ts";
import { registeredContracts, servedContracts } from "../old-contracts.ts";
import { patiently } from "../patience.ts";
import type { Clock, Ports } from "../ports.ts";
import { endIn } from "./follow-turns.ts";
import { readLedger } from "./view.ts";

export interface MigrateDeps {
  readonly ports: Pick<Ports, "ledger" | "blobs" | "registry">;
  readonly clock: Clock;
  /** Stores a signal under an id of its own. */
  readonly send: (saga: SagaId, name: string, data: Json, id: string) => Promise<void>;
}

export interface MigrateOptions {
  /** Only these sagas; all that run unless given. */
  readonly sagas?: readonly string[] | undefined;
  /** Only sagas of this definition. */
  readonly name?: string | undefined;
  /** Judges, and asks for nothing. */
  readonly dryRun?: boolean | undefined;
  /** How long to wait for a host to make the moves, milliseconds: 30 s unless given. */
  readonly withinMs?: number | undefined;
  /** Told of each saga as soon as it is judged, and again once it is moved. */
  readonly progress?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

const withinMsDefault = 30_000;
const lookMs = 100;

/** See `Mesh.migrate`. */
export async function migrateSagas(
  deps: MigrateDeps,
  app: App,
  options: MigrateOptions = {},
): Promise<MigrateDocument[]> {
  const { sagas, name, dryRun = false, withinMs = withinMsDefault, progress, signal } = options;
  const named = sagas?.map(parseSagaId);
  const all =
    named ?? (await patiently(deps.clock, () => deps.ports.ledger.list())).map(({ saga }) => saga).sort();
  const documents: MigrateDocument[] = [];
  for (const [index, saga] of all.entries()) {
    signal?.throwIfAborted();
    const document = await judged(deps, app, saga);
    const isShown =
      document !== undefined &&
      (name === undefined || document.from.name === name) &&
      (named !== undefined || document.verdict !== "same");
    if (isShown) documents.push(document);
    progress?.(`judged ${index + 1} of ${all.length} sagas`);
  }
  return dryRun ? documents : move(deps, documents, { withinMs, progress, signal });
}

/** What of one saga there is to say; undefined for an archived one. */
async function judged(deps: MigrateDeps, app: App, saga: SagaId): Promise<MigrateDocument | undefined> {
  const { ports, clock } = deps;
  const last = await patiently(clock, () => ports.ledger.last(saga));
  if (last === undefined) throw new MeshError("SAGA_UNKNOWN", `there is no saga ${saga}`);
  if (isTombstone(last)) return undefined;
  const turns = (await readLedger(ports, saga)).map(({ turn }) => turn);
  const from = presentDefinition(turns);
  const common = { saga, from, turns: turns.length };
  const nothing = (why: string): MigrateDocument => ({ ...common, verdict: "same", why });
  if (turns.some((turn) => endIn(turn) !== undefined)) return nothing("it has ended");
  const target = await targetOf(deps, app, turns);
  if (target === undefined) return nothing(`the application defines no "${from.name}"`);
  const to = refOf(target);
  const migration = await judge(deps, app, target, { from, turns });
  if (from.hash === to.hash && migration.can && migration.requestsDiffer === 0)
    return { ...nothing("it has this definition"), to };
  if (migration.can) return { ...common, to, verdict: "can", requestsDiffer: migration.requestsDiffer };
  const { turn, why, expected, got } = migration.obstacle;
  return {
    ...common,
    to,
    verdict: "cannot",
    ...(turn === 0 ? {} : { turn }),
    ...(expected === undefined ? {} : { expected }),
    ...(got === undefined ? {} : { got }),
    why,
  };
}

const refOf = ({ name, version, hash }: Definition): DefinitionRef => ({ name, version, hash });

/** By the old definition's contracts, from the registry where the application does not have it. */
async function judge(
  { ports, clock }: MigrateDeps,
  app: App,
  to: Definition,
  { from, turns }: { from: DefinitionRef; turns: readonly Turn[] },
): Promise<Migration> {
  const served = servedContracts(app, from);
  const first = judgeMigration(to, turns, served ?? noContracts);
  if (first.can || served !== undefined) return first;
  return judgeMigration(to, turns, await registeredContracts({ registry: ports.registry, clock }, from));
}

/**
 * The newest definition of the saga's name; of a sub-agent, as it is under the policies of its parent's newest one.
 * Without its parent's ledger it is what the application has under that name.
 */
async function targetOf(
  deps: MigrateDeps,
  app: App,
  turns: readonly Turn[],
): Promise<Definition | undefined> {
  const [first] = turns;
  if (first === undefined) return undefined;
  const { name } = definitionOf(first);
  const above = await definitionAbove(deps, app, parentOf(first));
  return above?.sagas.get(name) ?? app.latest(name);
}

const parentOf = (first: Turn): ParentRef | undefined => {
  const event = first.steps[0]?.event;
  return event?.type === "start" ? event.parent : undefined;
};

async function definitionAbove(
  deps: MigrateDeps,
  app: App,
  parent: ParentRef | undefined,
): Promise<Definition | undefined> {
  if (parent === undefined) return undefined;
  const last = await patiently(deps.clock, () => deps.ports.ledger.last(parent.saga));
  if (last === undefined || isTombstone(last)) return undefined;
  return targetOf(
    deps,
    app,
    (await readLedger(deps.ports, parent.saga)).map(({ turn }) => turn),
  );
}

/** Sends the signals, and waits until the ledgers tell of the moves. */
async function move(
  deps: MigrateDeps,
  documents: readonly MigrateDocument[],
  { withinMs, progress, signal }: Pick<MigrateOptions, "progress" | "signal"> & { withinMs: number },
): Promise<MigrateDocument[]> {
  const asked = new Set<SagaId>();
  for (const { saga, to, turns, verdict } of documents) {
    if (verdict !== "can" || to === undefined) continue;
    signal?.throwIfAborted();
    await deps.send(saga, "migrate", { definition: to }, `migrate-${to.hash}-${turns}`); // CM2
    asked.add(saga);
  }
  const moved = new Set<SagaId>();
  const until = deps.clock.now() + withinMs;
  while (moved.size < asked.size && deps.clock.now() < until) {
    signal?.throwIfAborted();
    for (const { saga, to, turns } of documents)
      if (asked.has(saga) && !moved.has(saga) && (await hasMoved(deps, saga, { to, after: turns })))
        moved.add(saga);
    progress?.(`moved ${moved.size} of ${asked.size} sagas`);
    if (moved.size < asked.size) await deps.clock.sleep(lookMs, signal);
  }
  return documents.map((document) =>
    asked.has(document.saga)
      ? { ...document, verdict: moved.has(document.saga) ? "moved" : "asked" }
      : document,
  );
}

async function hasMoved(
  { ports, clock }: MigrateDeps,
  saga: SagaId,
  { to, after }: { to: DefinitionRef | undefined; after: number },
): Promise<boolean> {
  const last = await patiently(clock, () => ports.ledger.last(saga));
  if (last === undefined || isTombstone(last)) return false;
  const turns = (await readLedger(ports, saga)).map(({ turn }) => turn);
  return turns.length > after && presentDefinition(turns).hash === to?.hash;
}
