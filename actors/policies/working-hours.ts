/**
 * Working hours: calls on certain days and hours of a time zone.
 *
 * The time is the turn's recorded one, never the model's word. What hour that is in a zone is Node's own table of
 * zones to say. A fold years later with another table could disagree for a zone whose law changed meanwhile; where
 * that matters, name a fixed offset: "Etc/GMT-1".
 */
import type { Approval } from "../contract/approval.ts";
import type { Policy } from "../contract/policy.ts";

const week = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;
/** A day of the week, by three letters. */
export type Weekday = (typeof week)[number];

/** Which calls are bound to which hours, and what becomes of one outside them. */
export interface WorkingHours {
  /** What is bound to the hours; every call if it is left out. */
  readonly tool?: { readonly name: string };
  /** As the IANA database names it: "Europe/Berlin". */
  readonly zone: string;
  /** Monday to Friday unless given. */
  readonly days?: readonly Weekday[];
  /** "09:00": the first minute. After `to` the hours go over midnight, and belong to the day they begin on. */
  readonly from: string;
  /** "17:30": the first minute that is not among them; "24:00" for midnight. */
  readonly to: string;
  /** What holds outside of them: denied unless terms are given on which people may agree. */
  readonly otherwise?: "deny" | Approval;
}

/** Calls are made within these hours, and denied or put before people outside of them. */
export function workingHours(hours: WorkingHours): Policy {
  const { tool, zone, days = ["mon", "tue", "wed", "thu", "fri"], otherwise = "deny" } = hours;
  const [from, to] = [minutesOf(hours.from), minutesOf(hours.to)];
  const format = formatOf(zone);
  const when = `${days.join(",")} ${hours.from}-${hours.to} ${zone}`;
  return {
    name: `working_hours ${when}${tool === undefined ? "" : ` ${tool.name}`}`,
    judge: ({ tool: called, at }) => {
      if (tool !== undefined && tool.name !== called) return undefined;
      // Proof: with a fault the application is not served, so both are there.
      if (isWithin(localOf(format as Intl.DateTimeFormat, at), { from, to, days })) return undefined;
      return otherwise === "deny" ? { deny: `only ${when}` } : { approve: otherwise };
    },
    faults: [
      ...(format === undefined ? [`"${zone}" is no time zone`] : []),
      ...(Number.isNaN(from) ? [`from is "${hours.from}", not like "09:00"`] : []),
      ...(Number.isNaN(to) ? [`to is "${hours.to}", not like "17:30"`] : []),
      ...(from === to ? ["from and to are the same"] : []),
      ...days.filter((day) => !week.includes(day)).map((day) => `"${day}" is no day: ${week.join(", ")}`),
    ],
  };
}

/** Minutes since midnight, or NaN. */
function minutesOf(text: string): number {
  const [, hour, minute] = /^([01]\d|2[0-4]):([0-5]\d)$/.exec(text) ?? [];
  const minutes = Number(hour) * 60 + Number(minute);
  return minutes <= 1_440 ? minutes : Number.NaN;
}

function formatOf(zone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat("en-US", {
      ...{ timeZone: zone, hourCycle: "h23", weekday: "short", hour: "2-digit", minute: "2-digit" },
    });
  } catch {
    return undefined; // Told as a fault.
  }
}

interface Local {
  readonly day: number;
  readonly minute: number;
}

function localOf(format: Intl.DateTimeFormat, at: number): Local {
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const day = week.indexOf((parts.get("weekday") ?? "").toLowerCase() as Weekday);
  return { day, minute: Number(parts.get("hour")) * 60 + Number(parts.get("minute")) };
}

function isWithin(
  { day, minute }: Local,
  { from, to, days }: { from: number; to: number; days: readonly Weekday[] },
): boolean {
  const isDay = (index: number) => days.includes(week[(index + 7) % 7] as Weekday);
  if (from < to) return isDay(day) && minute >= from && minute < to;
  return minute >= from ? isDay(day) : minute < to && isDay(day - 1);
}
