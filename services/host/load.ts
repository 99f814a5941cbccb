/**
 * Load: a saga's state from its ledger, by the shortest way that is proven.
 *
 * LO1 The head is the leader's, as the chain tells. A snapshot counts only with the number and the hash of its turn, which
 *     the ledger has, and with its definition.
 * LO2 A snapshot only saves time: without it the same state is folded from the first turn.
 * LO3 A move to another definition makes the state anew from the first turn: no snapshot from before it counts.
 * LO4 A saga that another host serves is not folded. That another serves it is told by all of its turns (known-turns.ts): two
 *     messages that somebody published would else keep it from its own host for ever.
 * LO5 A saga whose machine was left out by a cancellation is put together without it: nobody takes again what it dies of.
 * LO6 A long fold is laid by on the way (fold-up.ts), but where all of the past is asked for.
 * LO7 A snapshot of a turn that the ledger lacks is no state, but it is known by it what may have begun (behind.ts).
 */
import type { Definition } from "../../actors/contract/definition.ts";
import { readWith } from "../../actors/values/schema.ts";
import { lastMigration } from "../../actors/kernel/migrated.ts";
import { PastNeeded, recall } from "../../actors/kernel/past.ts";
import { presentDefinition, stateFromJson } from "../../actors/kernel/replay.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import { chainHash } from "../../protocol/digest.ts";
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef, Event } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import type { App } from "../app/app.ts";
import { foldingToEnd, isBare } from "../ledger/bare-state.ts";
import {
  type ChainSource,
  claimOf,
  countsNow,
  emptyHead,
  type Head,
  type Link,
  readChain,
} from "../ledger/chain.ts";
import { createKnownTurns, type KnownTurns } from "../ledger/known-turns.ts";
import { isTombstone, readTombstone, turnsOf } from "../ledger/reader.ts";
import { patiently } from "../wire/patience.ts";
import type { LoopPort, Ports, StoredMessage } from "../wire/ports.ts";
import { definitionTold } from "../wire/turn-headers.ts";
import { type Conversation, conversationAfter, wholeConversation } from "./conversation.ts";
import { type FoldDeps, type FoldedUp, foldInPieces, foldUp, tellingTurns } from "./fold-up.ts";
import { Unserved } from "./unserved.ts";
import { isBeyond, mayBeDeposed, noteBeyond, outlastDeposed } from "./behind.ts";
import { readPast } from "./past-parts.ts";
import { noSnapshot, readSnapshot, type Snapshot, type SnapshotAge } from "./snapshots.ts";

/** Where a saga is loaded from. */
export interface LoadDeps extends FoldDeps {
  readonly ports: Pick<Ports, "ledger" | "snapshots" | "blobs" | "claims" | "inbox"> & {
    readonly loop?: LoopPort;
    readonly met?: ChainSource["met"];
  };
  /** What this host remembers of sagas that others serve; nothing unless given. */
  readonly known?: KnownTurns;
}

/** A saga as it stands after the turn of `head`. */
export interface Loaded {
  readonly definition: Definition;
  readonly state: SagaState;
  readonly head: Head;
  /** The newest snapshot, as it was when this was loaded. */
  readonly snapshot: SnapshotAge;
  readonly conversation: Conversation;
}

/**
 * What a saga is before its first turn. Throws INPUT_INVALID if the start's input is not its definition's.
 */
export function newSaga(app: App, start: Extract<Event, { type: "start" }>): Loaded {
  const definition = app.definition(start.definition);
  if (definition === undefined)
    throw new MeshError("INTERNAL", "a start names a definition of this application");
  const parsed = readWith(definition.input, start.input);
  if (!parsed.success)
    throw new MeshError("INPUT_INVALID", `the input of ${definition.name}: ${parsed.reason}`);
  const state = undefined as unknown as SagaState; // Proof: the first turn decides it, and nothing reads it before.
  return { definition, state, head: emptyHead, snapshot: noSnapshot, conversation: wholeConversation([]) };
}

/**
 * Loads a saga, or what is left of an archived one, or undefined if it has no ledger. Throws VERSION_UNSERVED if the
 * application lacks its definition, FOLD_DIVERGED or LEDGER_BROKEN if it cannot be folded, UNAVAILABLE after 30 s
 * without the server.
 */
