/**
 * Undo alone: one saga is cancelled without its machine and its undoing carried on in this process, which joins no roster and
 * consumes nothing. For a saga that no host can take, or that no host serves.
 *
 * UA1 What decides is what decides everywhere: the turn of the cancellation (cancel-bare.ts), then an activation. So the ledger's
 *     compare-and-set tells whose the saga is, keys and claims are those that a host would use, and what dies in the middle
 *     is gone on with by whoever takes the saga next: this again, or a host.
 * UA2 What had begun before is not performed here, for the application may die of it, and nobody wants it any more. Where its
 *     claim does not tell that it never happened it is in doubt, and undone by its key.
 */
import type { OpenIntent, SagaState } from "../../actors/contract/state.ts";
import { leavesMachineOut } from "../../actors/kernel/bare.ts";
import type { DecidedTurn } from "../../actors/kernel/fold.ts";
import { contentTypes, encodeJson } from "../../protocol/codec.ts";
import { assert, describeError, MeshError } from "../../protocol/errors.ts";
import type { Event, EventOf } from "../../protocol/event.ts";
import type { IntentId, SagaId } from "../../protocol/ids.ts";
import { isUndoing } from "../../protocol/intent.ts";
import { headers, subjects } from "../../protocol/subjects.ts";
import type { App } from "../app/app.ts";
import { readTurns, emptyHead } from "../ledger/reader.ts";
import { lastTurnOf } from "../ledger/chain.ts";
import { serveBodies } from "../perform/serve-bodies.ts";
import { patiently } from "../wire/patience.ts";
import type { Delivery } from "../wire/ports.ts";
import { createActivation } from "./activation.ts";
import { cancelBare, decideBare, maybe, ownCalls, readBare } from "./cancel-bare.ts";
import { depsOf, type HostOptions } from "./host.ts";
import { type HostDeps, silentObserver } from "./host-deps.ts";
import { loadSaga } from "./load.ts";
import { createRows } from "../listing/rows.ts";
import { routingAlone } from "./routing.ts";
import { type ForeseenUndo, foreseeUndo } from "./undo-foreseen.ts";

const lookMs = 20;

/** A saga that may be undone alone, as its ledger tells of it. */
export interface Alone {
  /** Cancels it, and goes on with that until nothing is left to do here. */
  undo(reason: string, told: (undone: ToldUndo) => void, signal: AbortSignal): Promise<AloneEnd>;
  /** What that would do. Nothing is claimed, performed or appended. */
  foresee(): Promise<readonly ForeseenUndo[]>;
  /** Whether it was cancelled in this way before, and has only to be gone on with. */
  readonly hasBegun: boolean;
}

/** `rests`: nothing more is to be done here. `taken`: another host has appended. `ended`: the signal came. */
export type AloneEnd = "rests" | "taken" | "ended";

/** How one compensation ended. */
export interface ToldUndo {
  readonly undoes: IntentId;
  readonly by: IntentId;
  readonly name: string;
  readonly outcome: string;
}

/**
 * Reads the saga. Every tool that the application has a body of is performed here, whatever its placement; the rest is handed
 * on. Throws VERSION_UNSERVED if the application lacks its definition, LEDGER_BROKEN, UNAVAILABLE.
 */
export async function openAlone(options: HostOptions, app: App, saga: SagaId): Promise<Alone> {
  const letGo = new AbortController();
  const shared = depsOf(options, app, letGo.signal);
  const hasLapsed = () => false;
  const deps: HostDeps = {
    ...shared,
    movesOf: () => Promise.resolve("pinned"),
    routing: routingAlone(app),
    hasLapsed,
    rows: createRows({ ...shared, hasLapsed, saysWhatItOwes: false }),
    placementOf: (contract) => (app.bodies.has(contract) ? "host" : "worker"),
  };
  const cancelled = await cancelledIn(deps, saga);
  const eventOf = (reason: string): EventOf<"signal"> =>
    cancelled ?? {
      ...{ type: "signal", name: "cancel", data: { reason }, from: options.incarnation },
      ...{ id: `${options.incarnation}-${options.chance.nonce()}`, sentAt: options.clock.now() },
    };
  return {
    hasBegun: cancelled !== undefined,
    foresee: async () => {
      const { definition, state } = await begunState(deps, saga, eventOf(""));
      return (await foreseeUndo(definition, state, options.incarnation)).steps;
    },
    undo: async (reason, told, signal) => {
      const cancel = eventOf(reason);
      const close = serveBodies(app.bodies.values(), deps.log);
      try {
        if (cancelled === undefined && !(await begin(deps, saga, cancel))) return "taken";
        return await goOn(deps, saga, cancel, told, signal);
      } finally {
        letGo.abort();
        await close();
      }
    },
  };
}

