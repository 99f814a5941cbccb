/**
 * Host: owns sagas, as one incarnation after the other. What it does is incarnation.ts; a host that stood still
 * until others took its place begins anew under another name.
 */
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { createKnownTurns } from "../ledger/known-turns.ts";
import { weightDefault } from "../../protocol/host-weight.ts";
import { limits } from "../../protocol/limits.ts";
import type { StorageLeft } from "../../protocol/storage.ts";
import { type App, assertServable } from "../app/app.ts";
import { onBehalfOf } from "../perform/on-behalf.ts";
import { type Holding, unwatched } from "../process/holding.ts";
import type { Log } from "../process/log.ts";
import type { Chance, Clock, Ports } from "../wire/ports.ts";
import { createRoom } from "../process/room.ts";
import type { CallbackUrlOf } from "../wire/settlement-token.ts";
import type { CheckSignature, Signer } from "../wire/signing.ts";
import type { Isolate } from "../suspects/child.ts";
import { createReturns } from "../suspects/returns.ts";
import { sagaOf } from "../suspects/saga-key.ts";
import { serveBodies } from "../perform/serve-bodies.ts";
import { createThrottle } from "../throttle/throttle.ts";
import { assertUnchanged } from "./changed.ts";
import type { Processes } from "./bury.ts";
import { type HostDeps, type LoggedLine, type Observer, silentObserver } from "./host-deps.ts";
import { serveAs } from "./incarnation.ts";
import { register } from "./register.ts";
import { createWeighing } from "./shedding.ts";
import { createStrain } from "./strain.ts";
import { tellForeign } from "./tell-foreign.ts";
import { createTries, tryingAlone } from "./tries.ts";
import { type Awaited, createWaiting } from "./waiting.ts";

/** How much one host takes upon itself. */
export interface HostBounds {
  /** Sagas begun here and not at rest yet; more starts wait in the stream. 2,000 unless given. */
  readonly sagasMax?: number | undefined;
  /** Effects in flight at once: model calls and host-placed tools. 256 unless given. */
  readonly effectsMax?: number | undefined;
  /**
   * Milliseconds between two looks for what is open and in no queue, and how long a saga must have been quiet to be looked
   * at. 5 minutes unless given: each look reads what has come to rest since the one before, and what it is for is rare.
   */
  readonly auditEveryMs?: number | undefined;
  /**
   * How many of the partitions it takes beside other hosts: one of weight 2 takes twice as many as one of 1. Tenths from 0.1 to
   * 100. In a program SAGAMESH_WEIGHT unless given, else 1.
   */
  readonly weight?: number | undefined;
}

/** How a host stands to hosts of other definitions. */
export interface HostPlace {
  /**
   * Serve definitions that were changed without a new version as a generation beside the old one, whose sagas live: a host
   * of that is kept running. False unless given: such a host does not start.
   */
  readonly beside?: boolean | undefined;
  /**
   * Decide each turn a second time before it is written down, and refuse what comes out otherwise (MACHINE_IMPURE): for
   * development, as `sagamesh up` and `testMesh` do. In a program SAGAMESH_FOLDS_TWICE unless given, else false.
   */
  readonly foldsTwice?: boolean | undefined;
}

/** Who is told what, beside the log. */
export interface HostTelling {
  /** Takes each line that a machine logs (`log` of XState), in the log's place; the log takes it, at `info`, unless given. */
  readonly onLogged?: ((line: LoggedLine) => void) | undefined;
}

/** What a host lives on, and how much it takes upon itself. */
export interface HostOptions extends HostBounds, HostPlace, HostTelling {
  readonly ports: Ports;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly log: Log;
  /** This process, new at each start. */
  readonly incarnation: string;
  readonly callbackBase: string;
  readonly callbackUrlOf?: CallbackUrlOf | undefined;
  readonly observe?: Observer;
  /** Signs each turn; without it none is signed. */
  readonly signer?: Signer | undefined;
  /** Without it a signed vote is refused: this host could not check it. */
  readonly checkSignature?: CheckSignature | undefined;
  /** Lines of its log that this process could not write, told in HOSTS. */
  readonly linesLost?: (() => number) | undefined;
  /** What can still be stored, as far as this process knows, told in HOSTS. */
  readonly storageLeft?: (() => StorageLeft | undefined) | undefined;
  /** How much of the time since it was asked last this process's loop was at work, 0 to 1; as if never unless given. */
  readonly loopUse?: (() => number) | undefined;
  /** Starts a process for what died with its host. Without it nothing is suspected, and nothing set aside for it. */
  readonly isolate?: Isolate | undefined;
  /** Which process this is, and which others of its machine have ended; without it the server alone tells. */
  readonly processes?: Processes | undefined;
  /** Where it is told which saga holds the loop; nowhere unless given. */
  readonly holding?: Holding | undefined;
}

