/**
 * Search: every state that can be reached, breadth first, each once; and from which of them no good end can be reached.
 *
 * SE1 A state is known by 64 bits made of its parts' numbers. Two different ones have the same with a chance of
 *     n²/2⁶⁵: for ten million states one in 370,000.
 * SE2 Hosts that are alike may be exchanged: of such states one stands for all.
 * SE3 The first state found is nearest to the beginning, so its trace is a shortest one.
 * SE4 An end must be reachable without anything going wrong: no state may need a death to go on.
 */
import { Fingerprints } from "./fingerprints.ts";
import type { Model } from "./change.ts";
import { bag, type Part, part } from "./part.ts";
import {
  type Entry,
  type Flight,
  initialState,
  type Ledger,
  type Message,
  none,
  type State,
} from "./state.ts";
import { createModel, isEnd, lieOf, stepsFrom } from "./steps.ts";
import type { World } from "./world.ts";

/** What was found in a world. */
export interface Found {
  readonly world: string;
  readonly states: number;
  readonly steps: number;
  /** How many steps the farthest state is away. */
  readonly depth: number;
  readonly ends: number;
  /** The promise that is broken, or that no end can be reached; undefined: all hold. */
  readonly broken?: string;
  /** Sentences, from the beginning. */
  readonly trace: readonly string[];
  /** The search was given up at its bound: what was found holds of what was seen. */
  readonly isCut: boolean;
}

/** How far a walk goes, and who hears of it. */
export interface WalkOptions {
  /** It is given up at so many states; by default it is not. */
  readonly statesMax?: number;
  /** Called once for each step away from the beginning. */
  readonly progress?: (depth: number, states: number) => void;
}

/** Walks a world until a promise is broken, or there is nothing new. */
export function walk(
  world: World,
  { statesMax = Number.POSITIVE_INFINITY, progress }: WalkOptions = {},
): Found {
  const model = createModel(world);
  const print = createPrint(world);
  const seen = new Fingerprints();
  const first = initialState(world);
  seen.add(...print(first), 0);
  let level: { state: State; index: number }[] = [{ state: first, index: 0 }];
  const ends: number[] = [];
  let [steps, depth] = [0, 0];
  const found = (broken?: string, trace: readonly string[] = [], isCut = false): Found => ({
    ...{ world: world.name, states: seen.size, steps, depth, ends: ends.length, trace, isCut },
    ...(broken === undefined ? {} : { broken }),
  });
  for (; level.length > 0; depth++) {
    const next: typeof level = [];
    for (const { state, index } of level) {
      if (isEnd(model, state)) {
        const lie = lieOf(model, state);
        if (lie !== undefined) return found(lie, traceOf(model, print, seen, index));
        ends.push(index);
      }
      for (const { to, broken, say, isFault } of stepsFrom(model, state)) {
        steps += 1;
        if (broken !== undefined) return found(broken, [...traceOf(model, print, seen, index), say()]);
        const { index: other, isNew } = seen.add(...print(to), index);
        if (isNew) next.push({ state: to, index: other });
        if (isFault !== true) seen.link(index, other);
      }
    }
    progress?.(depth, seen.size);
    if (seen.size > statesMax) return found(undefined, [], true);
    level = next;
  }
  const stuck = seen.firstWithout(ends);
  return stuck === undefined
    ? found()
    : found("no end can be reached from here", traceOf(model, print, seen, stuck));
}

type Print = (state: State) => readonly [number, number];

/** The sentences on the way to a state: its fingerprints are followed from the beginning. */
function traceOf(model: Model, print: Print, seen: Fingerprints, index: number): readonly string[] {
  const path: number[] = [];
  for (let at = index; at !== 0; at = seen.parentOf(at)) path.unshift(at);
  let state = initialState(model.world);
  return path.map((next) => {
    const step = stepsFrom(model, state).find(({ to }) => seen.find(...print(to)) === next);
    if (step === undefined) throw new Error("each state was reached by a step from its parent");
    state = step.to;
    return step.say();
  });
}

