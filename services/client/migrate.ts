/**
 * Migrate: which running sagas could go on under the definitions of an application, and asking that they do.
 *
 * Owns: what each saga would be moved to, the report, the signal. Does not own: the judgement (actors/kernel/migrate.ts); the
 * move itself, which a host makes after it has judged again (services/host/migrate.ts).
 *
 * CM1 A dry run reads and writes nothing.
 * CM2 The signal of a saga, a definition and a head is one: asked twice, it is moved once.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { foldUnder, judgeRest, type Migration, type OldContracts } from "../../actors/kernel/migrate.ts";
import { definitionOf, presentDefinition } from "../../actors/kernel/replay.ts";
import type { DefinitionRef, ParentRef } from "../../protocol/event.ts";
import { parseSagaId, type SagaId } from "../../protocol/ids.ts";
import type { MigrateDocument } from "../../protocol/documents/migrate.ts";
import type { Turn } from "../../protocol/turn.ts";
import { headers } from "../../protocol/subjects.ts";
import type { App } from "../app/app.ts";
import { eachOf } from "../process/each-of.ts";
import { lastMessageOf } from "../ledger/begun.ts";
import { type Many, manyOf, readMany } from "../ledger/many.ts";
import { emptyHead, isTombstone, readTurns } from "../ledger/reader.ts";
import { registeredContracts, servedContracts } from "../app/old-contracts.ts";
import { patiently } from "../wire/patience.ts";
import { endIn } from "./follow-turns.ts";
import { type ClientDeps, sendSignal } from "./send.ts";
import { readLedger } from "../views/view.ts";
import { lastTurnOf } from "../ledger/chain.ts";
import { inPieces } from "../wire/loop.ts";

/** Which sagas are moved, and whether only to say which could be. */
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
/** Ledgers read at a time. */
export const concurrencyMax = 16;

/** See `Mesh.migrate`. */
export async function migrateSagas(
  deps: ClientDeps,
  app: App,
  options: MigrateOptions = {},
): Promise<Many<MigrateDocument>> {
  const { sagas, name, dryRun = false, withinMs = withinMsDefault, progress, signal } = options;
  const named = sagas?.map(parseSagaId);
  const all =
    named ?? (await patiently(deps.clock, () => deps.ports.ledger.list())).map(({ saga }) => saga).sort();
  const of = createJudge(deps, app);
  let looked = 0;
  const judge = async (saga: SagaId) => {
    const document = await of(saga);
    progress?.(`judged ${++looked} of ${all.length} sagas`);
    return document;
  };
  const judgements = await readMany(all, judge, { atOnce: concurrencyMax, signal });
  const documents = judgements.filter(
    (one) =>
      (name === undefined || one.from.name === name) && (named !== undefined || one.verdict !== "same"),
  );
  const told = dryRun ? documents : await move(deps, documents, { withinMs, progress, signal });
  return manyOf(told, judgements.unreadable);
}

