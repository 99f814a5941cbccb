/**
 * Host: owns sagas, as one incarnation after the other. What it does is incarnation.ts; a host that stood still
 * until others took its place begins anew under another name.
 */
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { limits } from "../../protocol/limits.ts";
import { type App, assertServable } from "../app/app.ts";
import type { Log } from "../process/log.ts";
import type { Chance, Clock, Ports } from "../wire/ports.ts";
import { createRoom } from "../process/room.ts";
import type { CallbackUrlOf } from "../wire/settlement-token.ts";
import type { CheckSignature, Signer } from "../wire/signing.ts";
import type { Isolate } from "../suspects/child.ts";
import { serveBodies } from "../perform/serve-bodies.ts";
import { createThrottle } from "../throttle/throttle.ts";
import { type HostDeps, type Observer, silentObserver } from "./host-deps.ts";
import { serveAs } from "./incarnation.ts";
import { register } from "./register.ts";

/** How much one host takes upon itself. */
export interface HostBounds {
  /** Sagas begun here and not at rest yet; more starts wait in the stream. 2,000 unless given. */
  readonly sagasMax?: number | undefined;
  /** Effects in flight at once: model calls and host-placed tools. 256 unless given. */
  readonly effectsMax?: number | undefined;
}

/** What a host lives on, and how much it takes upon itself. */
export interface HostOptions extends HostBounds {
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
  /** Starts a process for what died with its host. Without it nothing is suspected, and nothing set aside for it. */
  readonly isolate?: Isolate | undefined;
}

/** A host that serves. */
export interface Host {
  /** Drains within the grace (milliseconds), then gives back what is left. */
  stop(graceMs: number): Promise<void>;
  /** Sagas in memory now. */
  readonly resident: () => number;
  readonly partitions: () => readonly number[];
}

/** What the parts of a host share, whatever its incarnation. */
export const depsOf = (options: HostOptions, app: App, signal: AbortSignal): Omit<HostDeps, "hasLapsed"> => ({
  ...options,
  app,
  observe: options.observe ?? silentObserver,
  signal,
  throttle: createThrottle(options),
  sagasMax: options.sagasMax ?? limits.sagasPerHostMax,
  room: createRoom(options.effectsMax ?? limits.effectsPerHostMax),
  placementOf: (tool: string) => app.tools.get(tool)?.placement ?? "worker",
  live: (saga: SagaId, lane: string, value: Json) =>
    options.ports.live.publish(saga, lane, Buffer.from(JSON.stringify(value))),
});

/** Starts a host. Throws APP_INVALID with every fault before anything is taken. */
export async function startHost(options: HostOptions, app: App): Promise<Host> {
  assertServable(app, "host");
  const { log } = options;
  const letGo = new AbortController();
  const deps = depsOf(options, app, letGo.signal);
  await register(options, app);
  const closeBodies = serveBodies(
    [...app.tools.values()].map(({ name, placement }) =>
      placement === "host" ? app.bodies.get(name) : undefined,
    ),
    log,
  );
  let count = 0;
  let stopping = false;
  const begin = () => {
    count += 1;
    const incarnation = count === 1 ? options.incarnation : `${options.incarnation}-${count}`;
    log.info(
      { host: incarnation, definitions: app.startable.map(({ name, version }) => `${name}@${version}`) },
      "host serves",
    );
    return serveAs({ ...deps, incarnation }, () => {
      if (!stopping) present = begin();
    });
  };
  let present = begin();
  return {
    resident: () => present.resident(),
    partitions: () => present.partitions(),
    stop: async (graceMs) => {
      stopping = true;
      await present.drain(graceMs);
      letGo.abort();
      await closeBodies();
    },
  };
}
