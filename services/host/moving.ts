/**
 * Moving: a saga whose definition says `moves: "auto"` goes on, from its next turn, under the definition that starts go to,
 * where that decides the same for all that is on its ledger. It is looked at when it is loaded, and so never in the
 * middle of its work here.
 *
 * Owns: whether, and to what; what is kept of a refusal. Does not own: the judgement (migrate.ts), the turn that records
 * the move (turn.ts), which definition starts go to (services/deployments/choose.ts).
 *
 * MJ1 The move is one recorded turn, decided from the whole ledger. A host that dies before it leaves the saga where it was.
 * MJ2 What was refused is kept beside the snapshot, and not judged again for the same definition; but where it was the
 *     state that the saga rested in, it is once the ledger has grown.
 * MJ3 A child stays: its parent's definition says what it is, policies and all.
 * MJ4 Where hosts and declarations name the saga's own definition, nothing is asked of the server.
 * MJ5 A host that lacks the other definition lets the saga go to one that has it, which moves it or notes why not; then it
 *     comes back for its own.
 */
import type { Moves } from "../../actors/contract/definition.ts";
import { isUnfinishedFork } from "../../actors/kernel/lineage.ts";
import type { Obstacle } from "../../actors/kernel/migrate.ts";
import { encodeJson } from "../../protocol/codec.ts";
import { isSameDefinition } from "../../protocol/deployments.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { readStay, type Stay, stayEntry } from "../../protocol/stay.ts";
import { headers } from "../../protocol/subjects.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import type { Turn } from "../../protocol/turn.ts";
import { emptyHead, isTombstone, readTurns } from "../ledger/reader.ts";
import { patiently } from "../wire/patience.ts";
import type { StoredMessage } from "../wire/ports.ts";
import type { HostDeps } from "./host-deps.ts";
import { hasEnded } from "./living.ts";
import { type Loaded, loadSaga } from "./load.ts";
import { judgeMove, type Move } from "./migrate.ts";
import { Unserved } from "./unserved.ts";
import { lastTurnOf } from "../ledger/chain.ts";

/** A saga as it is loaded, or with the move that is to be made first. Throws what `loadSaga` throws. */
export async function loadOrMove(
  deps: HostDeps,
  saga: SagaId,
): Promise<Loaded | Tombstone | Move | undefined> {
  const found = await loadSaga(deps, deps.app, saga).catch((error: unknown) => {
    if (error instanceof Unserved) return error;
    throw error;
  });
  if (found === undefined || "type" in found) return found;
  if (!(found instanceof Unserved) && isOver(found)) return found;
  const { name, version, hash } = found.definition;
  const moves = found instanceof Unserved ? undefined : found.definition.moves;
  const move = await moveOf(deps, saga, { name, version, hash }, moves);
  if (move !== undefined) return move;
  if (found instanceof Unserved) throw found;
  return found;
}

/** It has ended, or is not whole yet. */
const isOver = ({ state }: Loaded): boolean => state.phase.kind === "ended" || isUnfinishedFork(state);

/**
 * The move that a saga of this definition is to make here; undefined, and it stays. `moves` is its definition's word where
 * that is at hand, else the registry's. Throws UNAVAILABLE, and VERSION_UNSERVED for a definition that another host has (MJ5).
 */
async function moveOf(
  deps: HostDeps,
  saga: SagaId,
  from: DefinitionRef,
  moves?: Moves,
): Promise<Move | undefined> {
  const { ports, clock, app } = deps;
  const target = deps.routing.startsAs(from.name, saga);
  if (target === undefined || isSameDefinition(target, from)) return undefined; // MJ4
  if ((moves ?? (await deps.movesOf(from))) !== "auto") return undefined;
  const last = await patiently(clock, () => lastTurnOf(ports, saga));
  if (last === undefined || isTombstone(last)) return undefined;
  const note = readStay(await patiently(clock, () => ports.snapshots.get(saga, stayEntry)));
  if (note !== undefined && isSameDefinition(note.to, target) && holds(note, last)) return undefined; // MJ2
  const to = app.definition(target);
  if (to === undefined) throw new Unserved(saga, target); // MJ5
  const stored = await patiently(clock, () => readTurns(ports, saga, emptyHead, last.seq));
  const turns = stored.map(({ turn }) => turn);
  if (hasEnded(turns)) return undefined;
  const judged = isChild(turns) ? child : await judgeMove(deps, saga, { to, from }, stored);
  if ("why" in judged) {
    await stay(deps, saga, { to: target, head: turns.length, obstacle: judged });
    return undefined;
  }
  if (isUnfinishedFork(judged.state)) return undefined;
  const id = `auto-${to.hash}-${turns.length}`;
  const event = { type: "migrated", from, to: target, id, by: "auto", sentAt: clock.now() } as const;
  return { loaded: judged, event };
}

async function stay(
  { ports, clock, log }: HostDeps,
  saga: SagaId,
  { to, head, obstacle: { turn, why } }: Pick<Stay, "to" | "head"> & { readonly obstacle: Obstacle },
): Promise<void> {
  const note: Stay = { to, ...(turn === 0 ? {} : { turn }), why, head, at: clock.now() };
  await patiently(clock, () => ports.snapshots.put(saga, encodeJson(note), stayEntry));
  log.info({ sagaId: saga, to, why }, "saga stays");
}

/** MJ2: whether it is known that judging again would say the same. */
const holds = ({ turn, head }: Stay, last: StoredMessage): boolean =>
  turn !== undefined || Number(last.headers[headers.turn]) <= head;

/** MJ3. */
const child: Obstacle = { turn: 1, why: "it is a child: its parent's definition says what it is" };

const isChild = (turns: readonly Turn[]): boolean =>
  turns[0]?.steps.some(({ event }) => event.type === "start" && event.parent !== undefined) === true;
