/**
 * A slow calendar: the due times of a cron expression, by looking at every minute of a span and at what the clocks show then. Five
 * fields of numbers, lists, `*` and steps; it leaves out names, ranges and seconds.
 */
interface Shown {
  readonly minute: number;
  readonly hour: number;
  readonly day: number;
  readonly month: number;
  readonly weekday: number;
  /** The same as a number that grows with the wall clock. */
  readonly wall: number;
}

const minuteMs = 60_000;

/** What the clocks of a zone show, minute by minute; asked of Node once an hour, for minutes run alike everywhere. */
function* minutes(tz: string, { from, to }: { from: number; to: number }): Generator<[number, Shown]> {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: tz,
    hourCycle: "h23",
    ...{ year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric" },
  });
  // No zone changes its clocks but at a quarter of an hour.
  for (let quarter = from; quarter < to; quarter += 15 * minuteMs) {
    const parts = Object.fromEntries(
      format.formatToParts(quarter).map(({ type, value }) => [type, Number(value)]),
    );
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = parts;
    const start = Date.UTC(year, month - 1, day, hour, minute);
    for (let k = 0; k < 15; k++) {
      const wall = start + k * minuteMs;
      const shown = new Date(wall);
      yield [
        quarter + k * minuteMs,
        {
          minute: shown.getUTCMinutes(),
          hour: shown.getUTCHours(),
          day: shown.getUTCDate(),
          month: shown.getUTCMonth() + 1,
          weekday: shown.getUTCDay(),
          wall,
        },
      ];
    }
  }
}

const takes = (field: string, value: number, least: number): boolean =>
  field.split(",").some((one) => {
    if (one === "*") return true;
    const [, step] = /^\*\/(\d+)$/.exec(one) ?? [];
    return step === undefined ? Number(one) === value : (value - least) % Number(step) === 0;
  });

/** The due times from `from` on and before `to`, both whole minutes. */
export function slowDueTimes(cron: string, tz: string, span: { from: number; to: number }): number[] {
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = cron.split(" ");
  const isDay = ({ day: d, month: m, weekday: w }: Shown): boolean => {
    if (!takes(month, m, 1)) return false;
    if (day !== "*" && weekday !== "*") return takes(day, d, 1) || takes(weekday, w, 0);
    return takes(day, d, 1) && takes(weekday, w, 0);
  };
  const matches = (shown: Shown): boolean =>
    takes(minute, shown.minute, 0) && takes(hour, shown.hour, 0) && isDay(shown);
  const isFixed = !/[*]/.test(minute + hour);
  const due: number[] = [];
  let highest = Number.POSITIVE_INFINITY; // What the clocks have shown at most; of the first minute nothing is asked.
  for (const [time, shown] of minutes(tz, { from: span.from - 86_400_000, to: span.to })) {
    if (highest === Number.POSITIVE_INFINITY) highest = shown.wall - minuteMs;
    let isDue = matches(shown);
    if (isFixed) {
      // What the clocks showed before is not due again; what they jumped over is due now.
      if (shown.wall <= highest) isDue = false;
      for (let left = highest + minuteMs; left < shown.wall; left += minuteMs) {
        const date = new Date(left);
        isDue ||= matches({
          minute: date.getUTCMinutes(),
          hour: date.getUTCHours(),
          day: date.getUTCDate(),
          month: date.getUTCMonth() + 1,
          weekday: date.getUTCDay(),
          wall: left,
        });
      }
    }
    highest = Math.max(highest, shown.wall);
    if (isDue && time >= span.from) due.push(time);
  }
  return due;
}
