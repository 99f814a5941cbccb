/** The trips a driver can make: to whom he fetches, in order, and home, by every departure worth trying. */
import { midnight, type Guest, type Scene, type Start } from "./dinner-scene.ts";
import { arrival } from "./journey.ts";
import type { Thanksgiving } from "./problem.ts";
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

/** Every trip of a driver that brings those guests home by `until`, earlier departures first. */
export function tripsOf(
  scene: Scene,
  start: Start,
  guests: readonly Guest[],
  until: number,
  stops: boolean,
): Trip[] {
  const { problem } = scene;
  const rests = start.at === problem.home && start.aboard.length === 0;
  if (rests && guests.length === 0)
    return [
      { actions: [], returns: start.free, homes: [{ from: start.free, until: midnight }], arrivals: {} },
    ];
  const departures = rests
    ? Array.from({ length: Math.max(0, until - start.free) }, (_, index) => start.free + index)
    : [start.free];
  const direct = departures.flatMap((departure) => roundTrip(problem, start, [departure], guests) ?? []);
  const [first, second] = guests;
  const stopping =
    !stops || first === undefined || second === undefined
      ? []
      : departures.flatMap((departure) => {
          const back = roundTrip(problem, start, [departure], [first])?.returns ?? until;
          return changes(scene, back)
            .filter((again) => again >= back && again < until)
            .flatMap((again) => roundTrip(problem, start, [departure, again], guests) ?? []);
        });
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
      start.at === problem.home
        ? [start.free]
        : [roundTrip(problem, start, [start.free], [])?.returns ?? back],
    ),
  ]),
];

/** Drives to the guests in order and home; with a second departure, home in between as well. */
export function roundTrip(
  problem: Thanksgiving,
  { driver, at, free, aboard, before, addedMin }: Start,
  [departs = 0, again]: readonly number[],
  guests: readonly Guest[],
): Trip | undefined {
  const { home } = problem;
  const actions: Action[] = [...before];
  const homes: Span[] = at === home ? [{ from: free, until: departs }] : [];
  const arrivals: Record<string, number> = {};
  let [place, time, riding] = [at, departs, [...aboard]];
  const drive = (to: string) => {
    const arrives = arrival(problem, place, to, time);
    if (arrives === undefined || arrives === Infinity) return false;
    const end = Math.ceil(arrives) + addedMin;
    actions.push({ type: "drive", driver, who: [driver, ...riding], from: place, to, start: time, end });
    [place, time] = [to, end];
    return true;
  };
  const arriveHome = () => {
    for (const name of riding) arrivals[name] = time;
    riding = [];
  };
  for (const [index, guest] of guests.entries()) {
    if (index === 1 && again !== undefined) {
      if (!drive(home)) return undefined;
      arriveHome();
      homes.push({ from: time, until: again });
      time = again;
    }
    if (place !== guest.at && !drive(guest.at)) return undefined;
    time = Math.max(time, guest.ready);
    riding.push(guest.name);
  }
  if (place !== home && !drive(home)) return undefined;
  arriveHome();
  homes.push({ from: time, until: midnight });
  return { actions, returns: time, homes, arrivals };
}
