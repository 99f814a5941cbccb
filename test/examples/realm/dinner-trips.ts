/** The trips a driver can make: to whom he fetches, in order, and home, by every departure worth trying. */
import { midnight, type Guest, type Scene, type Start } from "./dinner-scene.ts";
import { arrival } from "./journey.ts";
import { placesOf, type Thanksgiving } from "./problem.ts";
import type { Action } from "./schedule.ts";
import type { Span } from "./whereabouts.ts";

export interface Trip {
  readonly actions: readonly Action[];
  readonly returns: number;
  /** When the driver is at home. */
  readonly homes: readonly Span[];
  /** Whom the trip brings home, and when. */
  readonly arrivals: Readonly<Record<string, number>>;
}

/** So many minutes of departure are tried one by one for a stop at home; where there are more, those of S2. */
const departuresMax = 40;

/** Every trip of a driver that brings those guests home in that order by `until`, earlier departures first. */
export function tripsOf(
  scene: Scene,
  start: Start,
  guests: readonly Guest[],
  until: number,
  stops: boolean,
): Trip[] {
  const { problem, stepMin } = scene;
  const rests = start.at === problem.home;
  if (rests && guests.length === 0) {
    const { free, aboard } = start;
    if (free > until) return []; // On the way home, and late.
    const arrivals = Object.fromEntries(aboard.map((name) => [name, free]));
    return [{ actions: [], returns: free, homes: [{ from: free, until: midnight }], arrivals }];
  }
  const minutes = Array.from(
    { length: Math.max(0, Math.ceil((until - start.free) / stepMin)) },
    (_, index) => start.free + index * stepMin,
  );
  const departures = rests ? minutes : [start.free];
  const direct = departures.flatMap((departs) => roundTrip(problem, start, departs, guests) ?? []);
  // Who is away can go home first; who is at home has nothing before the first guest to stop between.
  const gaps = guests.map((_, index) => index).slice(rests ? 1 : 0);
  const stopping = (stops ? gaps : []).flatMap((gap) =>
    departures.flatMap((departs) => {
      const back = roundTrip(problem, start, departs, guests.slice(0, gap))?.returns ?? until;
      const moments = minutes.length <= departuresMax ? minutes : changes(scene, back);
      return moments
        .filter((again) => again >= back && again < until)
        .flatMap((again) => roundTrip(problem, start, departs, guests, { gap, again }) ?? []);
    }),
  );
  const inTime = [...direct, ...stopping].filter(({ returns }) => returns <= until);
  // Of two trips that are alike from the first drive home on, the later departure is at home longer.
  const latest = new Map(
    inTime.map((trip) => [JSON.stringify([trip.returns, trip.homes.slice(1), trip.arrivals]), trip]),
  );
  return [...latest.values()].toSorted((one, other) => one.returns - other.returns);
}

/** S2: when a second departure could begin to be possible. */
const changes = ({ problem, now, starts }: Scene, back: number): number[] => [
  ...new Set([
    back,
    back + problem.turkeyMin,
    now + problem.turkeyMin,
    ...starts.flatMap((start) =>
      start.at === problem.home ? [start.free] : [roundTrip(problem, start, start.free, [])?.returns ?? back],
    ),
  ]),
];

/** A stop at home before the guest of that place in the order, and when it is over. */
interface Stop {
  readonly gap: number;
  readonly again: number;
}

/** Drives to the guests in order and home; with a stop, home in between as well. */
export function roundTrip(
  problem: Thanksgiving,
  { driver, at, free, aboard, before, addedMin }: Start,
  departs: number,
  guests: readonly Guest[],
  stop?: Stop,
): Trip | undefined {
  const { home } = problem;
  const actions: Action[] = [...before];
  const homes: Span[] = at === home ? [{ from: free, until: departs }] : [];
  // Who sat in a car that was on its way home is there when it is.
  const arrivals: Record<string, number> = Object.fromEntries(
    at === home ? aboard.map((name) => [name, free]) : [],
  );
  let [place, time, riding] = [at, departs, at === home ? [] : [...aboard]];
  const arriveHome = () => {
    for (const name of riding) arrivals[name] = time;
    riding = [];
  };
  const drive = (to: string) => {
    const legs = quickest(problem, place, to, time, addedMin);
    for (const [next, end] of legs ?? []) {
      actions.push({
        type: "drive",
        driver,
        who: [driver, ...riding],
        from: place,
        to: next,
        start: time,
        end,
      });
      [place, time] = [next, end];
      if (place === home) arriveHome();
    }
    return legs !== undefined;
  };
  for (const [index, guest] of guests.entries()) {
    if (index === stop?.gap) {
      if (place !== home && !drive(home)) return undefined;
      homes.push({ from: time, until: stop.again });
      time = stop.again;
    }
    if (place !== guest.at && !drive(guest.at)) return undefined;
    time = Math.max(time, guest.ready);
    riding.push(guest.name);
  }
  if (place !== home && !drive(home)) return undefined;
  homes.push({ from: time, until: midnight });
  return { actions, returns: time, homes, arrivals };
}

/** The drives by which one is there first, straight or by other places: after a disruption the straight road may be longer. */
function quickest(
  problem: Thanksgiving,
  from: string,
  to: string,
  departs: number,
  addedMin: number,
): readonly (readonly [to: string, end: number])[] | undefined {
  const open = new Map([[from, { end: departs, legs: [] as readonly (readonly [string, number])[] }]]);
  const settled = new Set<string>();
  for (;;) {
    const [next] = [...open]
      .filter(([place]) => !settled.has(place))
      .toSorted(([, one], [, other]) => one.end - other.end);
    if (next === undefined) return undefined;
    const [place, { end: time, legs }] = next;
    if (place === to) return legs;
    settled.add(place);
    for (const further of placesOf(problem)) {
      const arrives = settled.has(further) ? undefined : arrival(problem, place, further, time);
      if (arrives === undefined || arrives === Infinity) continue;
      const end = Math.ceil(arrives) + addedMin;
      if (end < (open.get(further)?.end ?? Infinity))
        open.set(further, { end, legs: [...legs, [further, end]] });
    }
  }
}