export async function loadSaga(
  deps: LoadDeps,
  app: App,
  saga: SagaId,
): Promise<Loaded | Tombstone | undefined> {
  const snapshot = readSnapshot(deps, saga); // Asked for beside the head, which says whether it counts.
  snapshot.catch(() => undefined); // Waited for below.
  const last = await patiently(deps.clock, () => deps.ports.ledger.last(saga));
  if (last === undefined) return undefined;
  await assertServed(deps, app, saga, last); // LO4
  const found = isTombstone(last) ? undefined : await snapshot;
  const loading = found && (await loadBySnapshot(deps, app, saga, last, found));
  if (loading !== undefined) return loading;
  const chain = await patiently(deps.clock, () => readChain(deps.ports, saga, emptyHead, last.seq));
  const { links, tombstone } = chain;
  if (tombstone !== undefined) return readTombstone(deps.ports.blobs, tombstone);
  if (found !== undefined && isBeyond(found.snapshot.head, links))
    if (!(await settleBeyond(deps, app, found.snapshot, { saga, links }))) return loadSaga(deps, app, saga);
  return links.length === 0 ? undefined : loadLinks(deps, app, saga, links, true);
}

/** LO7: true once note is taken of what the snapshot knows; false where the ledger has its turn after all. */
async function settleBeyond(
  deps: LoadDeps,
  app: App,
  { head, state, definition: ref }: Snapshot,
  { saga, links }: { readonly saga: SagaId; readonly links: readonly Link[] },
): Promise<boolean> {
  const { ports, clock } = deps;
  const look = async () => {
    const last = await patiently(clock, () => ports.ledger.last(saga));
    const chain = await patiently(clock, () => readChain(ports, saga, emptyHead, last?.seq ?? 0));
    return chain.tombstone === undefined && isBeyond(head, chain.links);
  };
  if (mayBeDeposed(head, links) && !(await outlastDeposed(clock, look))) return false;
  await noteBeyond(deps, saga, { head, state, definition: app.definition(ref), by: "its snapshot" });
  return true;
}

/** LO4. Throws VERSION_UNSERVED. */
async function assertServed(deps: LoadDeps, app: App, saga: SagaId, last: StoredMessage): Promise<void> {
  const told = definitionTold(last);
  if (told === undefined || app.definition(told) !== undefined) return;
  const known = deps.known ?? createKnownTurns(deps.ports);
  const present = await patiently(deps.clock, () => known.definitionOf(saga));
  if (present !== undefined) served(app, saga, present);
}

/** Undefined where it does not count (LO1), or the saga is over: then the whole ledger tells. */
async function loadBySnapshot(
  deps: LoadDeps,
  app: App,
  saga: SagaId,
  last: StoredMessage,
  { snapshot, bytes }: { readonly snapshot: Snapshot; readonly bytes: number },
): Promise<Loaded | undefined> {
  if (app.definition(snapshot.definition) === undefined) return undefined; // Its ledger says which it is.
  const links = await linksSince(deps, saga, snapshot.head, last);
  if (links === undefined) return undefined;
  const definition = served(app, saga, snapshot.definition);
  try {
    const since = await tellingTurns(deps, links);
    if (lastMigration(since) !== undefined || isBare(since)) return undefined; // LO3, LO5
    const state = stateFromJson(definition, snapshot.state);
    const age = { turn: snapshot.head.turn, bytes, grown: 0, isWhole: snapshot.said !== undefined };
    const head = links.at(-1)?.head ?? snapshot.head;
    const said = () => conversationAfter(snapshot.said);
    if (links.length === 0) return { definition, state, head, snapshot: age, conversation: said() };
    return { definition, head, ...(await foldOn(deps, definition, state, links, { snapshot: age, said })) };
  } catch (error) {
    if (error instanceof MeshError && error.code === "UNAVAILABLE") throw error;
    return undefined; // LO2: a snapshot that does not lead to the head is thrown away.
  }
}

/** Undefined if they do not follow the snapshot (LO2), or it is not the turn's that it names (LO1). Throws UNAVAILABLE. */
async function linksSince(
  deps: LoadDeps,
  saga: SagaId,
  head: Head,
  last: StoredMessage,
): Promise<readonly Link[] | undefined> {
  if (head.seq > last.seq) return undefined;
  if (head.seq === last.seq) return isHeadOf(saga, head, last) ? [] : undefined;
  const { ports, clock } = deps;
  try {
    const { links, tombstone } = await patiently(clock, () => readChain(ports, saga, head, last.seq));
    if (tombstone !== undefined) return undefined;
    if (links.length > 0) return links; // The first of them proves it, by naming its hash.
    const [own] = await patiently(clock, () => ports.ledger.read(saga, head.seq - 1, head.seq));
    return own !== undefined && isHeadOf(saga, head, own) ? [] : undefined;
  } catch (error) {
    if (isMeshError(error, "UNAVAILABLE")) throw error;
    return undefined;
  }
}

