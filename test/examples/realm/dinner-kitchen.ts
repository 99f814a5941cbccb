/** The dishes: when to begin with them, and who, given when everybody is at home. */
import { midnight, type Scene } from "./dinner-scene.ts";
import type { Trip } from "./dinner-trips.ts";
import { actionsOf } from "./schedule.ts";
import { gapsIn, type Span } from "./whereabouts.ts";

export interface Kitchen {
  readonly turkeyFrom: number;
  readonly turkeyBy: string;
  readonly sidesFrom: number;
  /** One cook, or, where nobody is at home long enough, all who are in turn. */
  readonly sidesBy: readonly string[];
  /** Minutes in which nobody is at home though the oven is on. */
  readonly unattendedMin: number;
}

/** When to begin with the dishes so that they are ready by dinner and the oven is alone as little as can be. */
export function kitchenOf(
  scene: Scene,
  trips: readonly Trip[],
  dinner: number,
  careless: boolean,
  fixed: number | undefined,
): Kitchen | undefined {
  const { problem, executed, now, oven, sides } = scene;
  const whole = { from: Math.min(oven?.from ?? now, now), until: dinner };
  const past = { from: whole.from, until: now }; // What was left alone before the notice is history.
  const homes = homesOf(scene, trips);
  const gaps = gapsIn(whole, [past, ...homes.flatMap(({ spans }) => spans)]);
  const turkey = oven
    ? { from: oven.from, alone: alone(gaps, oven.from, oven.until) }
    : leastAlone(gaps, problem.turkeyMin, now, dinner, fixed, (from) => cookAt(homes, from) !== undefined);
  if (turkey === undefined || (turkey.alone > 0 && !careless)) return undefined;
  const turkeyBy = cookAt(homes, turkey.from);
  const kitchen = {
    turkeyFrom: turkey.from,
    turkeyBy: turkeyBy ?? "nobody",
    unattendedMin: turkey.alone,
  };
  if (sides) {
    // Who has begun with them stays with them, in turn with the others who have.
    const begun = actionsOf(executed, "cook").flatMap(({ what, who }) => (what === "sides" ? who : []));
    const theirs = homes.filter(({ name }) => begun.includes(name)).flatMap(({ spans }) => spans);
    const left = { from: Math.max(now, sides.from), until: sides.until };
    if (left.from < left.until && gapsIn(left, theirs).length > 0) return undefined;
    return { ...kitchen, sidesFrom: sides.from, sidesBy: [] };
  }
  const cooks = homes.map(({ name, spans }) => ({ by: [name], spans }));
  const asked = cooks.flatMap(({ by, spans }) => {
    const best = leastAlone(gapsIn(whole, [past, ...spans]), problem.sidesMin, now, dinner);
    return best?.alone === 0 ? [{ by, from: best.from }] : [];
  });
  // Who cooks in turn with others is there for the day by the minute at which they begin.
  const inTurn = () =>
    [...new Set([now, ...problem.people.map(({ from }) => Math.max(now, from))])].flatMap((since) => {
      const there = problem.people.filter(({ from }) => from <= since).map(({ name }) => name);
      const theirs = homes.filter(({ name }) => there.includes(name));
      const spans = theirs.flatMap((one) => one.spans);
      const best = leastAlone(gapsIn(whole, [past, ...spans]), problem.sidesMin, since, dinner);
      return best?.alone === 0 ? [{ by: [...new Set(theirs.map(({ name }) => name))], from: best.from }] : [];
    });
  const cook =
    asked.toSorted((one, other) => other.from - one.from)[0] ??
    inTurn().toSorted((one, other) => other.from - one.from)[0];
  return cook && { ...kitchen, sidesFrom: cook.from, sidesBy: cook.by };
}

/** Somebody who is at home as that minute begins. */
const cookAt = (homes: ReturnType<typeof homesOf>, minute: number): string | undefined =>
  homes.find(({ spans }) => spans.some(({ from, until }) => from <= minute && minute < until))?.name;

/** When each person is at home, as far as the trips say. */
const homesOf = ({ starts, home }: Scene, trips: readonly Trip[]) => [
  ...home.map(({ name, from }) => ({ name, spans: [{ from, until: midnight }] })),
  ...trips.flatMap(({ homes, arrivals }, index) => [
    { name: starts[index]?.driver ?? "nobody", spans: homes },
    ...Object.entries(arrivals).map(([name, from]) => ({ name, spans: [{ from, until: midnight }] })),
  ]),
];

/** The earliest minute at which both dishes can be ready, whoever is at home. */
export const readyAt = ({ problem, now, oven, sides }: Scene): number =>
  Math.max(oven?.until ?? now + problem.turkeyMin, sides?.until ?? now + problem.sidesMin);

/** The latest of the starts that leave a dish alone least. Only those matter that end with the dinner or with a gap. */
function leastAlone(
  gaps: readonly Span[],
  minutes: number,
  from: number,
  until: number,
  fixed?: number,
  begins: (from: number) => boolean = () => true,
) {
  const starts =
    fixed === undefined
      ? [until - minutes, from, ...gaps.flatMap((gap) => [gap.from - minutes, gap.until])]
      : [fixed];
  return starts
    .filter((start) => start >= from && start <= until - minutes && begins(start))
    .map((start) => ({ from: start, alone: alone(gaps, start, start + minutes) }))
    .toSorted((one, other) => one.alone - other.alone || other.from - one.from)[0];
}

const alone = (gaps: readonly Span[], from: number, until: number) =>
  gaps.reduce((sum, gap) => sum + Math.max(0, Math.min(gap.until, until) - Math.max(gap.from, from)), 0);
