/**
 * Signal: what is checked before a signal by name is stored, for a sender that has no definition at hand.
 */
import { isMeshError, MeshError } from "../../protocol/errors.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { isUnjudged } from "../ledger/trust.ts";
import { readView, type SagaView } from "../views/view.ts";
import { patiently } from "../wire/patience.ts";
import { readStanding } from "../wire/start.ts";
import { knownSaga } from "./known.ts";
import { checkSignal, readRegistry } from "./registry.ts";
import { type ClientDeps, sendSignal } from "./send.ts";

/** A signal by its name. */
export interface NamedSignal {
  readonly name: string;
  readonly data: Json;
  /** What repeats are recognised by; minted unless given. */
  readonly id?: string | undefined;
  /** Store it for a saga that was never started: it is kept for an hour. */
  readonly early?: boolean;
  /** Whether the saga is past taking it; once it has ended unless given. */
  readonly isOver?: (view: SagaView) => boolean;
}

/**
 * Stores a signal that the saga can take, as far as can be known here; also for one that no host has taken yet. Throws
 * SAGA_UNKNOWN unless `early`, SAGA_ENDED, SAGA_ARCHIVED, SIGNAL_UNKNOWN, INPUT_INVALID.
 */
export async function signalSaga(deps: ClientDeps, saga: SagaId, signal: NamedSignal): Promise<void> {
  const { name, data, id, early = false, isOver = ({ phase }) => phase === "ended" } = signal;
  const registered = await readRegistry(deps.ports.registry);
  const view = await viewIfBegun(deps, saga, early);
  if (view !== undefined && isOver(view))
    throw new MeshError("SAGA_ENDED", `${saga} has ended: ${view.status}`);
  const starting = view === undefined ? await startingAs(deps, saga) : undefined;
  const ref: DefinitionRef | undefined =
    view?.definition ??
    registered.definitions.findLast(
      ({ name: of, version }) => of === starting?.name && version === (starting.version ?? version),
    );
  // Of what is not known nothing can be said but how a signal that every saga takes looks.
  checkSignal(registered, ref ?? { name: "", version: 0, hash: "" }, name, data);
  await sendSignal(deps, saga, name, data, id);
}

/** Undefined for a saga that was started and has not begun, or cannot be judged yet, and, with `early`, for one that was not started. */
async function viewIfBegun(deps: ClientDeps, saga: SagaId, early: boolean): Promise<SagaView | undefined> {
  try {
    return await readView(deps.ports, saga);
  } catch (error) {
    if (isMeshError(error, "SAGA_NOT_BEGUN") || isUnjudged(error)) return undefined;
    if (!isMeshError(error, "SAGA_UNKNOWN")) throw error;
    if (!early) await knownSaga(deps, saga); // Says why, where its start was refused.
    return undefined;
  }
}

/** What the stored start of a saga that has not begun names. */
async function startingAs({ ports, clock }: ClientDeps, saga: SagaId) {
  const standing = await patiently(clock, () => ports.inbox.standingStart(saga));
  return standing && (await patiently(clock, () => readStanding(ports, standing)));
}
