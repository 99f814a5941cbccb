/**
 * Fold up: a ledger's turns folded onto a saga, some at a time, and laid by as it goes.
 *
 * FQ1 A long fold is kept on the way: a process that ends in the middle of it costs the next one a share of it, and no more of
 *     what stands is in memory than of a saga that runs.
 * FQ2 Turns are read from their bytes as they are folded: fifty thousand at once take more memory than a host may have.
 * FQ3 What took longer than half a lease is kept in any case, although the host may have lapsed over it: a single turn that
 *     takes longer than a lease would be folded by each host anew, each lapse over it, and the saga never go on.
 */
import type { Definition } from "../../actors/contract/definition.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { foldingLedger } from "../../actors/kernel/replay.ts";
import { keepSaid } from "../../actors/request/conversation.ts";
import { mayHoldBlob } from "../../protocol/codec.ts";
import { limits } from "../../protocol/limits.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Turn } from "../../protocol/turn.ts";
import { keyOf } from "../suspects/saga-key.ts";
import type { Link } from "../ledger/chain.ts";
import { turnsOf } from "../ledger/reader.ts";
import { heldInPieces, type Holding, unwatched } from "../process/holding.ts";
import type { Log } from "../process/log.ts";
import { inPieces } from "../wire/loop.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, LoopPort, Ports } from "../wire/ports.ts";
import type { Conversation } from "./conversation.ts";
import { createKeeper } from "./keeper.ts";
import type { SnapshotAge } from "./snapshots.ts";

/** What folding up lives on. */
export interface FoldDeps {
  readonly ports: Pick<Ports, "snapshots" | "blobs"> & { readonly loop?: LoopPort };
  readonly clock: Clock;
  readonly log: Log;
  /** Nobody looks unless given. */
  readonly holding?: Holding;
}

/** A saga's turns folded in pieces, while it is told that it has the loop. */
export const foldInPieces = <T>(
  {
    ports,
    holding = unwatched,
  }: Pick<FoldDeps, "holding"> & { readonly ports: { readonly loop?: LoopPort } },
  saga: SagaId,
  work: Generator<unknown, T>,
): Promise<T> => inPieces(ports.loop, heldInPieces(holding, keyOf(saga), "the turns of its ledger", work));

/** What is folded onto. */
export interface FoldStart {
  readonly saga: SagaId;
  /** Undefined before the first turn. */
  readonly state: SagaState | undefined;
  readonly snapshot: SnapshotAge;
  /** As of the state. It takes what is said in the turns. */
  readonly conversation: Conversation;
  /** The turn from which on the saga is its present definition's own; 0: always. */
  readonly moved: number;
  /** Whether what stands may be laid by (FQ1): not where all of it is needed. */
  readonly laysBy: boolean;
}

/** What it comes to. */
export interface FoldedUp {
  readonly state: SagaState;
  readonly snapshot: SnapshotAge;
  readonly conversation: Conversation;
}

/** Folds at least one turn. Throws as `foldTurn`, PastNeeded, UNAVAILABLE. */
export async function foldUp(
  deps: FoldDeps,
  definition: Definition,
  links: readonly Link[],
  { saga, state: from, snapshot, conversation, moved, laysBy }: FoldStart,
): Promise<FoldedUp> {
  const keeper = createKeeper(deps);
  keeper.found(snapshot);
  let state = from;
  let next = 0;
  do {
    const some = links.slice(next, next + limits.foldedAtOnceMax);
    next += limits.foldedAtOnceMax;
    const stored = await patiently(deps.clock, () => turnsOf(deps.ports, some));
    const turns = stored.map(({ turn }) => turn);
    const begunAt = deps.clock.elapsed();
    const folded = await foldInPieces(deps, saga, foldingLedger(definition, turns, state, moved));
    const isDear = deps.clock.elapsed() - begunAt > limits.inboxAckWaitMs / 2; // FQ3
    keepSaid(conversation.since, folded.messages);
    const bytes = stored.reduce((sum, one) => sum + one.bytes, 0);
    state = keeper.grew(bytes, folded.state);
    const head = some.at(-1)?.head;
    if (!laysBy || head === undefined || (next >= links.length && !isDear)) continue;
    await keeper.keep({ definition, state, head, conversation }, isDear ? "dear" : "running");
    state = keeper.grew(0, state);
  } while (next < links.length);
  return { state, snapshot: keeper.age(), conversation };
}

/** What an event says of how its ledger is folded, as the bytes of its turn hold it: they are searched, and few are read. */
const tellingWords = ["migrated", "withoutMachine"] as const;

function mayTell(data: Uint8Array): boolean {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
  return tellingWords.some((word) => bytes.includes(word)) || mayHoldBlob(data);
}

/** The first turn, and all that may say under which definition, or how else, the ledger is folded. Throws as `turnsOf`. */
export async function tellingTurns(deps: FoldDeps, links: readonly Link[]): Promise<Turn[]> {
  const telling: Link[] = [];
  for (const [at, link] of links.entries()) {
    if (at === 0 || mayTell(link.message.data)) telling.push(link);
    await deps.ports.loop?.breathe();
  }
  const stored = await patiently(deps.clock, () => turnsOf(deps.ports, telling));
  return stored.map(({ turn }) => turn);
}
