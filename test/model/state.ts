/**
 * State: all that there is at one moment: what the server stores, what each process has in memory, what is on the
 * wire, and what happened outside.
 *
 * ST1 Time is not in it: what takes time may have taken any.
 * ST2 A turn names its author only while the author waits to hear of it: afterwards nobody asks.
 */
import type { EventText, Outcome } from "./event.ts";
import { bag, type Part, part } from "./part.ts";
import type { Budget, ForeignKind, World } from "./world.ts";

/** No host, no entry. */
export const none = -1;

/** One message of a ledger. Its sequence is its place, from 1. */
export interface Entry {
  readonly what: "turn" | "tombstone" | ForeignKind;
  readonly saga: number;
  readonly number: number;
  /** The place (from 0) of the message whose hash it names. */
  readonly prev: number;
  readonly signed: boolean;
  /** ST2. */
  readonly by: number;
  readonly events: readonly EventText[];
}

export interface Ledger {
  readonly entries: readonly Entry[];
  /** So many of them, from the first, are gone. */
  readonly purged: number;
}

/** A message of the inbox. `at`, by host: 0, it does not have it; 1, not taken yet; 2, taken. */
export interface Message {
  readonly saga: number;
  readonly event: EventText;
  /** Its lease has ended, or never began: any host may get it. */
  readonly free: boolean;
  /** The server has forgotten it; a host may still have it. */
  readonly acked: boolean;
  readonly at: readonly number[];
}

/** A call in the workers' queue. */
export interface Call {
  readonly saga: number;
  readonly intent: number;
  readonly attempt: number;
  readonly free: boolean;
}

/** An append on its way to the server, and its answer on the way back. */
export interface Flight {
  readonly saga: number;
  /** Who hears the answer, or nobody. */
  readonly host: number;
  readonly entry: Entry;
  readonly expects: number;
  /** Where it was stored (from 0). */
  readonly answer: "none" | "refused" | number;
}

/**
 * One attempt of one intent. `begun`: to be performed; `waits`: for the time of the one who claimed it; `won`: the claim
 * is its own; `asks`: so, and the outside is asked first; `observed`: over, and the saga's host knows; `report`: over, and
 * to be told by a message; `publish`: to be handed on; `ack`: told, and its call not acked.
 */
export interface Attempt {
  readonly saga: number;
  readonly intent: number;
  readonly attempt: number;
  readonly stage: "begun" | "waits" | "won" | "asks" | "observed" | "report" | "publish" | "ack";
  readonly outcome?: Outcome;
}

/** A turn that a host has sent. */
export interface Appending {
  /** As nobody's. */
  readonly entry: Entry;
  readonly expects: number;
  /** A known input is what brought it about. */
  readonly known: boolean;
}

/** A saga in a host's memory. Its state is the fold of the messages of its ledger from `from` up to `seen`. */
export interface Activation {
  readonly from: number;
  readonly seen: number;
  readonly proven: boolean;
  readonly recovered: boolean;
  readonly appending: Appending | null;
  readonly hands: readonly Attempt[];
}

export interface Host {
  readonly sagas: readonly (Activation | null)[];
  /** What was begun for sagas that are no longer here. */
  readonly orphans: readonly Attempt[];
}

/** What happened outside the ledgers. */
export interface Outside {
  /** Claims that were won, sorted. */
  readonly claims: readonly string[];
  /** Effects by saga and intent. */
  readonly effects: Readonly<Record<string, number>>;
  /** Archivers: what each read of its saga's ledger, before it writes the tombstone. */
  readonly archivers: readonly number[];
}

export interface State {
  readonly ledgers: readonly Part<Ledger>[];
  readonly hosts: readonly Part<Host>[];
  /** The host that gets each saga's inputs: that of its partition. */
  readonly owners: Part<readonly number[]>;
  readonly inbox: Part<readonly Message[]>;
  readonly work: Part<readonly Call[]>;
  readonly workers: Part<readonly Attempt[]>;
  readonly flights: Part<readonly Flight[]>;
  readonly outside: Part<Outside>;
  readonly left: Part<Budget>;
}

/** All starts and signals of clients are stored, and nothing has been taken. */
export function initialState({ hosts, sagas, budget }: World): State {
  const at = hosts.map(() => 0);
  const message = (saga: number, event: EventText): Message => ({
    ...{ saga, event, free: true, acked: false, at },
  });
  const inbox = sagas.flatMap(({ parent, signal }, saga) => [
    ...(parent === undefined ? [message(saga, "start")] : []),
    ...(signal === true ? [message(saga, "signal")] : []),
  ]);
  return {
    ledgers: sagas.map(() => part({ entries: [], purged: 0 })),
    hosts: hosts.map(() => part({ sagas: sagas.map(() => null), orphans: [] })),
    owners: part(sagas.map((_, saga) => saga % hosts.length)),
    inbox: bag(inbox),
    work: bag<Call>([]),
    workers: bag<Attempt>([]),
    flights: bag<Flight>([]),
    outside: part({ claims: [], effects: {}, archivers: sagas.map(() => none) }),
    left: part(budget),
  };
}

/** The list with one member replaced. */
export const withAt = <T>(list: readonly T[], index: number, value: T): readonly T[] =>
  list.map((present, i) => (i === index ? value : present));

export const nameOfHost = (host: number): string => `host ${String.fromCodePoint(65 + host)}`;
export const nameOfSaga = (saga: number): string => String.fromCodePoint(80 + saga);
