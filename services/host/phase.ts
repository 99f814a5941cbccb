/**
 * Phase: where an activation stands between a saga's first input and the moment this host holds nothing of it, and
 * what it has while it stands there. Types, and what is asked of them.
 *
 * PH1 What works for a saga stands on the phase that owns it, so nothing of it is left when the phase is over.
 * PH2 Loading goes to owning, both go to leaving, and all go to gone; nothing goes back. A batch that was begun in one
 *     phase looks again after every wait.
 */
import type { SagaId } from "../../protocol/ids.ts";
import type { Hands } from "./hands.ts";
import type { HostDeps } from "./host-deps.ts";
import type { Inputs, Onward } from "./inputs.ts";
import type { Keeper } from "./keeper.ts";
import type { Pace } from "./pace.ts";
import type { Loaded } from "./load.ts";

/** A saga in memory, and what works for it. */
export interface Owned {
  /** As its last acked turn left it. Each turn puts another in its place. */
  loaded: Loaded;
  readonly keeper: Keeper;
  readonly hands: Hands;
  /** An append of this activation's own was acked: what the saga's host has open of its own is this host's. */
  isProven: boolean;
  /** Nothing that a former owner left open is still to be handed on. */
  isRecovered: boolean;
  /** When it was last looked at beside the audit's rounds (audit.ts), by the time elapsed. */
  auditedAt?: number;
}

/** Nothing of the saga is in memory but inputs: the next batch loads it, begins it, or is answered without it. */
export interface Loading {
  readonly type: "loading";
}

/** The saga is in memory, and its turns are taken here. */
export interface Owning {
  readonly type: "owning";
  readonly own: Owned;
}

/** The saga goes to another host. Nothing more is taken or begun; what was begun ends. */
export interface Leaving {
  readonly type: "leaving";
  /** Undefined: nothing was loaded when it began to leave. */
  readonly own: Owned | undefined;
  /** A turn was appended meanwhile: its intents are the next host's to hand on. */
  owesIntents: boolean;
  /** Resolves when the saga is gone. */
  readonly left: PromiseWithResolvers<void>;
}

/** This host holds nothing of the saga any more; another may. What its hands had begun tells its end as an input. */
export interface Gone {
  readonly type: "gone";
}

/** Each has what is alive in it, and no flag beside it. */
export type Phase = Loading | Owning | Leaving | Gone;

/** An activation as its parts share it. */
export interface Residence {
  readonly deps: HostDeps;
  readonly saga: SagaId;
  readonly inputs: Inputs;
  readonly pace: Pace;
  readonly phase: Phase;
  /** When its first input came, milliseconds since the epoch. */
  readonly bornAt: number;
  /** From here on the saga is in memory. Undefined if it is on its way out: then what was taken was given back. */
  own(loaded: Loaded, isRecovered: boolean): Promise<Owned | undefined>;
  /** Forgets the saga, and gives back what is held of it, or lets it go to another host. */
  drop(reason: string, onward?: Onward): Promise<void>;
}

/** Asked after every wait: then what was to be done is its next owner's. */
export const isGone = ({ phase }: Residence): boolean => phase.type === "gone";

/** What is in memory of the saga, also while it leaves. */
export const ownOf = ({ phase }: Residence): Owned | undefined =>
  phase.type === "owning" || phase.type === "leaving" ? phase.own : undefined;
