/** Instants as people write them: a date, or a date and a time, by ISO 8601. One reading, wherever one is typed. */

/** What was written. */
export interface Instant {
  /** Milliseconds since 1970; of a date alone its first. */
  readonly at: number;
  /** Only a date was written, which may mean its whole day. */
  readonly isDay: boolean;
}

const form =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?\s?(?:Z|([+-])([01]\d|2[0-3]):?([0-5]\d))?$/i;

/**
 * Reads `2026-03-01`, `2026-03-01T06:00`, `2026-03-01 06:00:59.5Z` or `2026-03-01T06:00+01:00`: UTC unless a zone is named, to the
 * millisecond. Undefined for anything else, and for a day or an hour that there is not.
 */
export function instantOf(text: string): Instant | undefined {
  const [, day, time = "00:00", seconds = "00", part = "", sign, hours = "0", minutes = "0"] =
    form.exec(text) ?? [];
  if (day === undefined) return undefined;
  const written = `${day}T${time}:${seconds}.${part.slice(0, 3).padEnd(3, "0")}Z`;
  // eslint-disable-next-line no-restricted-globals -- The time of a given form: no clock is read.
  const local = Date.parse(written);
  // The parser takes the 31st of February for a day in March, and 24:00 for the next day.
  if (Number.isNaN(local) || isoOf(local) !== written) return undefined;
  const aheadMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return {
    at: sign === "-" ? local + aheadMs : local - aheadMs,
    isDay: !/[T ]\d/i.test(text),
  };
}

/** A time as ISO 8601 in UTC. */
// eslint-disable-next-line no-restricted-globals -- The form of a given time: no clock is read.
export const isoOf = (time: number): string => new Date(time).toISOString();
