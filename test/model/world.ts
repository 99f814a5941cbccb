/**
 * World: what is walked through: which hosts and sagas there are, what each saga does, how much may go wrong, and the
 * rules of the protocol. A rule that is false is a fault that was planted.
 */

/**
 * What a saga asks for. `once`, `probe` and `read` are performed by its host (`read`: a model's call, or any effect that may be
 * repeated), `work` is a `once` that a worker performs, `child` starts a saga and ends with it, `end` tells a parent.
 */
export type IntentKind = "once" | "probe" | "read" | "work" | "child" | "end";

/** A saga: its steps one after the other, the intents of a step side by side. */
export interface SagaSpec {
  readonly steps: readonly (readonly IntentKind[])[];
  /** The saga that a `child` starts, by its place in the world. */
  readonly child?: number;
  /** The saga and the intent that started this one; undefined: a client did. */
  readonly parent?: { readonly saga: number; readonly intent: number };
  /** Whether a signal waits in the inbox from the beginning. */
  readonly signal?: boolean;
}

export interface HostSpec {
  /** The sagas whose definitions it has. */
  readonly serves: readonly number[];
  /** Whether it has the keys that turns are signed with. */
  readonly keys?: boolean;
}

/**
 * What others write on a ledger. `stray`: what cannot chain, whatever it is (the rules look at nothing else of it); `copy`: of
 * the last message; `misfit`: a turn with the next number that does not name its predecessor; `other`: another saga's first
 * turn; `imitation`: a turn that chains and bears no signature.
 */
export type ForeignKind = "stray" | "copy" | "misfit" | "other" | "imitation";

/** How often each may go wrong in one run. */
export interface Budget {
  /** A host or a worker dies, at any moment, and another is there. */
  readonly deaths: number;
  /** A foreign message is stored on a ledger. */
  readonly foreign: number;
  /** A host that lives loses its leases and does not know; or a worker its call. */
  readonly lapses: number;
  /** An append's answer is lost; the request may still be under way. */
  readonly lost: number;
  /** A client sends a start once more. */
  readonly repeats: number;
}

/** What the protocol says. The worlds that hold have all of them. */
export const protocol = {
  /** The server stores a turn only where the ledger is as the turn expects. */
  compareAndSet: true,
  /** An append expects the sequence of the last message that was read, foreign or not. */
  expectsLastMessage: true,
  /** A ledger with a foreign message on it is read. */
  readsPastForeign: true,
  /** An append that only foreign messages refused is sent again. */
  foreignIsNoFence: true,
  /** After a refusal all newer messages are judged, not the last alone. */
  judgesAllNewer: true,
  /** A stored turn is one's own by its bytes, not by its number. */
  ownByBytes: true,
  /** What chains names its predecessor. */
  chainsByPredecessor: true,
  /** What chains is of the ledger's saga. */
  chainsBySaga: true,
  /** A host without keys takes no saga whose ledger is signed. */
  ownersJudgeAlike: true,
  /** An append without an answer is sent again until there is one. */
  resolvesDoubt: true,
  /** An intent is begun after the turn that holds it is stored. */
  beginsAfterStored: true,
  /** An input is acked after the turn that holds it is stored. */
  acksAfterStored: true,
  /** An input is acked when nothing of its host's own is open. */
  acksWhenQuiet: true,
  /** Who is fenced gives back what it holds. */
  fencedGivesBack: true,
  /** A known input has everything open handed on again. */
  knownRecovers: true,
  /** ... after a turn that proves whose the saga is. */
  recoversAfterProof: true,
  /** An input is taken once. */
  dedups: true,
  /** Who performs a `once` or a `probe` has claimed it. */
  claims: true,
  /** A claim's holder is one delivery, not one process. */
  claimsByDelivery: true,
  /** A later performer waits for the time of the one before it. */
  waitsForHolder: true,
  /** ... and asks the outside first, where it can be asked. */
  asksOutside: true,
  /** A call is acked by its worker after its result is stored. */
  workAckedAfterResult: true,
  /** What is handed on to another host is settled by that host. */
  hopLetsGo: true,
  /** Which definition a saga has is read from its last turn, not from its last message. */
  routesByLastTurn: true,
  /** The purge of an archived ledger ends at its tombstone. */
  purgesBeforeTombstone: true,
};

export type Rules = typeof protocol;

export interface World {
  readonly name: string;
  readonly hosts: readonly HostSpec[];
  readonly sagas: readonly SagaSpec[];
  readonly budget: Budget;
  readonly foreign: readonly ForeignKind[];
  /** Turns are signed. */
  readonly signed: boolean;
  /** Ended sagas are archived. */
  readonly archives: boolean;
  readonly rules: Rules;
}

/** An intent in a saga's program. */
export interface IntentSpec {
  readonly kind: IntentKind;
  readonly step: number;
}

/** All intents of a saga, in their order; one that was started by another ends with `end`. */
export function intentsOf({ steps, parent }: SagaSpec): readonly IntentSpec[] {
  const all = parent === undefined ? steps : [...steps, ["end" as const]];
  return all.flatMap((kinds, step) => kinds.map((kind) => ({ kind, step })));
}

/** Performed by the saga's own host. */
export const isOwn = (kind: IntentKind): boolean => kind === "once" || kind === "probe" || kind === "read";

/** At most once outside, whatever happens. */
export const isSingle = (kind: IntentKind): boolean => kind === "once" || kind === "probe" || kind === "work";