/** LO1. */
const isHeadOf = (saga: SagaId, { turn, seq, hash }: Head, message: StoredMessage): boolean => {
  const claim = claimOf(message);
  return (
    claim?.saga === saga &&
    claim.turn === turn &&
    message.seq === seq &&
    chainHash(message.data) === hash &&
    countsNow(message)
  );
};

/** Folds turns onto a state, with its past if they need it. */
async function foldOn(
  deps: LoadDeps,
  definition: Definition,
  from: SagaState,
  links: readonly Link[],
  { snapshot, said }: { readonly snapshot: SnapshotAge; readonly said: () => Conversation },
): Promise<FoldedUp> {
  const start = { saga: from.saga, state: from, snapshot, moved: 0, laysBy: true };
  try {
    return await foldUp(deps, definition, links, { ...start, conversation: said() });
  } catch (error) {
    if (!(error instanceof PastNeeded)) throw error;
    const whole = await withPast(deps, from);
    if (whole === undefined) throw error;
    return foldUp(deps, definition, links, { ...start, conversation: said(), state: whole, laysBy: false });
  }
}

async function withPast(deps: LoadDeps, state: SagaState): Promise<SagaState | undefined> {
  const parts = state.past === undefined ? [] : await readPast(deps, state.saga, state.past);
  return parts === undefined ? undefined : recall(state, parts);
}

/**
 * The same saga at the same turn, with nothing laid by: from the parts of its past, and from its first turn if
 * those are lost (LO2). Throws as `loadSaga`.
 */
export async function loadPast(deps: LoadDeps, app: App, loaded: Loaded): Promise<Loaded> {
  const state = await withPast(deps, loaded.state);
  return state === undefined
    ? loadWhole(deps, app, loaded.state.saga, loaded.head.seq)
    : { ...loaded, state };
}

/** Loads from the first turn, with the conversation. */
export async function loadWhole(deps: LoadDeps, app: App, saga: SagaId, throughSeq: number): Promise<Loaded> {
  const { links } = await patiently(deps.clock, () => readChain(deps.ports, saga, emptyHead, throughSeq));
  return loadLinks(deps, app, saga, links, false);
}

async function loadLinks(
  deps: LoadDeps,
  app: App,
  saga: SagaId,
  links: readonly Link[],
  laysBy: boolean,
): Promise<Loaded> {
  const telling = await tellingTurns(deps, links);
  const definition = served(app, saga, presentDefinition(telling));
  const head = links.at(-1)?.head ?? emptyHead;
  if (isBare(telling)) return { definition, head, ...(await foldBare(deps, definition, saga, links)) };
  const moved = lastMigration(telling)?.turn ?? 0;
  const fold = (lays: boolean) =>
    foldUp(deps, definition, links, {
      ...{ saga, state: undefined, snapshot: noSnapshot, moved, laysBy: lays },
      conversation: wholeConversation([]),
    });
  try {
    return { definition, head, ...(await fold(laysBy)) };
  } catch (error) {
    if (!(error instanceof PastNeeded)) throw error;
    return { definition, head, ...(await fold(false)) };
  }
}

/** LO5. */
async function foldBare(
  deps: LoadDeps,
  definition: Definition,
  saga: SagaId,
  links: readonly Link[],
): Promise<Pick<Loaded, "state" | "snapshot" | "conversation">> {
  const stored = await patiently(deps.clock, () => turnsOf(deps.ports, links));
  const turns = stored.map(({ turn }) => turn);
  const { state, messages } = await foldInPieces(deps, saga, foldingToEnd(definition, turns));
  const grown = stored.reduce((sum, { bytes }) => sum + bytes, 0);
  return { state, snapshot: { ...noSnapshot, grown }, conversation: wholeConversation(messages ?? []) }; // It asks no model.
}

function served(app: App, saga: SagaId, ref: DefinitionRef): Definition {
  const definition = app.definition(ref);
  if (definition !== undefined) return definition;
  throw new Unserved(saga, ref);
}
