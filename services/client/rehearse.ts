/**
 * Rehearse: what recorded sagas would do under an application that no host serves yet, by the proof that a move needs.
 *
 * Owns: the verdict on each saga, and what they have in common. Does not own: the judgement (actors/kernel/migrate.ts),
 * asking models anew (services/replay).
 *
 * RH1 Nothing is written, and nothing is performed.
 * RH2 A saga whose ledger cannot be read or folded is told as that; it is never counted as one that goes well.
 */
import { changeInWords } from "../../actors/contract/parts.ts";
import { foldUnder, judgeRest, type Obstacle, type OldContracts } from "../../actors/kernel/migrate.ts";
import { presentDefinition } from "../../actors/kernel/replay.ts";
import { isSameDefinition } from "../../protocol/deployments.ts";
import type { RehearsalDocument, RehearsedSaga } from "../../protocol/documents/rehearsal.ts";
import { describeError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { App } from "../app/app.ts";
import { registeredContracts, servedContracts } from "../app/old-contracts.ts";
import { readLedger } from "../views/view.ts";
import { endIn } from "./follow-turns.ts";
import { eachOf } from "../process/each-of.ts";
import { concurrencyMax, targetOf } from "./migrate.ts";
import { readRegistry } from "./registry.ts";
import type { ClientDeps } from "./send.ts";
import { inPieces } from "../wire/loop.ts";

/** What is told while it goes on, and how it is called off. */
export interface RehearseOptions {
  readonly progress?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a rehearsal finds out by itself; the rest of the document says which sagas were meant. */
export type Rehearsed = Pick<RehearsalDocument, "definitions" | "counts" | "kinds" | "sagas">;

/** Rehearses these sagas. Throws UNAVAILABLE. */
export async function rehearse(
  deps: ClientDeps,
  app: App,
  sagas: readonly SagaId[],
  { progress, signal }: RehearseOptions = {},
): Promise<Rehearsed> {
  let looked = 0;
  const rehearsed = await eachOf(sagas, concurrencyMax, async (saga) => {
    signal?.throwIfAborted();
    const one = await rehearseOne(deps, app, saga);
    progress?.(`rehearsed ${++looked} of ${sagas.length} sagas`);
    return one;
  });
  const count = (verdict: RehearsedSaga["verdict"]) =>
    rehearsed.filter((one) => one.verdict === verdict).length;
  return {
    definitions: await definitionsOf(deps, app, rehearsed),
    counts: {
      moves: count("moves"),
      same: count("same"),
      stays: count("stays"),
      differs: count("differs"),
      unfoldable: count("unfoldable"),
    },
    kinds: kindsOf(rehearsed),
    sagas: rehearsed,
  };
}

async function rehearseOne(deps: ClientDeps, app: App, saga: SagaId): Promise<RehearsedSaga> {
  try {
    const turns = (await readLedger(deps.ports, saga)).map(({ turn }) => turn);
    const from = presentDefinition(turns);
    const target = await targetOf(deps, app, turns);
    if (target === undefined)
      return { saga, from, verdict: "unfoldable", why: `the application defines no "${from.name}"` };
    const { name, version, hash } = target;
    const common = { saga, from, to: { name, version, hash } };
    const folded = await inPieces(deps.ports.loop, foldUnder(target, turns));
    if (!folded.can) return { ...common, verdict: "differs", ...reasonOf(folded.obstacle) };
    const { requestsDiffer } = folded;
    if (turns.some((turn) => endIn(turn) !== undefined) || hash === from.hash)
      return { ...common, verdict: "same", requestsDiffer };
    const judged = judgeRest(target, turns, folded, await contractsOf(deps, app, from));
    return judged.can
      ? { ...common, verdict: "moves", requestsDiffer }
      : { ...common, verdict: "stays", ...reasonOf(judged.obstacle) };
  } catch (error) {
    return { saga, verdict: "unfoldable", why: describeError(error) }; // RH2
  }
}

const contractsOf = async (
  { ports, clock }: ClientDeps,
  app: App,
  from: DefinitionRef,
): Promise<OldContracts> =>
  servedContracts(app, from) ?? (await registeredContracts({ registry: ports.registry, clock }, from));

const reasonOf = ({ turn, why, expected, got }: Obstacle): Omit<RehearsedSaga, "saga" | "verdict"> => ({
  ...(turn === 0 ? {} : { turn }),
  ...(expected === undefined ? {} : { expected }),
  ...(got === undefined ? {} : { got }),
  why,
});

/** Each pair of definitions once, with what was changed between them. */
async function definitionsOf(
  { ports }: ClientDeps,
  app: App,
  rehearsed: readonly RehearsedSaga[],
): Promise<RehearsalDocument["definitions"]> {
  const registered = (await readRegistry(ports.registry)).definitions;
  const pairs = new Map<string, { from: DefinitionRef; to: DefinitionRef; sagas: number }>();
  for (const { from, to } of rehearsed) {
    if (from === undefined || to === undefined) continue;
    const pair = pairs.get(`${from.hash} ${to.hash}`) ?? { from, to, sagas: 0 };
    pairs.set(`${from.hash} ${to.hash}`, { ...pair, sagas: pair.sagas + 1 });
  }
  return [...pairs.values()].map(({ from, to, sagas }) => {
    const before =
      registered.find((one) => isSameDefinition(one, from))?.parts ?? app.definition(from)?.parts;
    const now = app.definition(to)?.parts;
    const known = before === undefined || now === undefined ? undefined : changeInWords(before, now);
    const changed = from.hash === to.hash ? "nothing" : known;
    return { from, to, sagas, ...(changed === undefined ? {} : { changed }) };
  });
}

/** Ids of intents are a saga's own; but for them a reason is one of a kind. */
const kindOf = (why: string): string => why.replaceAll(/\b\d+-\d+\b/g, "…");

function kindsOf(rehearsed: readonly RehearsedSaga[]): RehearsalDocument["kinds"] {
  const kinds = new Map<string, RehearsalDocument["kinds"][number]>();
  for (const one of rehearsed) {
    if (one.why === undefined) continue;
    const why = kindOf(one.why.replaceAll(one.saga, "…"));
    const key = `${one.verdict} ${why}`;
    const kind = kinds.get(key) ?? { verdict: one.verdict, why, sagas: 0, first: one };
    kinds.set(key, { ...kind, sagas: kind.sagas + 1 });
  }
  return [...kinds.values()].sort((a, b) => b.sagas - a.sagas);
}
