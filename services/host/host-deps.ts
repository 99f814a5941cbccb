/** Host deps: what every part of a host is given. */
import type { DecidedTurn } from "../../actors/kernel/fold.ts";
import type { Moves } from "../../actors/contract/definition.ts";
import type { SagaState } from "../../actors/contract/state.ts";
import type { DefinitionRef } from "../../protocol/event.ts";
import type { SagaId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { StorageLeft } from "../../protocol/storage.ts";
import type { App } from "../app/app.ts";
import type { Log } from "../process/log.ts";
import { type AttemptObserver, silentAttempts } from "../perform/observe.ts";
import type { Chance, Clock, Ports } from "../wire/ports.ts";
import type { Room } from "../process/room.ts";
import type { CallbackUrlOf } from "../wire/settlement-token.ts";
import type { CheckSignature, Signer } from "../wire/signing.ts";
import type { Holding } from "../process/holding.ts";
import type { Isolate } from "../suspects/child.ts";
import type { ChainSource } from "../ledger/chain.ts";
import type { KnownTurns } from "../ledger/known-turns.ts";
import type { Processes } from "./bury.ts";
import type { Rows } from "../listing/rows.ts";
import type { Routing } from "./routing.ts";
import type { Trying } from "./tries.ts";
import type { Throttle } from "../throttle/throttle.ts";

/** What a host tells of itself as it happens: for metrics, tests and the demo. */
export interface Observer extends AttemptObserver {
  /** A turn is acked. `before` is the state it was decided from; undefined for a saga's first. */
  turn(decided: DecidedTurn, before?: SagaState): void;
  append(outcome: "appended" | "fenced" | "behind" | "retried", reason?: string): void;
  /** Messages on ledgers that are no turns were skipped; the same are met again whenever they are read again. */
  foreign(messages: number): void;
  refused(code: string): void;
  parked(saga: SagaId, error: unknown): void;
  /** An input of a saga that this host does not serve was sent to one that does; `unknown`: that one did not answer. */
  handedOn(outcome: "taken" | "not taken" | "unknown"): void;
  /** A saga that another activation had work open for goes on here, `ms` after its first input came here. */
  takenOver(ms: number): void;
  /** An open intent of this kind was in no queue: its saga was told to hand it on again. */
  orphaned(kind: string): void;
}

/** Tells nothing. */
export const silentObserver: Observer = {
  ...silentAttempts,
  turn: () => undefined,
  append: () => undefined,
  foreign: () => undefined,
  refused: () => undefined,
  parked: () => undefined,
  handedOn: () => undefined,
  takenOver: () => undefined,
  orphaned: () => undefined,
};

/** A line that a machine logged (`log` of XState), in words and without secrets. */
export interface LoggedLine {
  readonly saga: SagaId;
  readonly definition: DefinitionRef;
  readonly text: string;
}

/** What the parts of one incarnation share. */
export interface HostDeps {
  readonly ports: Ports & Pick<ChainSource, "met">;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly app: App;
  readonly log: Log;
  readonly observe: Observer;
  /** Takes what machines log; the log takes it, at `info`, unless given. */
  readonly onLogged?: ((line: LoggedLine) => void) | undefined;
  /** This process, new at each start. */
  readonly incarnation: string;
  readonly callbackBase: string;
  readonly callbackUrlOf?: CallbackUrlOf | undefined;
  /** Signs each turn; without it none is signed. */
  readonly signer?: Signer | undefined;
  /** Without it a signed vote is refused: this host could not check it. */
  readonly checkSignature?: CheckSignature | undefined;
  /** Whether this incarnation stood still for longer than a lease: it may no longer begin or append anything. */
  readonly hasLapsed: () => boolean;
  /** Aborted when the host has stopped: nothing is sent again from then on. */
  readonly signal: AbortSignal;
  /** How the sagas of a definition move, by the registry. */
  readonly movesOf: (definition: DefinitionRef) => Promise<Moves>;
  /** Of sagas that others serve, which definition they have. */
  readonly known: KnownTurns;
  /** Where what this host lacks the definition of goes. */
  readonly routing: Routing;
  /** The sagas that cannot be taken here, and when they are tried again. */
  readonly tries: Trying;
  /** Where a tool's attempts are performed. */
  readonly placementOf: (contract: string) => "worker" | "host";
  /** How fast models may be asked, over the whole mesh. */
  readonly throttle: Throttle;
  /** How many sagas may run here that this host began; what wakes others is bounded by the inputs held. */
  readonly sagasMax: number;
  /** How long a round of the audit is apart from the next, and how long a saga must have been quiet to be looked at. */
  readonly auditEveryMs: number;
  /** How many effects this host has in flight at once. */
  readonly room: Room;
  /** Lines of its log that this process could not write. */
  readonly linesLost?: (() => number) | undefined;
  /** Which process this is, and which others have ended. */
  readonly processes?: Processes | undefined;
  /** The rows of the sagas in its memory. */
  readonly rows: Rows;
  /** What can still be stored, as far as this process knows. */
  readonly storageLeft?: (() => StorageLeft | undefined) | undefined;
  /** Whether each turn is decided twice before it is appended. */
  readonly foldsTwice?: boolean | undefined;
  /** Starts a process for what died with its host. */
  readonly isolate?: Isolate | undefined;
  /** Tells which saga has the loop, and with what, while code of the application runs that cannot be interrupted. */
  readonly holding: Holding;
  /** Best effort, never recorded. */
  readonly live: (saga: SagaId, lane: string, value: Json) => void;
}