/** A host that serves. */
export interface Host {
  /** Drains within the grace (milliseconds), then gives back what is left. */
  stop(graceMs: number): Promise<void>;
  /** Sagas in memory now. */
  readonly resident: () => number;
  /** Sagas that are not idle, and effects of this host's own that are in flight: what a stop waits for. */
  readonly underWay: () => { readonly sagas: number; readonly effects: number };
  readonly partitions: () => readonly number[];
  /** The sagas that wait for a host of their definition, as far as their inputs come here. */
  readonly waiting: () => readonly Awaited[];
}

/** ZN1 of left-alone.ts: what code of an application begins while it decides is known for whose it is. */
const named = (holding: Holding): Holding => ({
  during: (key, what, act) => onBehalfOf({ saga: sagaOf(key), what }, () => holding.during(key, what, act)),
});

/** What the parts of a host share, whatever its incarnation. */
export const depsOf = (
  options: HostOptions,
  app: App,
  signal: AbortSignal,
): Omit<HostDeps, "hasLapsed" | "routing" | "movesOf" | "rows"> => ({
  ...options,
  ports: { ...options.ports, met: tellForeign(options.log, options.observe ?? silentObserver) },
  known: createKnownTurns(options.ports),
  app,
  observe: options.observe ?? silentObserver,
  holding: named(options.holding ?? unwatched),
  signal,
  tries: tryingAlone,
  throttle: createThrottle(options),
  sagasMax: options.sagasMax ?? limits.sagasPerHostMax,
  auditEveryMs: options.auditEveryMs ?? limits.auditEveryMs,
  room: createRoom(options.effectsMax ?? limits.effectsPerHostMax),
  placementOf: (contract: string) => app.tools.get(contract)?.placement ?? "worker",
  live: (saga: SagaId, lane: string, value: Json) =>
    options.ports.live.publish(saga, lane, Buffer.from(JSON.stringify(value))),
});

/** Starts a host. Throws APP_INVALID with every fault, DEFINITION_CHANGED, SIGNER_REFUSED, before anything is taken. */
export async function startHost(options: HostOptions, app: App): Promise<Host> {
  assertServable(app, "host");
  const refusal = options.ports.trust?.refusal(options.signer?.publicKey);
  if (refusal !== undefined) throw refusal;
  await assertUnchanged(options, app);
  const { log } = options;
  const letGo = new AbortController();
  const deps = depsOf(options, app, letGo.signal);
  await register(options, app);
  const closeBodies = serveBodies(
    [...app.tools].map(([contract, { placement }]) =>
      placement === "host" ? app.bodies.get(contract) : undefined,
    ),
    log,
  );
  const name = options.incarnation;
  const strain = createStrain(options, name);
  const uses = {
    loop: () => options.loopUse?.() ?? 0,
    hands: () => deps.room.taken() / (options.effectsMax ?? limits.effectsPerHostMax),
    pulse: () => (strain.share() < 1 ? 1 : 0),
  };
  const weighing = createWeighing(options, { host: name, declared: options.weight ?? weightDefault, uses });
  const [returns, waiting] = [createReturns(), createWaiting(options.clock, log)];
  const tries = createTries({ ...options, returns, forgotten: waiting.drop });
  const process = { name, returns, tries, waiting, strain, weighing };
  let count = 0;
  let stopping = false;
  const begin = () => {
    count += 1;
    const incarnation = count === 1 ? options.incarnation : `${options.incarnation}-${count}`;
    log.info(
      { host: incarnation, definitions: app.startable.map(({ name, version }) => `${name}@${version}`) },
      "host serves",
    );
    return serveAs({ ...deps, incarnation }, process, () => {
      if (!stopping) present = begin();
    });
  };
  let present = begin();
  return {
    resident: () => present.resident(),
    underWay: () => ({ sagas: present.busy(), effects: deps.room.taken() }),
    partitions: () => present.partitions(),
    waiting: () => present.waiting(),
    stop: async (graceMs) => {
      stopping = true;
      await present.drain(graceMs);
      letGo.abort();
      await closeBodies();
    },
  };
}
