/**
 * Due times: when a cron expression is due by the clocks of a time zone.
 *
 * QR1 Summer time, for an expression that names its hours and minutes: a time that the clocks leave out is due when they have
 *     jumped, and one that they show twice is due at the first. One with a `*` or a step among hours, minutes or seconds is due
 *     whenever the clocks show it: not in the hour that is left out, and twice in the one that comes twice.
 * QR2 Where both the day of the month and the day of the week are named, either is enough, as in every cron.
 */
import { Cron } from "croner";
import { describeError, MeshError } from "../../protocol/errors.ts";

/** An expression and the zone whose clocks it means. */
export interface Calendar {
  readonly cron: string;
  readonly tz: string;
}

/** Which due times are wanted, milliseconds since the epoch. */
export interface Wanted {
  /** Later than this. */
  readonly after: number;
  /** And before this. Without it those of about a day, and one at least. */
  readonly before?: number | undefined;
  readonly most: number;
}

const dayMs = 86_400_000;

/** The due times, in their order. `over`: none comes after those. Throws USAGE for what is no expression or no time zone. */
export function dueTimes(
  calendar: Calendar,
  { after, before, most }: Wanted,
): { readonly due: number[]; readonly over: boolean } {
  const cron = read(calendar);
  const due: number[] = [];
  for (let last = after; due.length < most;) {
    const next = cron.nextRun(new Date(last))?.getTime();
    if (next === undefined || (before !== undefined && next >= before)) return { due, over: true };
    if (before === undefined && due.length > 0 && next > after + dayMs) break;
    due.push(next);
    last = next;
  }
  return { due, over: false };
}

/** Throws USAGE for what is no expression, no time zone, or never due. */
export function assertCalendar(calendar: Calendar, now: number): void {
  if (dueTimes(calendar, { after: now, most: 1 }).due.length === 0)
    throw new MeshError("USAGE", `"${calendar.cron}" is never due`);
}

function read({ cron, tz }: Calendar): Cron {
  assertZone(tz);
  try {
    return new Cron(cron, { timezone: tz, mode: "5-or-6-parts", fixedTimeRule: "no-wildcard", paused: true });
  } catch (error) {
    throw new MeshError("USAGE", `"${cron}" is no cron expression: ${describeError(error)}`, {
      cause: error,
      remedy: "Write five fields, minute hour day month weekday: 0 6 * * 1-5; or six, with seconds first.",
    });
  }
}

/** Throws USAGE. */
function assertZone(tz: string): void {
  try {
    new Intl.DateTimeFormat("en", { timeZone: tz });
  } catch (error) {
    throw new MeshError("USAGE", `"${tz}" is no time zone`, {
      cause: error,
      remedy: "Write one of the IANA database: Europe/Berlin, America/New_York, UTC.",
    });
  }
}
