/**
 * Migrate: the signal `migrate` at a host. It is judged by the saga's whole ledger, under the definition it names.
 *
 * Owns: whether this host takes it, and what the turn that records the move is decided from. Does not own: the
 * judgement (actors/kernel/migrate.ts), the append (turn.ts).
 *
 * MH1 A host that serves the new definition may take it, whether or not it serves the old one. Any other hands it on to
 *     one that does; while there is none it is given back, for an hour.
 * MH2 Until the turn is acked nothing has changed: a host that dies before leaves the saga under its old definition, and
 *     one that gets the signal after knows it by its id, or by the definition that the saga has.
 */
import { assertFresh } from "../../actors/kernel/read-signal.ts";
import { foldUnder, judgeRest, type Obstacle } from "../../actors/kernel/migrate.ts";
import { readWith } from "../../actors/values/schema.ts";
import { foldingLedger, presentDefinition } from "../../actors/kernel/replay.ts";
import { reservedSignals } from "../../actors/contract/reserved-signals.ts";
import { wasSeen } from "../../actors/kernel/seen.ts";
import type { Definition } from "../../actors/contract/definition.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef, EventOf } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { limits } from "../../protocol/limits.ts";
import type { Turn } from "../../protocol/turn.ts";
import { emptyHead, isTombstone, readTurns, type StoredTurn } from "../ledger/reader.ts";
import { registeredContracts, servedContracts } from "../app/old-contracts.ts";
import { patiently } from "../wire/patience.ts";
import { wholeConversation } from "./conversation.ts";
import type { HostDeps } from "./host-deps.ts";
import type { InboxItem, Inputs, ReadItem } from "./inputs.ts";
import type { Loaded } from "./load.ts";
import { noSnapshot } from "./snapshots.ts";
import { Unserved } from "./unserved.ts";
import { lastTurnOf } from "../ledger/chain.ts";
import { foldInPieces } from "./fold-up.ts";

/** A saga under its new definition, as it is before the turn that records the move. */
export interface Move {
  readonly loaded: Loaded;
  readonly event: EventOf<"migrated">;
}

/** What judging a move takes. */
type MoveDeps = Pick<HostDeps, "ports" | "clock" | "app" | "holding">;

/** A signal `migrate` in a batch, and what came with it. */
export interface MoveOrder {
  readonly item: InboxItem;
  readonly signal: EventOf<"signal">;
  readonly others: readonly ReadItem[];
}

/** Whether it is a signal `migrate`. */
export const isMoveOrder = ({ from, event }: ReadItem): boolean =>
  from === "inbox" && event.type === "signal" && event.name === "migrate";

/** The first one, if there is any. */
export function orderIn(read: readonly ReadItem[]): MoveOrder | undefined {
  const item = read.find(isMoveOrder);
  if (item?.from !== "inbox" || item.event.type !== "signal") return undefined;
  return { item, signal: item.event, others: read.filter((other) => other !== item) };
}

/**
 * What becomes of it: a move, which goes before all that came with it, for under the old definition this host may not
 * take that; `later`, because what this host observed itself goes first; `answered`, refused or given back; `usual`,
 * like any other signal, because it changes nothing. Throws what `moveOf` throws beside that.
 */
export async function answerOrder(
  deps: MoveDeps & Pick<HostDeps, "routing">,
  saga: SagaId,
  { item: { delivery }, signal, others }: MoveOrder,
  answers: Pick<Inputs, "refuse" | "putBackOrRefuse" | "passOn">,
): Promise<Move | "usual" | "later" | "answered"> {
  if (others.some(({ from }) => from === "host")) return "later";
  try {
    return (await moveOf(deps, saga, signal)) ?? "usual";
  } catch (error) {
    if (error instanceof Unserved && deps.routing.isServed(error.definition))
      await answers.passOn(delivery, error.definition);
    else if (isMeshError(error, "VERSION_UNSERVED"))
      await answers.putBackOrRefuse(delivery, limits.unservedDelayMs, error);
    else if (isMeshError(error) && refused.has(error.code)) await answers.refuse(delivery, error);
    else throw error;
    return "answered";
  }
}

