/** What a check of a schedule says, whatever the problem was: its rules, what breaks them, what nobody could judge. */

/** One broken rule, with its time, persons or machines, and place. */
export interface Broken {
  readonly rule: string;
  /** What is wrong, in a sentence. */
  readonly what: string;
  /** In the problem's own unit. */
  readonly at?: number;
  readonly until?: number;
  /** Persons, machines, vehicles: lanes of the picture. */
  readonly who: readonly string[];
  readonly place?: string;
}

/** What takes time in a lane; what begins and ends at once is an instant. */
export interface Bar {
  readonly lane: string;
  readonly from: number;
  readonly to: number;
  readonly text: string;
  /** Bars of one kind have one colour. */
  readonly kind: string;
}

export interface Checked {
  readonly title: string;
  /** `clock`: minutes after midnight. Else the unit's name. */
  readonly unit: string;
  readonly rules: readonly { readonly id: string; readonly says: string }[];
  readonly broken: readonly Broken[];
  /** What the problem asks for and does not say well enough to be judged. */
  readonly unjudged: readonly { readonly what: string; readonly why: string }[];
  /** In the order in which they are drawn. */
  readonly lanes: readonly string[];
  readonly bars: readonly Bar[];
  /** What else is to be said of the schedule, a line each. */
  readonly notes?: readonly string[];
}

/** 780 as 13:00 where the unit is a clock, else the number. */
export function timeText(unit: string, time: number): string {
  if (unit !== "clock") return String(Math.round(time * 100) / 100);
  const minutes = Math.ceil(time);
  const [hours, rest] = [Math.floor(minutes / 60), minutes - 60 * Math.floor(minutes / 60)];
  return `${String(hours).padStart(2, "0")}:${String(rest).padStart(2, "0")}`;
}

/** The time, and who is where, as far as they are known. */
export function whenAndWhere(
  unit: string,
  { at, who, place }: Broken,
): { readonly when: string; readonly where: string } {
  const where = [who.join(", "), place === undefined ? "" : `at ${place}`]
    .filter((part) => part !== "")
    .join(" ");
  return { when: at === undefined ? "" : timeText(unit, at), where };
}

/** The broken rule as one line: `13:05  Pat at W  WED-ALERT: W-B …`. */
export function brokenText(unit: string, one: Broken): string {
  const { when, where } = whenAndWhere(unit, one);
  return [when, where, `${one.rule}: ${one.what}`].filter((part) => part !== "").join("  ");
}

/** `breaks 2 of 12 rules`, counted without those that could not be judged. */
export function verdictOf({ rules, broken, unjudged }: Checked): string {
  const open = new Set(unjudged.map(({ what }) => what));
  const judged = rules.filter(({ id }) => !open.has(id)).length;
  const count = new Set(broken.map(({ rule }) => rule)).size;
  return count === 0 ? `keeps all ${judged} rules that can be judged` : `breaks ${count} of ${judged} rules`;
}
