/**
 * Load: a saga's state from its ledger, by the shortest way that is proven.
 *
 * N1 The head is the leader's. A snapshot counts only with the hash of its turn and of its definition.
 * N2 A snapshot only saves time: without it the same state is folded from the first turn.
 */
import type { Definition } from "../../actors/definition.ts";
import { definitionOf, foldLedger, stateFromJson, stateToJson } from "../../actors/replay.ts";
import type { SagaState } from "../../actors/state.ts";
import { contentTypes, decode, encodeMsgpack } from "../../protocol/codec.ts";
import { chainHash } from "../../protocol/digest.ts";
import { MeshError } from "../../protocol/errors.ts";
import type { SagaId } from "../../protocol/ids.ts";
import { toJson } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import type { Message } from "../../protocol/model.ts";
import type { App } from "../app.ts";
import { emptyHead, type Head, readTurns } from "../ledger-reader.ts";
import { patiently } from "../patience.ts";
import type { Clock, Ports } from "../ports.ts";

export interface LoadDeps {
  readonly ports: Pick<Ports, "ledger" | "snapshots" | "blobs">;
  readonly clock: Clock;
}

export interface Loaded {
  readonly definition: Definition;
  readonly state: SagaState;
  readonly head: Head;
  /** The turn of the newest snapshot; 0 if there is none. */
  readonly snapshotTurn: number;
  /** The conversation, where the whole ledger was folded. */
  readonly messages: Message[] | undefined;
}

interface Snapshot {
  readonly head: Head;
  readonly definition: { readonly name: string; readonly version: number; readonly hash: string };
  readonly state: unknown;
}

/**
 * Loads a saga, or undefined if it has no ledger. Throws VERSION_UNSERVED if the application lacks its
 * definition, FOLD_DIVERGED or LEDGER_BROKEN if it cannot be folded, UNAVAILABLE after 30 s without the server.
 */
export async function loadSaga(deps: LoadDeps, app: App, saga: SagaId): Promise<Loaded | undefined> {
  const last = await patiently(deps.clock, () => deps.ports.ledger.last(saga));
  if (last === undefined) return undefined;
  const snapshot = await readSnapshot(deps, saga);
  const usable =
    snapshot !== undefined &&
    snapshot.head.seq <= last.seq &&
    (snapshot.head.seq < last.seq || snapshot.head.hash === chainHash(last.data));
  if (!usable) return loadWhole(deps, app, saga, last.seq);
  const definition = served(app, saga, snapshot.definition);
  try {
    const turns = await patiently(deps.clock, () => readTurns(deps.ports, saga, snapshot.head, last.seq));
    const from = stateFromJson(definition, snapshot.state);
    const { state } = foldLedger(
      definition,
      turns.map(({ turn }) => turn),
      from,
    );
    return {
      definition,
      state,
      head: turns.at(-1)?.head ?? snapshot.head,
      snapshotTurn: snapshot.head.turn,
      messages: undefined,
    };
  } catch (error) {
    if (error instanceof MeshError && error.code === "UNAVAILABLE") throw error;
    return loadWhole(deps, app, saga, last.seq); // N2: a snapshot that does not lead to the head is thrown away.
  }
}

/** Loads from the first turn, with the conversation. */
export async function loadWhole(deps: LoadDeps, app: App, saga: SagaId, throughSeq: number): Promise<Loaded> {
  const turns = await patiently(deps.clock, () => readTurns(deps.ports, saga, emptyHead, throughSeq));
  const [first] = turns;
  if (first === undefined) throw new MeshError("LEDGER_BROKEN", `the ledger of ${saga} has no first turn`);
  const definition = served(app, saga, definitionOf(first.turn));
  const { state, messages } = foldLedger(
    definition,
    turns.map(({ turn }) => turn),
  );
  return { definition, state, head: turns.at(-1)?.head ?? emptyHead, snapshotTurn: 0, messages };
}

function served(app: App, saga: SagaId, ref: { name: string; version: number; hash: string }): Definition {
  const definition = app.definition(ref);
  if (definition !== undefined) return definition;
  throw new MeshError(
    "VERSION_UNSERVED",
    `${saga} was started with ${ref.name} version ${ref.version} (${ref.hash}), which this host does not serve`,
  );
}

async function readSnapshot(deps: LoadDeps, saga: SagaId): Promise<Snapshot | undefined> {
  const bytes = await patiently(deps.clock, () => deps.ports.snapshots.get(saga));
  if (bytes === undefined) return undefined;
  try {
    return decode(bytes, contentTypes.msgpack) as unknown as Snapshot;
  } catch {
    return undefined; // N2: unreadable is the same as absent.
  }
}

/** Writes a snapshot after the turn's ack. Best effort: a lost one costs time only. */
export async function writeSnapshot(
  deps: LoadDeps,
  definition: Definition,
  state: SagaState,
  head: Head,
): Promise<boolean> {
  const { name, version, hash } = definition;
  const data = encodeMsgpack(
    toJson({ head, definition: { name, version, hash }, state: stateToJson(definition, state) }),
  );
  if (data.length > limits.messageBytesMax) return false;
  await deps.ports.snapshots.put(state.saga, data);
  return true;
}