/** What of one saga there is to say; undefined for an archived one. */
function createJudge(deps: ClientDeps, app: App): (saga: SagaId) => Promise<MigrateDocument | undefined> {
  const { ports, clock } = deps;
  /** By the hash of the old definition: many sagas have the same. */
  const registered = new Map<string, Promise<OldContracts>>();
  const registeredOnce = (from: DefinitionRef): Promise<OldContracts> => {
    const found = registered.get(from.hash) ?? registeredContracts({ registry: ports.registry, clock }, from);
    registered.set(from.hash, found);
    return found;
  };
  /** By the old definition's contracts, from the registry where the application does not have it. */
  const judge = async (to: Definition, from: DefinitionRef, turns: readonly Turn[]): Promise<Migration> => {
    const folded = await inPieces(ports.loop, foldUnder(to, turns));
    if (!folded.can) return folded;
    return judgeRest(to, turns, folded, servedContracts(app, from) ?? (await registeredOnce(from)));
  };

  return async (saga) => {
    const last = await patiently(clock, () => lastMessageOf(ports, saga));
    if (isTombstone(last)) return undefined;
    const turns = (await readTurns(ports, saga, emptyHead, last.seq)).map(({ turn }) => turn);
    const from = presentDefinition(turns);
    const common = { saga, from, turns: turns.length };
    const nothing = (why: string): MigrateDocument => ({ ...common, verdict: "same", why });
    if (turns.some((turn) => endIn(turn) !== undefined)) return nothing("it has ended");
    const target = await targetOf(deps, app, turns);
    if (target === undefined) return nothing(`the application defines no "${from.name}"`);
    const to = refOf(target);
    const migration = await judge(target, from, turns);
    if (from.hash === to.hash && migration.can && migration.requestsDiffer === 0)
      return { ...nothing("it has this definition"), to };
    if (migration.can) return { ...common, to, verdict: "can", requestsDiffer: migration.requestsDiffer };
    const { turn, why, expected, got } = migration.obstacle;
    return {
      ...{ ...common, to, verdict: "cannot" as const },
      ...(turn === 0 ? {} : { turn }),
      ...(expected === undefined ? {} : { expected }),
      ...(got === undefined ? {} : { got }),
      why,
    };
  };
}

const refOf = ({ name, version, hash }: Definition): DefinitionRef => ({ name, version, hash });

/**
 * The newest definition of the saga's name; of a sub-agent, as it is under the policies of its parent's newest one.
 * Without its parent's ledger it is what the application has under that name.
 */
export async function targetOf(
  deps: ClientDeps,
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
  deps: ClientDeps,
  app: App,
  parent: ParentRef | undefined,
): Promise<Definition | undefined> {
  if (parent === undefined) return undefined;
  const last = await patiently(deps.clock, () => lastTurnOf(deps.ports, parent.saga));
  if (last === undefined || isTombstone(last)) return undefined;
  return targetOf(
    deps,
    app,
    (await readLedger(deps.ports, parent.saga)).map(({ turn }) => turn),
  );
}

/** Sends the signals, and waits until the ledgers tell of the moves. */
async function move(
  deps: ClientDeps,
  documents: readonly MigrateDocument[],
  { withinMs, progress, signal }: Pick<MigrateOptions, "progress" | "signal"> & { withinMs: number },
): Promise<MigrateDocument[]> {
  const asked = documents.filter(({ verdict }) => verdict === "can");
  await eachOf(asked, concurrencyMax, async ({ saga, to, turns }) => {
    signal?.throwIfAborted();
    if (to !== undefined)
      await sendSignal(deps, saga, "migrate", { definition: to }, `migrate-${to.hash}-${turns}`); // CM2
  });
  const moved = new Set<MigrateDocument>();
  const until = deps.clock.elapsed() + withinMs;
  while (moved.size < asked.length && deps.clock.elapsed() < until) {
    signal?.throwIfAborted();
    const waiting = asked.filter((one) => !moved.has(one));
    const looks = await eachOf(waiting, concurrencyMax, (one) => hasMoved(deps, one));
    for (const [index, one] of waiting.entries()) if (looks[index] === true) moved.add(one);
    progress?.(`moved ${moved.size} of ${asked.length} sagas`);
    if (moved.size < asked.length) await deps.clock.sleep(lookMs, signal);
  }
  return documents.map((one) =>
    one.verdict === "can" ? { ...one, verdict: moved.has(one) ? "moved" : "asked" } : one,
  );
}

async function hasMoved(
  { ports, clock }: ClientDeps,
  { saga, to, turns: before }: MigrateDocument,
): Promise<boolean> {
  const last = await patiently(clock, () => lastTurnOf(ports, saga));
  if (last === undefined || isTombstone(last)) return false;
  if (last.headers[headers.turn] === String(before)) return false;
  const turns = (await readTurns(ports, saga, emptyHead, last.seq)).map(({ turn }) => turn);
  return presentDefinition(turns).hash === to?.hash;
}
