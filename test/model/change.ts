/**
 * Change: what several steps do to a state. Each gives another state and leaves the one it was given.
 */
import type { EventText } from "./event.ts";
import type { Folds, View } from "./fold.ts";
import { bag, type Part, part } from "./part.ts";
import {
  type Activation,
  type Attempt,
  type Entry,
  type Host,
  type Ledger,
  type Message,
  none,
  type State,
  withAt,
} from "./state.ts";
import type { World } from "./world.ts";

/** What steps are made with. */
export interface Model {
  readonly world: World;
  readonly folds: Folds;
}

/** One step: from a state to the next. */
export interface Step {
  readonly to: State;
  /** In a sentence, for who reads a trace. */
  readonly say: () => string;
  /** Something went wrong. Nothing may need it to come to an end. */
  readonly isFault?: boolean;
  /** The promise that this step broke. */
  readonly broken?: string | undefined;
}

export const hostOf = (state: State, host: number): Host =>
  state.hosts[host]?.is ?? { sagas: [], orphans: [] };

export const withHost = (state: State, host: number, change: Partial<Host>): State => ({
  ...state,
  hosts: withAt(state.hosts, host, part({ ...hostOf(state, host), ...change })),
});

/** The saga as a host has it in memory. */
export function viewOf(
  { world, folds }: Model,
  state: State,
  host: number,
  saga: number,
  activation: Activation,
): View {
  const { from, seen } = activation;
  return folds.view(saga, ledgerOf(state, saga), { from, count: seen, hasKeys: hasKeys(world, host) });
}

export const hasKeys = (world: World, host: number): boolean => world.hosts[host]?.keys === true;

export function ledgerOf(state: State, saga: number): Part<Ledger> {
  const ledger = state.ledgers[saga];
  if (ledger === undefined) throw new Error("a world has a ledger for each saga");
  return ledger;
}

export const activationOf = (state: State, host: number, saga: number): Activation | null =>
  hostOf(state, host).sagas[saga] ?? null;

export const withActivation = (
  state: State,
  host: number,
  saga: number,
  activation: Activation | null,
): State => withHost(state, host, { sagas: withAt(hostOf(state, host).sagas, saga, activation) });

/** The inbox with each message changed, or gone. */
export function withInbox(state: State, change: (message: Message) => Message | undefined): State {
  const before = state.inbox.is;
  const after = before.flatMap((message) => change(message) ?? []);
  const isSame = after.length === before.length && after.every((message, i) => message === before[i]);
  return isSame ? state : { ...state, inbox: bag(after) };
}

/** Stores an input. What is there already is not stored again: its Msg-Id is the same. */
export function publish(state: State, { world }: Model, saga: number, event: EventText): State {
  const inbox = state.inbox.is;
  if (inbox.some((message) => message.saga === saga && message.event === event && !message.acked))
    return state;
  const at = world.hosts.map(() => 0);
  return { ...state, inbox: bag([...inbox, { saga, event, free: true, acked: false, at }]) };
}

const isHeld = ({ at }: Message): boolean => at.some((place) => place > 0);

/** A host gives a message back: any host may get it, unless somebody acked it. */
export function givenBack(message: Message, host: number): Message | undefined {
  const left = { ...message, at: withAt(message.at, host, 0), free: !message.acked };
  return message.acked && !isHeld(left) ? undefined : left;
}

/** A host acks a message: nobody gets it from now on, but another may have it. */
export function acked(message: Message, host: number): Message | undefined {
  const left = { ...message, at: withAt(message.at, host, 0), free: false, acked: true };
  return isHeld(left) ? left : undefined;
}

/** Nobody hears of a host's append to a saga any more (ST2 of state.ts). */
export function forgetAuthor(state: State, host: number, saga: number): State {
  const isOf = (entry: Entry) => entry.by === host && entry.saga === saga;
  const ledger = ledgerOf(state, saga);
  const flights = state.flights.is;
  let left = state;
  if (ledger.is.entries.some(isOf)) {
    const entries = ledger.is.entries.map((entry) => (isOf(entry) ? { ...entry, by: none } : entry));
    left = { ...left, ledgers: withAt(left.ledgers, saga, part({ ...ledger.is, entries })) };
  }
  if (flights.some(({ entry }) => isOf(entry)))
    left = {
      ...left,
      flights: bag(
        flights.flatMap((flight) => {
          if (!isOf(flight.entry)) return [flight];
          // An answer that nobody hears is nothing.
          return flight.answer === "none"
            ? [{ ...flight, host: none, entry: { ...flight.entry, by: none } }]
            : [];
        }),
      ),
    };
  return left;
}

/** A host forgets a saga and gives back what it holds; what it has begun goes on, and is told as an input. */
export function drop(state: State, { world }: Model, host: number, saga: number): State {
  const { hands } = activationOf(state, host, saga) ?? { hands: [] };
  const orphans = hands.flatMap((hand): readonly Attempt[] => {
    if (hand.stage === "begun") return [];
    return [hand.stage === "observed" ? { ...hand, stage: "report" } : hand];
  });
  let left = withActivation(forgetAuthor(state, host, saga), host, saga, null);
  if (orphans.length > 0)
    left = withHost(left, host, { orphans: bag([...hostOf(left, host).orphans, ...orphans]).is });
  return withInbox(left, (message) => {
    if (message.saga !== saga || (message.at[host] ?? 0) === 0) return message;
    return world.rules.fencedGivesBack ? givenBack(message, host) : acked(message, host);
  });
}

/** Stores a message on a ledger, whatever stands there. */
export function store(state: State, saga: number, entry: Entry): State {
  const ledger = ledgerOf(state, saga).is;
  const stored = part({ ...ledger, entries: [...ledger.entries, entry] });
  return { ...state, ledgers: withAt(state.ledgers, saga, stored) };
}

export const lengthOf = (state: State, saga: number): number => ledgerOf(state, saga).is.entries.length;
