/** What every part of a host is given. */
import type { DecidedTurn } from "../../actors/fold.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { App } from "../app.ts";
import type { Log } from "../log.ts";
import type { Chance, Clock, Ports } from "../ports.ts";

/** What a host tells of itself as it happens: for metrics, tests and the demo. */
export interface Observer {
  turn(decided: DecidedTurn): void;
  append(outcome: "appended" | "fenced" | "retried", reason?: string): void;
  refused(code: string): void;
  parked(saga: SagaId, error: unknown): void;
}

export const silentObserver: Observer = {
  turn: () => undefined,
  append: () => undefined,
  refused: () => undefined,
  parked: () => undefined,
};

export interface HostDeps {
  readonly ports: Ports;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly app: App;
  readonly log: Log;
  readonly observe: Observer;
  /** This process, new at each start. */
  readonly incarnation: string;
  readonly callbackBase: string;
  /** Aborted when the host must let go of everything. */
  readonly signal: AbortSignal;
  /** Where a tool's attempts are performed. */
  readonly placementOf: (tool: string) => "worker" | "host";
  /** Best effort, never recorded. */
  readonly live: (saga: SagaId, lane: string, value: Json) => void;
}