/** The cancellation that left the machine out; undefined while there is none. */
async function cancelledIn({ ports, clock }: HostDeps, saga: SagaId): Promise<EventOf<"signal"> | undefined> {
  const last = await patiently(clock, () => lastTurnOf(ports, saga));
  const stored =
    last === undefined ? [] : await patiently(clock, () => readTurns(ports, saga, emptyHead, last.seq));
  const found = stored
    .flatMap(({ turn }) => turn.steps)
    .map(({ event }) => event)
    .find((event) => leavesMachineOut({ event }));
  return found?.type === "signal" ? found : undefined;
}

const unread = (saga: SagaId): MeshError =>
  new MeshError("VERSION_UNSERVED", `this application does not serve the definition of ${saga}`, {
    remedy:
      "Name the application file that the saga was started with by --app; `sagamesh inspect SAGA` shows its definition.",
  });

/** The state in which the undoing has begun, on the ledger or only here. */
async function begunState(deps: HostDeps, saga: SagaId, cancel: EventOf<"signal">) {
  const bare = await readBare(deps, saga);
  if (bare === undefined) {
    const loaded = await loadSaga(deps, deps.app, saga);
    if (loaded === undefined || "type" in loaded) throw unread(saga);
    return { definition: loaded.definition, state: loaded.state };
  }
  // Nothing is claimed to foresee: of what its claim may tell that it never happened it is taken that it may have.
  const events = ownCalls(deps, bare.state).map((open) => cutOff(deps, open, saga));
  const decided = decideBare(bare, cancel, events, deps.clock.now());
  return { definition: bare.definition, state: decided?.state ?? bare.state };
}

/** UA2. */
const cutOff = ({ incarnation }: HostDeps, { intent, attempt }: OpenIntent, saga: SagaId): Event => ({
  ...{ type: "result", intent: intent.id, attempt, by: incarnation, result: maybe(byHand(saga)) },
});

const byHand = (saga: SagaId): MeshError => new MeshError("CANCELLED", `${saga} is undone by hand`);

/** The turn of the cancellation. False: another host has appended meanwhile. */
async function begin(deps: HostDeps, saga: SagaId, cancel: EventOf<"signal">): Promise<boolean> {
  const bare = await readBare(deps, saga);
  if (bare === undefined) throw unread(saga);
  return cancelBare(deps, bare, cancel, byHand(saga));
}

/** An activation takes the cancellation as a repeat, and so hands on all that is open. */
async function goOn(
  given: HostDeps,
  saga: SagaId,
  cancel: EventOf<"signal">,
  told: (undone: ToldUndo) => void,
  signal: AbortSignal,
): Promise<AloneEnd> {
  let error: Error | undefined;
  let isFenced = false;
  const gone = Promise.withResolvers<"gone">();
  const deps: HostDeps = {
    ...given,
    observe: {
      ...silentObserver,
      turn: (decided, before) => undoneIn(decided, before).forEach(told),
      append: (outcome) => void (isFenced ||= outcome === "fenced" || outcome === "behind"),
      parked: (_saga, why) =>
        void (error = why instanceof Error ? why : new MeshError("INTERNAL", describeError(why))),
    },
  };
  const activation = createActivation(deps, saga, () => gone.resolve("gone"));
  activation.offer(repeatOf(deps, saga, cancel), { kind: "signal", saga, name: cancel.name });
  const isOver = () => isFenced || error !== undefined || activation.idleSince() !== undefined;
  while (!signal.aborted && !isOver())
    if ((await Promise.race([gone.promise, deps.clock.sleep(lookMs)])) === "gone") break;
  const rests = activation.idleSince() !== undefined;
  await activation.release();
  if (error !== undefined) throw error;
  if (rests) return "rests";
  return signal.aborted ? "ended" : "taken";
}

/** What a host would have been delivered. Nothing of it is in the inbox, so there is nothing to settle. */
function repeatOf({ clock }: HostDeps, saga: SagaId, cancel: EventOf<"signal">): Delivery {
  assert(cancel.type === "signal", "a saga is cancelled by a signal");
  return {
    ...{ subject: subjects.signal(saga, cancel.name), seq: 0, storedAt: clock.now(), deliveries: 1 },
    headers: {
      [headers.event]: cancel.id,
      [headers.from]: cancel.from,
      [headers.contentType]: contentTypes.json,
    },
    data: encodeJson(cancel.data),
    ack: async () => undefined,
    nak: async () => undefined,
    working: () => undefined,
  };
}

const undoneIn = ({ steps }: DecidedTurn, before: SagaState | undefined): ToldUndo[] =>
  steps.flatMap(({ event }) => {
    const open = event.type === "result" ? before?.open[event.intent] : undefined;
    if (event.type !== "result" || open === undefined) return [];
    const { intent } = open;
    if (!isUndoing(intent)) return [];
    return [{ undoes: intent.undoes, by: intent.id, name: intent.name, outcome: event.result.outcome }];
  });