const refused: ReadonlySet<string> = new Set([
  "INPUT_INVALID",
  "SIGNAL_EXPIRED",
  "SAGA_ENDED",
  "MIGRATION_REFUSED",
]);

/**
 * What a signal `migrate` makes of a saga; undefined where it makes nothing of it: there is no ledger yet, or no longer,
 * or it was moved already. Throws VERSION_UNSERVED if this host lacks the new definition, and INPUT_INVALID,
 * SIGNAL_EXPIRED, SAGA_ENDED or MIGRATION_REFUSED for what is to be refused.
 */
async function moveOf(deps: MoveDeps, saga: SagaId, signal: EventOf<"signal">): Promise<Move | undefined> {
  const { ports, clock, app } = deps;
  const last = await patiently(clock, () => lastTurnOf(ports, saga));
  if (last === undefined || isTombstone(last)) return undefined;
  const stored = await patiently(clock, () => readTurns(ports, saga, emptyHead, last.seq));
  const turns = stored.map(({ turn }) => turn);
  const from = presentDefinition(turns);
  const read = readWith(reservedSignals.migrate, signal.data);
  if (!read.success) throw new MeshError("INPUT_INVALID", `signal "migrate": ${read.reason}`);
  const wanted = read.data.definition;
  const to = app.definition(wanted);
  if (to === undefined) {
    if (from.hash === wanted.hash) return undefined;
    throw new Unserved(saga, wanted);
  }
  if (from.hash === to.hash && (await foldsAsRecorded(deps, saga, to, turns))) return undefined;
  assertFresh(signal, clock.now());
  if (from.name !== to.name)
    throw new MeshError("MIGRATION_REFUSED", `${saga} is one of ${from.name}, not of ${to.name}`);
  const judged = await judgeMove(deps, saga, { to, from }, stored);
  if ("why" in judged) {
    const { turn, why } = judged;
    throw new MeshError("MIGRATION_REFUSED", `${saga}${turn === 0 ? "" : `, turn ${turn}`}: ${why}`);
  }
  const { state } = judged;
  if (wasSeen(state, signal)) return undefined;
  if (state.phase.kind === "ended")
    throw new MeshError("SAGA_ENDED", `${saga} has ended; "migrate" came too late`);
  const { name, version, hash } = to;
  return {
    loaded: judged,
    event: {
      type: "migrated",
      from,
      to: { name, version, hash },
      id: signal.id,
      by: signal.from,
      sentAt: signal.sentAt,
    },
  };
}

/** What a saga is under another definition before it is moved there, by its whole ledger; or what keeps it where it is. */
export async function judgeMove(
  deps: MoveDeps,
  saga: SagaId,
  { to, from }: { readonly to: Definition; readonly from: DefinitionRef },
  stored: readonly StoredTurn[],
): Promise<Loaded | Obstacle> {
  const { ports, clock, app } = deps;
  const turns = stored.map(({ turn }) => turn);
  const folded = await foldInPieces(deps, saga, foldUnder(to, turns));
  if (!folded.can) return folded.obstacle;
  const old =
    servedContracts(app, from) ?? (await registeredContracts({ registry: ports.registry, clock }, from));
  const judged = judgeRest(to, turns, folded, old);
  if (!judged.can) return judged.obstacle;
  return {
    definition: to,
    state: judged.state,
    head: stored.at(-1)?.head ?? emptyHead,
    snapshot: { ...noSnapshot, grown: stored.reduce((sum, { bytes }) => sum + bytes, 0) },
    conversation: wholeConversation(judged.messages),
  };
}

/** Functions stand in no hash: one of them may decide otherwise under the hash that the saga has. */
async function foldsAsRecorded(
  deps: MoveDeps,
  saga: SagaId,
  definition: Definition,
  turns: readonly Turn[],
): Promise<boolean> {
  try {
    await foldInPieces(deps, saga, foldingLedger(definition, turns));
    return true;
  } catch (error) {
    if (isMeshError(error)) return false;
    throw error;
  }
}