/** SE1, SE2. */
function createPrint(world: World): Print {
  const orders = ordersOf(world);
  const exchanged = orders.map(createExchange);
  return (state) => {
    let [high, low] = mix(numbersOf(state));
    for (const exchange of exchanged) {
      const [otherHigh, otherLow] = mix(numbersOf(exchange(state)));
      if (otherHigh < high || (otherHigh === high && otherLow < low)) [high, low] = [otherHigh, otherLow];
    }
    return [high, low];
  };
}

/** The orders that hosts can be put into without another world, but for the one they have. */
function ordersOf({ hosts, rules }: World): readonly (readonly number[])[] {
  if (!rules.claimsByDelivery) return []; // Claims name hosts there.
  const alike = hosts.map((host) => JSON.stringify(host));
  const orders = permutations([...hosts.keys()]);
  return orders.filter(
    (order) =>
      order.some((host, place) => host !== place) &&
      order.every((host, place) => alike[host] === alike[place]),
  );
}

function permutations(list: readonly number[]): readonly (readonly number[])[] {
  if (list.length < 2) return [list];
  return list.flatMap((first) =>
    permutations(list.filter((other) => other !== first)).map((rest) => [first, ...rest]),
  );
}

/** The same state with its hosts in another order. Each part is exchanged once. */
function createExchange(order: readonly number[]): (state: State) => State {
  const known = new Map<number, Part<unknown>>();
  const once = <T>(given: Part<T>, make: (value: T) => Part<T>): Part<T> => {
    const made = known.get(given.id) ?? make(given.is);
    known.set(given.id, made);
    return made as Part<T>; // Proof: made of the part with this number.
  };
  const placeOf = (host: number) => (host === none ? none : order.indexOf(host));
  const entry = (one: Entry): Entry => (one.by === none ? one : { ...one, by: placeOf(one.by) });
  const ledger = ({ entries, purged }: Ledger) => part({ entries: entries.map(entry), purged });
  const inbox = (messages: readonly Message[]) =>
    bag(messages.map((message) => ({ ...message, at: order.map((host) => message.at[host] ?? 0) })));
  const flights = (all: readonly Flight[]) =>
    bag(all.map((flight) => ({ ...flight, host: placeOf(flight.host), entry: entry(flight.entry) })));
  return (state) => ({
    ...state,
    ledgers: state.ledgers.map((one) => once(one, ledger)),
    inbox: once(state.inbox, inbox),
    flights: once(state.flights, flights),
    owners: once(state.owners, (owners) => part(owners.map(placeOf))),
    hosts: order.flatMap((host) => state.hosts[host] ?? []),
  });
}

const numbersOf = ({
  ledgers,
  hosts,
  owners,
  inbox,
  work,
  workers,
  flights,
  outside,
  left,
}: State): number[] => [
  ...ledgers.map(({ id }) => id),
  ...hosts.map(({ id }) => id),
  ...[owners.id, inbox.id, work.id, workers.id, flights.id, outside.id, left.id],
];

/** 64 bits of some numbers, as two of 32. */
function mix(numbers: readonly number[]): readonly [number, number] {
  let [high, low] = [0x9e3779b9, 0x85ebca6b];
  for (const number of numbers) {
    high = Math.imul(high ^ number, 0xcc9e2d51);
    high = Math.imul((high << 15) | (high >>> 17), 0x1b873593) ^ low;
    low = Math.imul(low ^ (number + 0x7f4a7c15), 0x2545f491);
    low = Math.imul((low << 13) | (low >>> 19), 0x9e3779b1) + high;
  }
  high ^= high >>> 16;
  low ^= low >>> 15;
  return [Math.imul(high, 0x85ebca6b) >>> 0, Math.imul(low, 0xc2b2ae35) >>> 0];
}
